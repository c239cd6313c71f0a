#pragma once

#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

/// \file
/// What a user gets who does not ask for a solver.

namespace shardweave {
inline namespace v0 {

/// Reduce exactly; branch and bound where the kernel is small, and local search if it does not prove its assignment;
/// where the kernel is large, prices on budgets and dives along the bound. A composition of public pieces:
///
///     reduced{by_size{polished{branch_and_bound{}, local_search{}}, guided_search{}}}
///
/// To reduce a problem of many labels takes a part of a second: there a greedy assignment comes first.
///
/// It proves the optimum of most training graphs that we met; elsewhere it gives an assignment with a certified gap.
/// Give a time limit for large problems with budgets: it is used. A problem with savings goes to `overlapped`.
struct auto_solver {
  static constexpr std::string_view name = "auto";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  small_size small = {};                     ///< up to this size branch and bound is asked
  std::size_t labels_without_rows = 60'000;  ///< and up to this one where no budget is left
  std::size_t many_labels = 100'000;         ///< from so many on a greedy assignment comes first

  using composition = reduced<by_size<polished<branch_and_bound, local_search>, guided_search>>;

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    if (problem.savings() != nullptr) {
      overlapped with_savings(trws{});  // a node takes time in proportion to the labels
      with_savings.search.nodes =
          std::clamp<std::size_t>(50'000'000 / std::max<std::size_t>(problem.compact().total_labels(), 1), 200, 20'000);
      return with_savings.solve(problem, control);
    }
    branch_and_bound exact;
    exact.goes_on = true;
    exact.reduces_root = false;  // `reduced` has done so
    composition whole(by_size(polished(exact, local_search{}, 0.9), guided_search{}, small, labels_without_rows));
    if (problem.compact().total_labels() < many_labels) return whole.solve(problem, control);
    local_search greedy;
    greedy.starts = greedy.attempts = 1;
    greedy.sweeps = greedy.star_sweeps = greedy.effort = 0;
    return first_proven(std::move(greedy), std::move(whole)).solve(problem, control);
  }
};

}  // namespace v0
}  // namespace shardweave
