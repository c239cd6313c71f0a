#pragma once

#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/for_small.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <string_view>

/// \file
/// What a user gets who does not ask for a solver.

namespace shardweave {
inline namespace v0 {

/// Reduce exactly, pass messages with prices on budgets until the bound meets the best assignment; where that leaves a
/// gap, branch and bound if the kernel is small, and local search. A composition of public pieces:
///
///     reduced{polished{first_proven{budgeted{trws{}}, for_small{branch_and_bound{}}}, local_search{}}}
///
/// It proves the optimum of the training graphs that we met; elsewhere it gives an assignment with a certified gap.
/// Give a time limit for large problems with budgets.
struct auto_solver {
  static constexpr std::string_view name = "auto";
  static constexpr solver_abilities abilities{.budgets = true};

  /// Up to this size branch and bound is asked.
  small_size small = {.labels = 20'000, .rows = 100'000};

  using composition = reduced<polished<first_proven<budgeted<trws>, for_small<branch_and_bound>>, local_search>>;

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    return composition(polished(first_proven(budgeted(trws{}), for_small(branch_and_bound{}, small)), local_search{}))
        .solve(problem, control);
  }
};

}  // namespace v0
}  // namespace shardweave
