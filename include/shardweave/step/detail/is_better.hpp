#pragma once

#include <array>

/// \file
/// The order of plans by quality.

namespace shardweave::inline v0::detail {

/// Whether a plan ends before another one; of plans that end at once, or both break a demand (infinite `step`), whether
/// its `peak` is lower, then its `communication`, as far as plans have these members. A strict weak order.
template <class Plan>
[[nodiscard]] bool is_better(const Plan& one, const Plan& other) {
  const auto figures = [](const Plan& plan) {
    std::array<double, 3> all{static_cast<double>(plan.step), 0, 0};
    if constexpr (requires { static_cast<double>(plan.peak); }) all[1] = static_cast<double>(plan.peak);
    if constexpr (requires { static_cast<double>(plan.communication); })
      all[2] = static_cast<double>(plan.communication);
    return all;
  };
  return figures(one) < figures(other);
}

}  // namespace shardweave::inline v0::detail
