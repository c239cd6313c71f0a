#pragma once

#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/search/detail/savings_search.hpp>
#include <shardweave/solve/solver.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Lagrangian relaxation of savings.

namespace shardweave::inline v0 {

/// Counts savings: prices on the computation that hides turn the problem into one without savings, whose bound is valid
/// with savings (`savings_ascent`); reduced-cost fixing and branching close the remaining gap.
///
/// Budgets are priced as well, together with that computation. Without savings it is `budgeted`. Without a time limit
/// it ends after `nodes`.
/// Complexity: exponential without a limit; a node takes up to `node_steps` steps of `savings_ascent`, the root up to
/// `root_steps`
struct overlapped {
  static constexpr std::string_view name = "overlapped";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  std::size_t nodes = 20'000;    ///< subproblems, at most
  std::size_t root_steps = 200;  ///< of the ascent, at the root
  std::size_t node_steps = 30;   ///< of the ascent, elsewhere
  /// With a gap (`solve_control::gap`): ends when more subproblems than this, plus twice those explored until the last
  /// incumbent that was better by a tenth of the gap, have been explored since that incumbent. Depth-first search
  /// raises the bound only at its end.
  std::size_t patience = 40;
  savings_ascent_options ascent = {};

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;
};

template <cost_value Cost>
solution<Cost> overlapped::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  if (problem.savings() == nullptr) return budgeted{}.solve(problem, control);
  detail::savings_search<Cost> bounds({nodes, root_steps, node_steps, patience, ascent}, control, problem);
  detail::no_record nothing;
  constexpr double at_once = std::numeric_limits<double>::infinity();  // labels are removed when a node is split
  detail::bounded_search<Cost, detail::savings_search<Cost>> tree(problem.compact(), bounds.best(), bounds, nothing,
                                                                  at_once);
  const double bound = tree.run();
  solve_statistics statistics{
      .solver = std::string(name), .seconds = bounds.limit().elapsed(), .iterations = tree.explored()};
  statistics.seconds_to_best = bounds.best().found_at();
  statistics.count({{"nodes", static_cast<double>(tree.explored())},
                    {"labels dropped", static_cast<double>(tree.dropped())},
                    {"price steps", static_cast<double>(bounds.steps())},
                    {"root bound", bounds.root_bound()}});
  if (!bounds.best().is_known() && !tree.is_cut_short())
    statistics.add_note("no labeling keeps all rows: every branch of the search is empty.");
  if (tree.is_cut_short()) statistics.add_note("stopped after " + std::to_string(tree.explored()) + " nodes.");
  return conclude(problem, std::span<const strategy>(bounds.best().labels()), bound, tree.is_cut_short(),
                  std::move(statistics), control, bound_on::objective);
}

#ifdef SHARDWEAVE_COMPILED
extern template solution<double> overlapped::solve(const placement_problem<double>&, const solve_control&) const;
extern template solution<std::int64_t> overlapped::solve(const placement_problem<std::int64_t>&,
                                                         const solve_control&) const;
#endif

}  // namespace shardweave::inline v0
