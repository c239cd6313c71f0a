#pragma once

#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solution.hpp>

#include <limits>

/// \file
/// Common parts of composed solvers.

namespace shardweave::inline v0::detail {

/// Whether an answer is final: optimal, infeasible or within the gap.
/// \param gap  relative gap at which an answer is accepted
template <cost_value Cost>
[[nodiscard]] bool is_settled(const solution<Cost>& s, double gap) {
  return s.status == solve_status::optimal || s.status == solve_status::infeasible ||
         (s.has_assignment() && is_within(gap, s.lower_bound, s.objective));
}

/// The answer of a composed solver: its start counts even if no part used it, and the status is `stopped` if a stop or
/// the time limit ended it.
template <cost_value Cost>
[[nodiscard]] solution<Cost> ended(solution<Cost> s, const placement_problem<Cost>& problem,
                                   const solve_control& control, const deadline& limit) {
  keep_start(problem, control, s);
  settle(s, s.status == solve_status::stopped || limit.expired(), control.gap);
  return s;
}

/// The control of a part: a share of the time that is left.
[[nodiscard]] inline solve_control shared_time(const deadline& limit, double share) {
  solve_control control = limit.rest();
  if (control.seconds < std::numeric_limits<double>::infinity()) control.seconds *= share;
  return control;
}

}  // namespace shardweave::inline v0::detail
