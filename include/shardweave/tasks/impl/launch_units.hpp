#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/launch_units.hpp>

#include <string>
#include <utility>

/// \file
/// How launches are told apart.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE launch_units::launch_units(const task_graph& g, std::span<const bucket> buckets)
    : g_(&g), buckets_(buckets), unit_of_(g.size(), no_index) {
  std::vector<std::uint32_t> bucket_of(g.size(), no_index);
  for (std::uint32_t b = 0; b < buckets.size(); ++b) {
    for (const task_index t : buckets[b].members) {
      if (t >= g.size() || bucket_of[t] != no_index)
        refuse(error_category::input, "bucket " + std::to_string(b) + " names task " + std::to_string(t) +
                                          (t >= g.size() ? ", but there are only " + std::to_string(g.size())
                                                         : ", which is in bucket " + std::to_string(bucket_of[t])));
      if (!g.is_collective(t))
        refuse(error_category::input, "bucket " + std::to_string(b) + ": " + g.label(t) + " is no collective");
      bucket_of[t] = b;
    }
    if (buckets[b].members.empty())
      refuse(error_category::input, "bucket " + std::to_string(b) + " has no members, expected one or more");
    if (const std::uint32_t group = g.collective(buckets[b].members.front()).group; buckets[b].channel != group)
      refuse(error_category::input, "bucket " + std::to_string(b) + " is on channel " +
                                        std::to_string(buckets[b].channel) + ", expected that of its members, " +
                                        std::to_string(group));
    costs_.push_back(costs_of(g, buckets[b]));
  }
  for (task_index t = 0; t < g.size(); ++t) {
    if (unit_of_[t] != no_index) continue;
    const auto unit = static_cast<std::uint32_t>(first_.size());
    first_.push_back(t);
    bucket_.push_back(bucket_of[t]);
    unit_of_[t] = unit;
    if (bucket_of[t] != no_index)
      for (const task_index m : buckets[bucket_of[t]].members) unit_of_[m] = unit;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  ends.reserve(g.dependencies().all_edges().size());
  for (const auto& e : g.dependencies().all_edges()) {
    if (unit_of_[e.source] == unit_of_[e.target])
      refuse(error_category::input,
             g.label(e.target) + " depends on " + g.label(e.source) + " and cannot be in one bucket with it");
    ends.emplace_back(unit_of_[e.source], unit_of_[e.target]);
  }
  graph_ = compressed_graph(first_.size(), ends);
  order_ = stable_topological_order(graph_);
}

SHARDWEAVE_INLINE std::vector<std::uint32_t> units_in_order(const launch_units& units,
                                                            std::span<const task_index> order) {
  std::vector<std::size_t> left(units.size());
  for (std::uint32_t u = 0; u < units.size(); ++u) left[u] = units.tasks(u).size();
  std::vector<std::uint32_t> launched;
  launched.reserve(units.size());
  for (const task_index t : order)
    if (--left[units.unit_of(t)] == 0) launched.push_back(units.unit_of(t));
  return launched;
}

}  // namespace shardweave::inline v0
