#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/search/certify.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <cstddef>

/// \file
/// Certificates for the step.

namespace shardweave {
inline namespace v0 {

/// Certifies the prices that a bound was found with: branches over placements under these prices (`certify_by_cases`),
/// up to what the best known placement takes.
/// \param rounds  of work on the least case, at most
/// \returns a certificate whose claim is what `check` proves; it may be a little below the bound, which solvers prove
///          by other means, too
[[nodiscard]] inline step_certificate certify_step(const step_bounds& found, const placement_problem<double>& problem,
                                                   const step_work& work, std::size_t steps = 1000,
                                                   std::size_t rounds = 200) {
  step_certificate c{.claims = found.claims, .weights = found.weights};
  const priced_steps priced(problem, work);
  const compact_problem<double> p = priced.at(prices_of(c.claims, c.weights, work));
  c.placement = certify_by_cases(p, forbidden<double>, steps, rounds);
  c.bound = check(c, problem, work);
  return c;
}

}  // namespace v0
}  // namespace shardweave
