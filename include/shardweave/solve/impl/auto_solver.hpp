#pragma once

#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/sifted.hpp>

#include <algorithm>
#include <utility>

/// \file
/// The composition behind the default solver.

namespace shardweave::inline v0 {

template <cost_value Cost>
solution<Cost> auto_solver::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  if (problem.savings() != nullptr) {
    overlapped with_savings;  // a node takes time in proportion to the labels
    const std::size_t labels = std::max<std::size_t>(problem.compact().total_labels(), 1);
    with_savings.nodes = std::clamp<std::size_t>(50'000'000 / labels, 200, 20'000);
    with_savings.patience = std::clamp<std::size_t>(200'000 / labels, 1, 40);
    return with_savings.solve(problem, control);
  }
  return solve_costs(problem, control);
}

template <cost_value Cost>
solution<Cost> auto_solver::solve_costs(const placement_problem<Cost>& problem, const solve_control& control) const {
  using local = detail::of_costs<local_search>;
  branch_and_bound exact;
  exact.goes_on = true;
  exact.reduces_root = false;                          // `reduced` has done so
  constexpr std::size_t labels_without_rows = 60'000;  // half and twice change nothing
  sifted whole(reduced(by_size(polished(exact, local{}, 0.9), guided_search{}, small, labels_without_rows)));
  if (problem.compact().total_labels() < many_labels) return whole.solve(problem, control);
  local greedy;
  greedy.starts = greedy.attempts = 1;
  greedy.sweeps = greedy.star_sweeps = greedy.effort = 0;
  return first_proven(std::move(greedy), std::move(whole)).solve(problem, control);
}

}  // namespace shardweave::inline v0
