#pragma once

#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/by_size.hpp>
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

/// Reduce exactly; branch and bound where the kernel is small, message passing with prices on budgets where it is
/// large; improve what is not proven by local search. A composition of public pieces:
///
///     reduced{polished{by_size{branch_and_bound{}, budgeted{trws{}}}, local_search{}}}
///
/// It proves the optimum of most training graphs that we met; elsewhere it gives an assignment with a certified gap.
/// Give a time limit for large problems with budgets.
struct auto_solver {
  static constexpr std::string_view name = "auto";
  static constexpr solver_abilities abilities{.budgets = true};

  small_size small = {};  ///< up to this size branch and bound is asked

  using composition = reduced<polished<by_size<branch_and_bound, budgeted<trws>>, local_search>>;

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    return composition(polished(by_size(branch_and_bound{}, budgeted(trws{}), small), local_search{}))
        .solve(problem, control);
  }
};

}  // namespace v0
}  // namespace shardweave
