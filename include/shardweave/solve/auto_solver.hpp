#pragma once

#include <shardweave/solve/budgeted.hpp>
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

/// Reduce exactly, pass messages with prices on budgets until the bound meets the best assignment, and improve
/// what is not proven by local search. A composition of public pieces:
///
///     reduced{polished{budgeted{trws{}}, local_search{}}}
///
/// Proves the optimum of the training graphs that we met without budgets that bind; elsewhere it gives an
/// assignment with a certified gap. Give a time limit for large problems with budgets.
struct auto_solver {
  static constexpr std::string_view name = "auto";
  static constexpr solver_abilities abilities{.budgets = true};

  using composition = reduced<polished<budgeted<trws>, local_search>>;

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    return composition(polished(budgeted(trws{}), local_search{})).solve(problem, control);
  }
};

}  // namespace v0
}  // namespace shardweave
