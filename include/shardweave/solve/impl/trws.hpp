#pragma once

#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
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
template <cost_value Cost>
solution<Cost> trws::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  const compact_problem<Cost>& p = problem.compact();
  const deadline limit(control);
  dual_ascent<Cost> ascent(p);
  solve_statistics statistics{.solver = std::string(name)};
  detail::incumbent<Cost> best(control.gap);
  if (const std::vector<strategy> start = detail::start_labels(problem, control); !start.empty())
    best.offer(p.cost(start), start, 0);
  std::vector<strategy> labels(p.size());
  double bound = -std::numeric_limits<double>::infinity(), mark = bound;
  std::size_t idle = 0;
  bool stopped = false, settled = false;
  const std::size_t most = std::min(sweeps, control.iterations);
  constexpr double least_gain = 1e-7;  // relative rise of the bound that counts: up to 1e-5 answers are the same
  while (statistics.iterations < most && !(stopped = limit.expired())) {
    ++statistics.iterations;
    bound = std::max(bound, ascent.forward());
    bound = std::max(bound, ascent.backward());
    ascent.decode(labels);
    const Cost cost = p.cost(labels);
    if (best.is_beaten_by(cost) && p.keeps_rows(labels)) {
      best.offer(cost, labels, limit.elapsed());
      idle = 0;
    }
    if (bound > mark + least_gain * std::abs(bound) || !std::isfinite(mark)) {
      mark = bound;
      idle = 0;
    }
    if (control.progress)
      control.progress({.stage = name,
                        .seconds = limit.elapsed(),
                        .objective = best.upper(),
                        .lower_bound = bound,
                        .done = static_cast<double>(statistics.iterations) / static_cast<double>(most)});
    settled = best.is_enough(bound) || ascent.last_change() == 0;
    if (settled || ++idle > patience) break;
  }
  if (!settled && statistics.iterations == control.iterations) stopped = true;
  if (stopped) statistics.add_note("stopped after " + std::to_string(statistics.iterations) + " sweeps.");
  if (!stopped && !settled) statistics.add_note("gave up after " + std::to_string(statistics.iterations) + " sweeps.");
  statistics.seconds = limit.elapsed();
  statistics.seconds_to_best = best.found_at();
  return conclude(problem, std::span<const strategy>(best.labels()), bound, stopped, std::move(statistics), control);
}

}  // namespace shardweave::inline v0
