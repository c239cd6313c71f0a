#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solver.hpp>

#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// An answer in the words of the whole problem.
template <cost_value Cost>
struct restricted_answer {
  solution<Cost> answer;  ///< its bound holds for the assignments that were left
  std::vector<strategy> labels = {};
  bool asked = false;  ///< the solver was, as something was left to decide
};

/// Solves what a restriction of a problem leaves. Savings are counted as in the whole.
template <cost_value Cost, class S>
[[nodiscard]] restricted_answer<Cost> solve_restricted(const placement_problem<Cost>& problem, restriction<Cost> left,
                                                       const S& policy, const solve_control& control) {
  const auto inside = left.with_savings(problem).build();
  if (!inside) {
    solve_statistics statistics;
    statistics.add_note("a vertex is left without a strategy, or a budget without room.");
    return {conclude<Cost>(problem, {}, std::numeric_limits<double>::infinity(), false, std::move(statistics))};
  }
  restricted_answer<Cost> result;
  solution<Cost> inner;
  if (inside->open.empty()) {  // one assignment is left
    inner.lower_bound = in_double(inside->problem.objective({}));
    inner.status = solve_status::optimal;
    result.labels = inside->lift({});
  } else {
    result.asked = true;
    solve_control inside_control = control;
    inside_control.start = inside->narrowed(detail::start_labels(problem, control));
    inner = solved_by(policy, inside->problem, inside_control);
    if (inner.has_assignment()) result.labels = inside->lift(inner.choice);
  }
  result.answer = conclude(problem, std::span<const strategy>(result.labels), inner.lower_bound,
                           inner.status == solve_status::stopped, std::move(inner.statistics), {}, bound_on::objective);
  return result;
}

}  // namespace shardweave::inline v0::detail
