#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

/// \file
/// How fast no order of a task graph with given buckets can be.

namespace shardweave {
inline namespace v0 {

/// Lower bounds on the end to end time of every valid order with exactly the given buckets, from the weakest
/// argument to the strongest.
struct makespan_bounds {
  nanoseconds compute;        ///< all work of the compute stream, packing included
  nanoseconds channel;        ///< the busiest channel
  nanoseconds critical_path;  ///< the longest chain of dependencies
  /// The compute stream, and each channel, as one machine whose jobs are released when what leads to them
  /// can be done at the earliest and are followed by what must come after them.
  nanoseconds released;
  [[nodiscard]] nanoseconds value() const { return std::max({compute, channel, critical_path, released}); }
};

namespace detail {
/// A job of one machine: not before `release`, and `rest` more time after it.
struct machine_job {
  nanoseconds release, duration, rest;
};

/// The least end of one machine with preemption allowed.
/// Source: J. R. Jackson's preemptive schedule, as in J. Carlier, The one-machine sequencing problem,
/// EJOR 11 (1982). Complexity: O(n log n)
[[nodiscard]] inline nanoseconds preemptive_bound(std::vector<machine_job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const machine_job& a, const machine_job& b) { return a.release < b.release; });
  const auto rests_less = [](const machine_job& a, const machine_job& b) { return a.rest < b.rest; };
  std::priority_queue<machine_job, std::vector<machine_job>, decltype(rests_less)> open(rests_less);
  nanoseconds now, bound;
  for (std::size_t next = 0; next < jobs.size() || !open.empty();) {
    if (open.empty()) now = std::max(now, jobs[next].release);
    while (next < jobs.size() && jobs[next].release <= now) open.push(jobs[next++]);
    machine_job job = open.top();
    open.pop();
    const nanoseconds end = now + job.duration;
    if (next < jobs.size() && jobs[next].release < end) {
      job.duration = end - jobs[next].release;
      now = jobs[next].release;
      open.push(job);
    } else {
      now = end;
      bound = std::max(bound, end + job.rest);
    }
  }
  return bound;
}

/// Longest chains into and out of every unit. A collective has two ways out: to its waits, after its end
/// and the unpacking, and to tasks that only have to come after its launch.
struct unit_chains {
  std::vector<nanoseconds> release;       // of the unit's first work
  std::vector<nanoseconds> after_waits;   // of what follows the end of a collective and its unpacking
  std::vector<nanoseconds> after_launch;  // of what follows the launch, or the end of another task

  explicit unit_chains(const launch_units& units)
      : release(units.size()), after_waits(units.size()), after_launch(units.size()) {
    for (const std::uint32_t u : units.order())
      for (const auto& e : units.graph().in(u)) {
        const bucket_costs c = units.costs(e.source);
        const nanoseconds passed = !units.is_collective(e.source) ? c.duration
                                   : units.is_completion(e)       ? c.pack + c.duration + c.unpack
                                                                  : c.pack;
        release[u] = std::max(release[u], release[e.source] + passed);
      }
    for (std::size_t i = units.order().size(); i-- > 0;) {
      const std::uint32_t u = units.order()[i];
      for (const auto& e : units.graph().out(u)) {
        nanoseconds& rest = units.is_collective(u) && units.is_completion(e) ? after_waits[u] : after_launch[u];
        rest = std::max(rest, through(units, e.target));
      }
    }
  }

  /// The longest chain that begins with the unit.
  [[nodiscard]] nanoseconds through(const launch_units& units, std::uint32_t u) const {
    const bucket_costs c = units.costs(u);
    if (!units.is_collective(u)) return c.duration + after_launch[u];
    return c.pack + std::max(c.duration + c.unpack + after_waits[u], after_launch[u]);
  }
};
}  // namespace detail

/// Bounds for every order of `g` with exactly these buckets under the reference timing.
/// Complexity: O((V + E) log V)
[[nodiscard]] inline makespan_bounds makespan_bound(const task_graph& g, std::span<const bucket> buckets = {}) {
  const launch_units units(g, buckets);
  const detail::unit_chains chains(units);
  std::vector<std::vector<detail::machine_job>> channels(g.groups().size());
  std::vector<detail::machine_job> stream;
  makespan_bounds bounds;
  for (std::uint32_t u = 0; u < units.size(); ++u) {
    const bucket_costs c = units.costs(u);
    const nanoseconds release = chains.release[u];
    bounds.critical_path = std::max(bounds.critical_path, release + chains.through(units, u));
    if (!units.is_collective(u)) {
      if (c.duration > nanoseconds(0)) stream.push_back({release, c.duration, chains.after_launch[u]});
      continue;
    }
    const nanoseconds after_end = c.unpack + chains.after_waits[u];
    channels[units.channel(u)].push_back({release + c.pack, c.duration, after_end});
    if (!units.is_bucket(u)) continue;
    stream.push_back({release, c.pack, std::max(c.duration + after_end, chains.after_launch[u])});
    stream.push_back({release + c.pack + c.duration, c.unpack, chains.after_waits[u]});
  }
  for (const detail::machine_job& job : stream) bounds.compute += job.duration;
  bounds.released = detail::preemptive_bound(std::move(stream));
  for (std::vector<detail::machine_job>& jobs : channels) {
    nanoseconds busy;
    for (const detail::machine_job& job : jobs) busy += job.duration;
    bounds.channel = std::max(bounds.channel, busy);
    bounds.released = std::max(bounds.released, detail::preemptive_bound(std::move(jobs)));
  }
  return bounds;
}

}  // namespace v0
}  // namespace shardweave
