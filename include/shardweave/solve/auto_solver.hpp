#pragma once

#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/solver.hpp>

#include <cstddef>
#include <string_view>

/// \file
/// The default solver.

namespace shardweave::inline v0 {

/// The labels near the best first (without budgets), reduced exactly; branch and bound where the kernel is small, and
/// local search if it does not prove its assignment; where the kernel is large, prices on budgets and dives along the
/// bound. A composition of public pieces:
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
  /// From this size a greedy assignment comes first; less where a stop may come at once.
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
