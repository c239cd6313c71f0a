#pragma once

#include <shardweave/solve/dual_ascent.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Sequential tree-reweighted message passing as a solver.

namespace shardweave {
inline namespace v0 {

/// Alternates passes forward and backward, decodes an assignment after every sweep, and stops when the bound
/// meets the best assignment. Exact on trees, and on every training graph of transformers we met.
///
/// Rows are relaxed: the bound stays valid, and only decoded assignments that keep them are returned; put
/// `budgeted` around it where budgets bind.
/// Complexity per sweep: twice a pass of `dual_ascent`, and a decoding in O(labels * degree).
class trws {
 public:
  static constexpr std::string_view name = "trws";
  static constexpr solver_abilities abilities{.budgets = false};

  /// Most sweeps. An assignment may still improve long after the bound stopped rising, so the limit, not a
  /// plateau, ends the work, unless no message moved at all.
  std::size_t sweeps = 1000;
  /// Sweeps without a better assignment or a rise of the bound by `least_gain` (relative) after which to give up.
  std::size_t patience = 200;
  double least_gain = 1e-7;

  /// The passes alone, for combinators that change costs in between.
  template <cost_value Cost>
  [[nodiscard]] dual_ascent<Cost> ascent(const compact_problem<Cost>& problem) const {
    return dual_ascent<Cost>(problem);
  }

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    const compact_problem<Cost>& p = problem.compact();
    const deadline limit(control);
    dual_ascent<Cost> ascent(p);
    solve_statistics statistics{.solver = std::string(name)};
    std::vector<strategy> labels(p.size()), best;
    Cost best_cost = forbidden<Cost>;
    double bound = -std::numeric_limits<double>::infinity(), mark = bound;
    std::size_t idle = 0;
    bool stopped = false, settled = false;
    const std::size_t most = std::min(sweeps, control.iterations);
    while (statistics.iterations < most && !(stopped = limit.expired())) {
      ++statistics.iterations;
      bound = std::max(bound, ascent.forward());
      bound = std::max(bound, ascent.backward());
      ascent.decode(labels);
      const Cost cost = p.cost(labels);
      if (cost < best_cost && p.keeps_rows(labels)) {
        best = labels;
        best_cost = cost;
        idle = 0;
        statistics.seconds_to_best = limit.elapsed();
      }
      if (bound > mark + least_gain * std::abs(bound) || !std::isfinite(mark)) {
        mark = bound;
        idle = 0;
      }
      if (control.progress) report(control, limit, best_cost, bound, most, statistics.iterations);
      settled = (!is_forbidden(best_cost) && proves(bound, best_cost)) || ascent.last_change() == 0;
      if (settled || ++idle > patience) break;
    }
    if (!settled && statistics.iterations == control.iterations) stopped = true;
    if (stopped) statistics.add_note("stopped after " + std::to_string(statistics.iterations) + " sweeps.");
    if (!stopped && !settled)
      statistics.add_note("gave up after " + std::to_string(statistics.iterations) + " sweeps.");
    statistics.seconds = limit.elapsed();
    return conclude(problem, std::span<const strategy>(best), bound, stopped, std::move(statistics));
  }

 private:
  template <cost_value Cost>
  static void report(const solve_control& control, const deadline& limit, Cost best, double bound, std::size_t most,
                     std::size_t sweep) {
    control.progress(
        {.stage = name,
         .seconds = limit.elapsed(),
         .objective = is_forbidden(best) ? std::numeric_limits<double>::infinity() : static_cast<double>(best),
         .lower_bound = bound,
         .done = static_cast<double>(sweep) / static_cast<double>(most)});
  }
};

}  // namespace v0
}  // namespace shardweave
