#pragma once

#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/solver.hpp>

#include <string_view>

/// \file
/// What a user gets who does not ask for a solver.

namespace shardweave {
inline namespace v0 {

/// Reduce exactly; branch and bound where the kernel is small, and local search if it does not prove its assignment;
/// where the kernel is large, prices on budgets and dives along the bound. A composition of public pieces:
///
///     reduced{by_size{polished{branch_and_bound{}, local_search{}}, guided_search{}}}
///
/// It proves the optimum of most training graphs that we met; elsewhere it gives an assignment with a certified gap.
/// Give a time limit for large problems with budgets.
struct auto_solver {
  static constexpr std::string_view name = "auto";
  static constexpr solver_abilities abilities{.budgets = true};

  small_size small = {};  ///< up to this size branch and bound is asked

  using composition = reduced<by_size<polished<branch_and_bound, local_search>, guided_search>>;

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    return composition(by_size(polished(branch_and_bound{}, local_search{}), guided_search{}, small))
        .solve(problem, control);
  }
};

}  // namespace v0
}  // namespace shardweave
