#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/bound/detail/activity_network.hpp>
#include <shardweave/schedule/bound/detail/cheapest_in_bucket.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// How the bounds are computed.

namespace shardweave {
inline namespace v0 {

namespace detail {
[[nodiscard]] inline makespan_bounds bounds_of(const activity_network& net, std::size_t machines, std::size_t reach) {
  const std::vector<nanoseconds> head = net.heads<false>(reach), tail = net.heads<true>(reach);
  const std::vector<nanoseconds> before = net.heads<false>(0), after = net.heads<true>(0);
  std::vector<std::vector<machine_job>> jobs(machines);
  std::vector<nanoseconds> busy(machines);
  makespan_bounds bounds;
  for (std::uint32_t a = 0; a < net.size(); ++a) {
    bounds.critical_path = std::max(bounds.critical_path, before[a] + net[a].duration + after[a]);
    bounds.released = std::max(bounds.released, head[a] + net[a].duration + tail[a]);
    busy[net[a].machine] += net[a].share;
    if (net[a].share > nanoseconds(0)) jobs[net[a].machine].push_back({head[a], net[a].share, tail[a]});
  }
  bounds.compute = busy[0];
  for (std::size_t m = 0; m < machines; ++m) {
    if (m > 0) bounds.channel = std::max(bounds.channel, busy[m]);
    bounds.released = std::max(bounds.released, preemptive_bound(std::move(jobs[m])));
  }
  // The longest collectives of each channel, and those with the longest way before and after them.
  std::vector<std::vector<std::uint32_t>> of_channel(machines);
  for (std::uint32_t a = 0; a < net.size(); ++a)
    if (net[a].machine > 0 && net[a].share > nanoseconds(0)) of_channel[net[a].machine].push_back(a);
  constexpr std::size_t looked_at = 3;
  for (std::vector<std::uint32_t>& some : of_channel) {
    const auto few = static_cast<std::ptrdiff_t>(std::min(some.size(), looked_at));
    std::vector<std::uint32_t> chosen;  // the same ones often lead in several respects
    const auto choose = [&](auto value) {
      std::partial_sort(some.begin(), some.begin() + few, some.end(),
                        [&](auto a, auto b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
      chosen.insert(chosen.end(), some.begin(), some.begin() + few);
    };
    choose([&](std::uint32_t a) { return net[a].share; });
    choose([&](std::uint32_t a) { return head[a] + net[a].share; });
    choose([&](std::uint32_t a) { return tail[a] + net[a].share; });
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const std::uint32_t a : chosen)
      bounds.in_a_row = std::max({bounds.in_a_row, net.around<false>(a, head, static_cast<std::uint32_t>(machines)),
                                  net.around<true>(a, tail, static_cast<std::uint32_t>(machines))});
  }
  return bounds;
}
}  // namespace detail

SHARDWEAVE_INLINE makespan_bounds makespan_bound(const task_graph& g, std::span<const bucket> buckets,
                                                 const makespan_bound_options& options) {
  const launch_units units(g, buckets);
  const detail::activity_network net(units, [&](std::uint32_t u) {
    const nanoseconds takes = units.costs(u).duration;
    return detail::collective_floor{takes, takes, takes, {}};
  });
  return detail::bounds_of(net, 1 + g.groups().size(), options.reach);
}

SHARDWEAVE_INLINE makespan_bounds bound_of_all_bucketings(const task_graph& g, const makespan_bound_options& options) {
  const launch_units units(g, {});
  const std::vector<std::uint32_t> keys = bucket_keys(g);
  std::vector<bytes> total;
  for (task_index t = 0; t < g.size(); ++t) {
    if (keys[t] == no_index) continue;
    if (total.size() <= keys[t]) total.resize(keys[t] + 1);
    total[keys[t]] += g.collective(t).bytes_in;
  }
  const detail::activity_network net(units, [&](std::uint32_t u) {
    const task_index t = units.first(u);
    const collective_info c = g.collective(t);
    const duration_table* table = keys[t] == no_index ? nullptr : g.table(c.op, c.group);
    if (table == nullptr) return detail::collective_floor{g.duration(t), g.duration(t), g.duration(t), {}};
    detail::collective_floor least = detail::cheapest_in_bucket(*table, g.duration(t), c.bytes_in, total[keys[t]]);
    // the bucket's copies are rounded as a whole: a nanosecond less each
    const nanoseconds copies = copy_time(c.bytes_in + c.bytes_out, g.device().dram_bytes_per_ns);
    least.packing = std::max(copies - nanoseconds(2), nanoseconds(0));
    return least;
  });
  return detail::bounds_of(net, 1 + g.groups().size(), options.reach);
}

}  // namespace v0
}  // namespace shardweave
