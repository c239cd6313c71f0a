#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/detail/solve_restricted.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

/// \file
/// The cost of additional requirements.

namespace shardweave::inline v0 {

/// An interval that contains a cost.
struct cost_range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  /// Whether both ends are equal, up to the optimality tolerance for objectives of this size.
  [[nodiscard]] bool is_exact(double objective = 0) const {
    return least == most || most - least <= 4 * optimality_tolerance * std::max(1.0, std::abs(objective));
  }
};

/// The difference of two optima, `to` less `from`, as an interval from their objectives and bounds. Infinite if one of
/// the two is infeasible.
template <cost_value Cost>
[[nodiscard]] cost_range change_of_optimum(const solution<Cost>& from, const solution<Cost>& to) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (to.status == solve_status::infeasible) return {infinity, infinity};
  if (from.status == solve_status::infeasible) return {-infinity, -infinity};
  const auto most = [](const solution<Cost>& s) {
    return s.has_assignment() ? static_cast<double>(s.objective) : infinity;
  };
  return {to.lower_bound - most(from), most(to) - from.lower_bound};
}

/// The best answer that meets requirements, and their cost.
template <cost_value Cost>
struct forced_plan {
  solution<Cost> answer;
  cost_range cost;  ///< infinite if no feasible assignment meets them
};

/// The cost of forcing strategies: the optimum over assignments that have them, less the optimum. Not negative.
///
/// \param known    an answer to the unrestricted problem
/// \param demands  all to be met
/// \param policy   solves the restricted problem; if it or `known` does not prove its optimum, the cost is an interval
/// \throws error (input) for a vertex or a strategy that does not exist
/// Complexity: one call of the solver
template <cost_value Cost, class S>
[[nodiscard]] forced_plan<Cost> cost_of_forcing(const placement_problem<Cost>& problem, const solution<Cost>& known,
                                                std::span<const fixed_strategies> demands, const S& policy,
                                                const solve_control& control = {}) {
  const compact_problem<Cost>& p = problem.compact();
  restriction<Cost> left(p);
  for (const fixed_strategies& wanted : demands) {
    if (wanted.vertex >= problem.vertex_count())
      refuse(error_category::input, "vertex " + std::to_string(wanted.vertex) +
                                        " is to be forced, but there are only " +
                                        std::to_string(problem.vertex_count()));
    const std::uint32_t x = problem.variable_of(wanted.vertex);
    const std::size_t strategies = problem.description() == nullptr
                                       ? p.label_count(x)
                                       : problem.description()->vertices[wanted.vertex].compute.size();
    for (const strategy s : wanted.allowed)
      if (s >= strategies)
        refuse(error_category::input, "vertex " + std::to_string(wanted.vertex) + " is to be forced to strategy " +
                                          std::to_string(s) + ", but has only " + std::to_string(strategies));
    for (strategy l = 0; l < p.label_count(x); ++l)
      if (std::ranges::find(wanted.allowed, problem.strategy_of(x, l)) == wanted.allowed.end()) left.forbid(x, l);
  }
  forced_plan<Cost> result{detail::solve_restricted(problem, std::move(left), policy, control).answer, {}};
  result.cost = change_of_optimum(known, result.answer);
  result.cost.least = std::max(result.cost.least, 0.0);
  result.cost.most = std::max(result.cost.most, 0.0);
  return result;
}

namespace detail {

/// Compiles and solves; contradictory constraints and an early stop become answers.
template <cost_value Cost, class Work>
[[nodiscard]] solution<Cost> answer_of(const Work& work) {
  solution<Cost> answer;
  try_to([&] { answer = work(); },
         [&](const error& e) {
           auto known = outcome_of<Cost>(e);
           if (!known) return false;
           answer = *std::move(known);
           return true;
         });
  return answer;
}

}  // namespace detail

/// The cost of other constraints: the optimum under them, less the optimum. Negative if they are weaker.
///
/// \param stated  the problem, with the constraints under which `known` was found
/// \param known   an answer to it
/// \throws error (input) as `compile` does; infeasible constraints give `infeasible`
/// Complexity: a compilation and a call of the solver
template <cost_value Cost, class S>
[[nodiscard]] forced_plan<Cost> cost_of_constraints(const placement_description<Cost>& stated,
                                                    const solution<Cost>& known, constraint_set constraints,
                                                    const S& policy, const solve_control& control = {}) {
  const deadline limit(control);
  auto changed = std::make_shared<placement_description<Cost>>(stated);
  changed->constraints = std::move(constraints);
  forced_plan<Cost> result{
      detail::answer_of<Cost>([&] {
        return detail::solved_by(
            policy, compile<Cost>(std::shared_ptr<const placement_description<Cost>>(std::move(changed)), limit.rest()),
            limit.rest());
      }),
      {}};
  result.cost = change_of_optimum(known, result.answer);
  return result;
}

}  // namespace shardweave::inline v0
