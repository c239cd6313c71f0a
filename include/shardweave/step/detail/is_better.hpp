#pragma once

#include <array>

/// \file
/// Which of two plans is the better one.

namespace shardweave::inline v0::detail {

/// Whether a plan ends before another one; of plans that end at once, those that do not keep what is demanded among
/// them, which one holds less at its peak, and then which one communicates less, as far as plans tell that (members
/// `peak` and `communication`). A strict weak order.
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
