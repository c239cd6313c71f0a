#pragma once

#include <cmath>

/// \file
/// Bounds that hold in spite of rounding.

namespace shardweave::inline v0::detail {

/// Bound on the relative rounding error of sums of prices and costs.
inline constexpr double lost_in_sums = 1e-9;

[[nodiscard]] inline double rounded_down(double bound) {
  return std::isfinite(bound) ? bound - lost_in_sums * std::abs(bound) : bound;
}

}  // namespace shardweave::inline v0::detail
