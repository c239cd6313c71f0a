#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

/// \file
/// Monotone smoothing that outliers do not pull.

namespace shardweave::inline v0::detail {

/// The median; of an even number of values the mean of the two in the middle.
/// \pre there is a value
[[nodiscard]] inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// The non-decreasing sequence with the least sum of absolute differences from the given one: neighbours that
/// stand in the wrong order are pooled, and a pool takes the median of its values. A first call that takes ten
/// times as long as the next (measured tables have many) moves a pool by one place and not by its size.
/// O(n^2) at worst, O(n log n) on what is nearly in order.
/// Source: pool adjacent violators, T. Robertson, F. Wright, R. Dykstra, Order Restricted Statistical Inference
/// (1988), section 1.2, with medians.
[[nodiscard]] inline std::vector<double> isotonic_medians(const std::vector<double>& values) {
  struct pool {
    std::vector<double> members;
    double level;
  };
  std::vector<pool> pools;
  for (const double v : values) {
    pools.push_back({{v}, v});
    while (pools.size() > 1 && pools[pools.size() - 2].level > pools.back().level) {
      pool last = std::move(pools.back());
      pools.pop_back();
      pool& into = pools.back();
      into.members.insert(into.members.end(), last.members.begin(), last.members.end());
      into.level = median_of(into.members);
    }
  }
  std::vector<double> result;
  result.reserve(values.size());
  for (const pool& p : pools) result.insert(result.end(), p.members.size(), p.level);
  return result;
}

}  // namespace shardweave::inline v0::detail
