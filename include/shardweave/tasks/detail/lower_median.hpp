#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace shardweave::inline v0::detail {

/// The middle one, of an even number the lower of both. The order of the values is lost. \pre not empty
template <class Value>
[[nodiscard]] Value lower_median(std::vector<Value>& all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace shardweave::inline v0::detail
