#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/schedule/overlap/detail/overlap_run.hpp>
#include <shardweave/schedule/overlap/overlap_settings.hpp>
#include <shardweave/schedule/overlap_counts.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Hides communication behind computation by an account of what is still exposed.

namespace shardweave {
inline namespace v0 {

namespace detail {
/// Where units stand before scheduling: a bucket where its first member stood, its waits right behind it, and all
/// moved only as far as they must.
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

/// What exposure-driven scheduling does: the order, and in `hides` the scheduler's own account, that is how much of
/// each collective it expects to be exposed and the tasks that it counts on to hide the rest. Tasks stand as they were
/// taken, inputs between others. Statistics: those of `overlap_counts` by this account (`collectives`, `fully_exposed`,
/// `fully_hidden`, `potentially_hidden`, `missed`, `exposed_ns`, `hideable_exposed_ns`), `wasted_compute_ns` (time of
/// tasks behind which nothing was left to launch on some channel) and `computations_between_scatters`.
[[nodiscard]] inline schedule account_of_overlap(const task_graph& g, const bucketing_result& buckets,
                                                 const overlap_settings& settings = {}) {
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

/// Inputs first, in the original order, and outputs last; the rest as it is.
inline void inputs_first(const task_graph& g, std::vector<task_index>& order) {
  const auto part = [&](task_index t) {
    if (g.kind(t) == task_kind::output && g.dependencies().out(t).empty()) return 2;
    return g.kind(t) == task_kind::input && g.dependencies().in(t).empty() ? 0 : 1;
  };
  std::stable_sort(order.begin(), order.end(), [&](task_index a, task_index b) {
    return part(a) != part(b) ? part(a) < part(b) : part(a) == 0 && a < b;
  });
}

/// One task after the other is taken, those first that the next computation needs; computations keep their order.
/// While a task runs, and while the stream stalls at a wait, what is in flight on each channel is counted as hidden
/// for that long, and then the most urgent collectives that can be reached without computing are launched behind it.
/// The account of what is still exposed decides when waits are taken. Memory is kept near what the original order
/// needs, but is no guarantee: `prefetch` and `search` give one.
///
/// Source: PyTorch's overlap scheduling; on the captured training graphs the order is the same, task by task.
/// Complexity: O((V + E) log V) and `candidates` per window
struct overlap_scheduler {
  static constexpr std::string_view name = "overlap";

  overlap_settings settings = {};

  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& = {}) const {
    schedule s = account_of_overlap(g, buckets, settings);
    inputs_first(g, s.order);
    s.hides = hiding_records(g, s, simulate(g, s, {.validate = false}));
    return s;
  }
};

static_assert(scheduler<overlap_scheduler>);

}  // namespace v0
}  // namespace shardweave
