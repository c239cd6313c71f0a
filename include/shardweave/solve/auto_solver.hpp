#pragma once

#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/solver.hpp>

#include <cstddef>
#include <string_view>

/// \file
/// The default solver.

namespace shardweave::inline v0 {

/// Without budgets it first solves the core of the problem, the labels near the optimum (`sifted`). Problems are
/// reduced exactly. A kernel up to `small` goes to branch and bound, then to local search if its assignment is not
/// proven; a larger one to `guided_search`: prices on budgets raise the bound, and dives follow it. A composition of
/// public pieces:
///
///     sifted{reduced{by_size{polished{branch_and_bound{}, local_search{}}, guided_search{}}}}
///
/// To reduce a problem of many labels takes a part of a second: there a greedy assignment comes first.
///
/// It proves the optimum of most training graphs that we met; elsewhere it gives an assignment with a certified gap.
/// Give a time limit for large problems with budgets: it is used. A problem with savings goes to `overlapped`.
struct auto_solver {
  static constexpr std::string_view name = "auto";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  small_size small = {};  ///< up to this size branch and bound is used; without budgets, up to 60,000 labels
  /// Problems of so many labels or more get a greedy assignment first, so that an early stop finds one.
  std::size_t many_labels = 100'000;

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;
  /// The same without what counts savings, which a caller of this alone does not compile: `planner` calls it where
  /// the cost model does not say what hides.
  /// \pre `problem.savings()` is null
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve_costs(const placement_problem<Cost>& problem,
                                           const solve_control& control = {}) const;
};

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/solve/impl/auto_solver.hpp>
#endif
