#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

/// \file
/// The order of numbers by values.

namespace shardweave::inline v0::detail {

/// Makes of `order` the numbers of all values, least value first, equal ones by number.
template <class Value>
void order_by(std::span<const Value> values, std::vector<std::uint32_t>& order) {
  order.resize(values.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::sort(order.begin(), order.end(), [values](std::uint32_t a, std::uint32_t b) {
    return values[a] != values[b] ? values[a] < values[b] : a < b;
  });
}

}  // namespace shardweave::inline v0::detail
