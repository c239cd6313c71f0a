#pragma once

#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/trws.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The sweeps of message passing.

namespace shardweave::inline v0 {
namespace detail {
template <cost_value Cost>
void report_sweep(const solve_control& control, const deadline& limit, Cost best, double bound, std::size_t most,
                  std::size_t sweep) {
  control.progress(
      {.stage = trws::name,
       .seconds = limit.elapsed(),
       .objective = is_forbidden(best) ? std::numeric_limits<double>::infinity() : static_cast<double>(best),
       .lower_bound = bound,
       .done = static_cast<double>(sweep) / static_cast<double>(most)});
}
}  // namespace detail

template <cost_value Cost>
solution<Cost> trws::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  const compact_problem<Cost>& p = problem.compact();
  const deadline limit(control);
  dual_ascent<Cost> ascent(p);
  solve_statistics statistics{.solver = std::string(name)};
  std::vector<strategy> labels(p.size()), best = detail::start_labels(problem, control);
  Cost best_cost = best.empty() ? forbidden<Cost> : p.cost(best);
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
    if (control.progress) detail::report_sweep(control, limit, best_cost, bound, most, statistics.iterations);
    settled = (!is_forbidden(best_cost) && is_within(control.gap, bound, best_cost)) || ascent.last_change() == 0;
    if (settled || ++idle > patience) break;
  }
  if (!settled && statistics.iterations == control.iterations) stopped = true;
  if (stopped) statistics.add_note("stopped after " + std::to_string(statistics.iterations) + " sweeps.");
  if (!stopped && !settled) statistics.add_note("gave up after " + std::to_string(statistics.iterations) + " sweeps.");
  statistics.seconds = limit.elapsed();
  return conclude(problem, std::span<const strategy>(best), bound, stopped, std::move(statistics), control);
}

}  // namespace shardweave::inline v0
