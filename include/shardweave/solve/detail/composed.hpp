#pragma once

#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solution.hpp>

#include <limits>

/// \file
/// What combinators have in common.

namespace shardweave::inline v0::detail {

/// Whether nothing is left to be found.
/// \param gap  that is enough
template <cost_value Cost>
[[nodiscard]] bool is_settled(const solution<Cost>& s, double gap) {
  return s.status == solve_status::optimal || s.status == solve_status::infeasible ||
         (s.has_assignment() && is_within(gap, s.lower_bound, s.objective));
}

/// The answer of a composition: its start counts, whether the parts looked at it or not, and what a stop or the time
/// limit ended is called so.
template <cost_value Cost>
[[nodiscard]] solution<Cost> ended(solution<Cost> s, const placement_problem<Cost>& problem,
                                   const solve_control& control, const deadline& limit) {
  keep_start(problem, control, s);
  settle(s, s.status == solve_status::stopped || limit.expired(), control.gap);
  return s;
}

/// The control of a part of the work: its share of the time that is left.
[[nodiscard]] inline solve_control shared_time(const deadline& limit, double share) {
  solve_control control = limit.rest();
  if (control.seconds < std::numeric_limits<double>::infinity()) control.seconds *= share;
  return control;
}

}  // namespace shardweave::inline v0::detail
