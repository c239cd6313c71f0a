#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/step/certify_step.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/step_claim.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

/// \file
/// Definition of `certify_step`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE step_certificate certify_step(const step_bounds& found, const placement_problem<double>& problem,
                                                const step_work& work, const certify_options& options,
                                                const solve_control& control) {
  step_certificate c{.claims = found.claims};
  std::vector<double> weights;
  for (const double w : found.weights) {
    c.weights.push_back(static_cast<std::int64_t>(std::floor(std::ldexp(w, c.weight_bits) * (1 - 1e-12))));
    weights.push_back(std::ldexp(static_cast<double>(c.weights.back()), -c.weight_bits));
  }
  const deadline limit(control);
  last_moment moment(limit);
  const auto go_on = [&] {
    if (moment.is_over() && problem.description() != nullptr) detail::refuse_unchecked(*problem.description());
  };
  go_on();
  const priced_steps priced(problem, work);
  go_on();
  const compact_problem<double> p = priced.at(prices_of(c.claims, weights, work));
  go_on();
  const costs_in_place<double> costs = costs_at(c, work);
  go_on();
  const double limits = c.placement.lower_bound - bound_of(c, work);
  const double enough = found.bound + limits + 2 * detail::lost_in_sums * std::abs(found.bound);
  c.placement = certify_placement(problem.without_savings(), p, costs,
                                  std::isfinite(enough) ? enough : forbidden<double>, options, control);
  return c;
}

}  // namespace shardweave::inline v0
