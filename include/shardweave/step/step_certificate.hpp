#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/bound/certificate.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

/// \file
/// Why no plan at all ends earlier, as data that a host can prove anew.

namespace shardweave {
inline namespace v0 {

/// Prices of time, as claims and their weights, and the proof of what a placement costs at least under them.
struct step_certificate {
  std::vector<step_claim> claims = {};
  std::vector<double> weights = {};  ///< one per claim, not negative, 1 in all at most
  certificate_by_cases placement = {};
  double bound = -std::numeric_limits<double>::infinity();  ///< what is claimed, in the unit of the work
};

namespace detail {

/// What is lost at most where prices and costs are sums in floating point, as a part of the result.
inline constexpr double lost_in_sums = 1e-9;

[[nodiscard]] inline double rounded_down(double bound) {
  return std::isfinite(bound) ? bound - lost_in_sums * std::abs(bound) : bound;
}

/// \throws error (input) for weights that prove nothing
inline void validate_weights(const std::vector<step_claim>& claims, const std::vector<double>& weights) {
  if (weights.size() != claims.size())
    refuse(error_category::input, "step certificate: has " + std::to_string(weights.size()) + " weights for " +
                                      std::to_string(claims.size()) + " claims");
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0))
      refuse(error_category::input, "step certificate: weight " + std::to_string(i) + " is " +
                                        std::to_string(weights[i]) + ", expected one from 0 on");
    sum += weights[i];
  }
  if (sum > 1 + 1e-12)
    refuse(error_category::input,
           "step certificate: weights add up to " + std::to_string(sum) + ", expected 1 at most");
}

}  // namespace detail

/// Proves a bound on the end of every plan: whatever the assignment, the buckets and the order. Knows nothing of how
/// claims and weights were found: each claim holds by its form (`validate`), so a mixture of claims does; and no
/// assignment makes the mixture less than what the placement's certificate proves.
///
/// \returns the bound, in the unit of the work; less the part of 1e-9 that sums in floating point may have lost
/// \throws error (input) naming what is wrong with a claim, a weight or the placement's certificate
/// Complexity: that of `priced_steps::at` and of checking the placement's certificate
[[nodiscard]] inline double check(const step_certificate& c, const placement_problem<double>& problem,
                                  const step_work& work) {
  for (const step_claim& claim : c.claims) validate(claim, work);
  detail::validate_weights(c.claims, c.weights);
  const priced_steps priced(problem, work);
  const compact_problem<double> p = priced.at(prices_of(c.claims, c.weights, work));
  return detail::rounded_down(check(p, c.placement));
}

}  // namespace v0
}  // namespace shardweave
