#pragma once

#include <shardweave/solve/solution.hpp>

#include <concepts>
#include <string_view>

/// \file
/// The concept of a solver.

namespace shardweave::inline v0 {

/// What a solver can prove. A problem that has more is still answered; it is called optimal only if a valid bound
/// proves it.
struct solver_abilities {
  bool budgets = false;  ///< finds assignments that keep budgets, where there are any
  /// Counts savings in the search; others see costs alone, and subtract all possible savings from their bound.
  bool savings = false;
};

/// A policy that answers placement problems with costs of type `Cost`.
///
/// A solver is a value: settings are data members with defaults, `solve` is const, and several threads may
/// call one object at once. It promises that
///  - an assignment it returns is complete, feasible, and priced by `evaluate` (see `conclude`);
///  - the bound it returns is valid for the problem with all its constraints;
///  - the same problem, control and build give the same bits, unless a time limit or a stop request came in between, or
///    a `race` ran on several threads; a stop is obeyed within 100 ms (by linear backends, and by `guided_search` on
///    two threads, within a second), and the best assignment so far is returned.
template <class S, class Cost>
concept solver = cost_value<Cost> && std::copy_constructible<S> &&
                 requires(const S& s, const placement_problem<Cost>& problem, const solve_control& control) {
                   { S::name } -> std::convertible_to<std::string_view>;
                   { S::abilities } -> std::convertible_to<solver_abilities>;
                   { s.solve(problem, control) } -> std::same_as<solution<Cost>>;
                 };

namespace detail {
template <class S>
concept defined = requires { sizeof(S); };
/// One message for a solver that is only declared.
template <class S, class Cost>
concept solves_if_defined = !defined<S> || solver<S, Cost>;

/// The abilities of a solver inside another one; none for other types, which `solved_by` rejects.
template <class S>
inline constexpr solver_abilities abilities_of = {};
template <class S>
  requires requires {
    { S::abilities } -> std::convertible_to<solver_abilities>;
  }
inline constexpr solver_abilities abilities_of<S> = S::abilities;

/// Calls a solver; a static assertion rejects other types.
template <class Cost, class S>
[[nodiscard]] solution<Cost> solved_by(const S& policy, const placement_problem<Cost>& problem,
                                       const solve_control& control) {
  static_assert(solver<S, Cost>,
                "A solver must have static members name and abilities and a const member solve(placement_problem, "
                "solve_control) that returns a solution (shardweave::solver).");
  if constexpr (solver<S, Cost>) return policy.solve(problem, control);
}

/// The same for a problem without savings: a solver may have a function for these, so that what counts savings need not
/// be compiled.
template <class Cost, class S>
[[nodiscard]] solution<Cost> solved_costs_by(const S& policy, const placement_problem<Cost>& problem,
                                             const solve_control& control) {
  if constexpr (requires {
                  { policy.solve_costs(problem, control) } -> std::same_as<solution<Cost>>;
                }) {
    return policy.solve_costs(problem, control);
  } else {
    return solved_by(policy, problem, control);
  }
}

/// A solver that is asked about problems without savings alone.
template <class S>
struct of_costs : S {
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    return S::solve_costs(problem, control);
  }
};
}  // namespace detail

}  // namespace shardweave::inline v0
