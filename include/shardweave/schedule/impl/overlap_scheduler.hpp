#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/schedule/overlap/detail/overlap_run.hpp>
#include <shardweave/schedule/overlap_counts.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>

#include <cstdint>

/// \file
/// Definition of `overlap_scheduler`.

namespace shardweave::inline v0 {

namespace detail {
/// The order of units before scheduling: a bucket at the place of its first member, its waits right behind it, and
/// others moved only as far as necessary.
[[nodiscard]] inline std::vector<std::uint32_t> order_with_buckets(const task_graph& g, const launch_units& units) {
  std::vector<std::vector<std::uint32_t>> waits(units.size());
  for (std::uint32_t u = 0; u < units.size(); ++u)
    if (const task_index c = g.completes(units.first(u)); c != no_index && units.is_bucket(units.unit_of(c)))
      waits[units.unit_of(c)].push_back(u);
  std::vector<bool> listed(units.size());
  std::vector<std::uint32_t> order;
  const auto list = [&](std::uint32_t u) {
    if (!listed[u]) order.push_back(u);
    listed[u] = true;
  };
  for (std::uint32_t u = 0; u < units.size(); ++u) {
    if (const task_index c = g.completes(units.first(u)); c != no_index && units.is_bucket(units.unit_of(c))) continue;
    list(u);
    for (const std::uint32_t w : waits[u]) list(w);
  }
  return parked_topological_order(order, [&](std::uint32_t u, const auto& f) {
    for (const auto& e : units.graph().in(u)) f(e.source);
  });
}
}  // namespace detail

SHARDWEAVE_INLINE schedule account_of_overlap(const task_graph& g, const bucketing_result& buckets,
                                              const overlap_settings& settings) {
  schedule s;
  s.buckets = buckets.buckets;
  s.decisions = buckets.decisions;
  const launch_units units(g, s.buckets);
  const storage_uses uses(g);
  const std::vector<std::uint32_t> order = detail::order_with_buckets(g, units);
  detail::overlap_run run(g, units, order, settings, uses);
  run.run();
  s.order.reserve(g.size());
  for (const std::uint32_t u : run.as_launched())
    s.order.insert(s.order.end(), units.tasks(u).begin(), units.tasks(u).end());
  s.hides = run.records();
  const overlap_counts counts = counts_of_overlap(g, units, s.hides);
  s.statistics = {{"collectives", static_cast<double>(counts.collectives)},
                  {"fully_exposed", static_cast<double>(counts.fully_exposed)},
                  {"fully_hidden", static_cast<double>(counts.fully_hidden)},
                  {"potentially_hidden", static_cast<double>(counts.potentially_hidden)},
                  {"missed", static_cast<double>(counts.missed)},
                  {"exposed_ns", static_cast<double>(counts.exposed.count())},
                  {"hideable_exposed_ns", static_cast<double>(counts.hideable_exposed.count())},
                  {"wasted_compute_ns", static_cast<double>(run.wasted().count())},
                  {"computations_between_scatters", static_cast<double>(computations_between_scatters(g, s))}};
  return s;
}

SHARDWEAVE_INLINE void inputs_first(const task_graph& g, std::vector<task_index>& order) {
  const auto part = [&](task_index t) {
    if (g.kind(t) == task_kind::output && g.dependencies().out(t).empty()) return 2;
    return g.kind(t) == task_kind::input && g.dependencies().in(t).empty() ? 0 : 1;
  };
  std::stable_sort(order.begin(), order.end(), [&](task_index a, task_index b) {
    return part(a) != part(b) ? part(a) < part(b) : part(a) == 0 && a < b;
  });
}

SHARDWEAVE_INLINE schedule overlap_scheduler::operator()(const task_graph& g, const bucketing_result& buckets,
                                                         const solve_control&) const {
  schedule s = account_of_overlap(g, buckets, settings);
  inputs_first(g, s.order);
  s.hides = hiding_records(g, s, simulate(g, s, {.validate = false}));
  return s;
}

}  // namespace shardweave::inline v0
