#pragma once

#include <shardweave/solve/bound/price_ascent.hpp>

#include <limits>
#include <utility>
#include <vector>

/// \file
/// What a bound tells those who look for assignments.

namespace shardweave {
inline namespace v0 {

/// The result of an ascent of the bound, as a guide to good labels: prices say what usage is worth, and a label whose
/// bound is far above that of the problem is hardly part of a good assignment.
struct dual_guide {
  double bound = -std::numeric_limits<double>::infinity();  ///< valid for the problem, its constant included
  std::vector<double> prices = {};                          ///< per row
  std::vector<double> label_bounds = {};                    ///< per label of all variables: valid for all that use it
};

/// Complexity: three sweeps of message passing
template <cost_value Cost>
[[nodiscard]] dual_guide guide_of(price_ascent<Cost>& ascent) {
  std::vector<double> label_bounds = ascent.label_bounds();
  return {ascent.bound(), ascent.prices(), std::move(label_bounds)};
}

}  // namespace v0
}  // namespace shardweave
