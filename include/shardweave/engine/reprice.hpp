#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/engine/group_ranks.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The same task graph on another machine: what a simulator must believe before it can be compared with a replay.

namespace shardweave::inline v0 {

/// What differs on the other machine besides its collectives.
struct reprice_options {
  double compute_scale = 1;      ///< computation takes that many times longer
  double dram_bytes_per_ns = 0;  ///< of copies into and out of buckets; 0 = as the graph says
};

/// How groups lie on the nodes of a run whose ranks fill one node after the other.
/// \throws error if a node holds more ranks of a group than another, or none at all
[[nodiscard]] inline std::vector<group_shape> shapes_of(std::span<const process_group> groups, std::int64_t world,
                                                        std::int64_t ranks_per_node) {
  if (ranks_per_node < 1)
    refuse(error_category::input,
           "nodes of " + std::to_string(ranks_per_node) + " ranks, expected one or more on each");
  std::vector<group_shape> shapes;
  for (const process_group& group : groups) {
    const std::vector<std::int64_t> ranks = layout_of(group, world).members(0);
    const auto count = static_cast<std::int64_t>(ranks.size());
    std::map<std::int64_t, std::int64_t> on_node;
    for (const std::int64_t r : ranks) ++on_node[r / ranks_per_node];
    const std::int64_t here = on_node[0];
    if (std::any_of(on_node.begin(), on_node.end(), [&](const auto& node) { return node.second != here; }))
      refuse(error_category::input, label_of(group) + " has " + std::to_string(here) + " of its " +
                                        std::to_string(count) + " ranks on the first node, expected as many on each");
    shapes.push_back({.ranks_per_node = here, .nodes = count / here});
  }
  return shapes;
}

/// A task graph whose collectives take what a model says, alone and in buckets, and whose other tasks take
/// `compute_scale` times what they took, fused or not. Everything else, the tasks' numbers included, stays.
/// \param shapes  of the groups, by their position
/// \throws error if the scale is negative, not finite or gives times of 2^62 ns or more, or the model has no price
/// Complexity: O(V + E), and one estimate per point of the tables
[[nodiscard]] inline task_graph reprice(const task_graph& g, const any_collectives& model,
                                        std::span<const group_shape> shapes, const reprice_options& options = {}) {
  if (!(options.compute_scale >= 0) || !std::isfinite(options.compute_scale))
    refuse(error_category::input, "computation that takes " + number_text(options.compute_scale) +
                                      " times as long, expected a finite factor, not negative");
  const auto scaled = [&](nanoseconds t) {
    const double time = std::nearbyint(static_cast<double>(t.count()) * options.compute_scale);
    if (!(std::abs(time) < 0x1p62))
      refuse(error_category::input, "computation that takes " + number_text(options.compute_scale) +
                                        " times as long takes more nanoseconds than 64 bits can count");
    return nanoseconds(static_cast<std::int64_t>(time));
  };
  std::vector<task_record> tasks;
  for (task_index t = 0; t < g.size(); ++t) tasks.push_back(g.record(t));
  const std::vector<duration_table> tables = collective_tables(tasks, model, shapes);

  task_graph_builder b;
  b.name = g.name;
  b.description = g.description;
  b.device = g.device();
  if (options.dram_bytes_per_ns > 0) b.device.dram_bytes_per_ns = options.dram_bytes_per_ns;
  b.memory_baseline = g.memory_baseline();
  for (const process_group& group : g.groups()) b.add_group(group);
  for (const storage& s : g.storages()) b.add_storage(s);
  for (task_record& t : tasks) {
    t.duration = scaled(t.duration);
    if (t.collective)
      for (const duration_table& table : tables)
        if (table.group() == t.collective->group && table.op() == t.collective->op)
          t.duration = table(t.collective->bytes_in);
    if (!g.fused_durations().empty())
      b.fused_durations.push_back(t.collective ? t.duration : scaled(g.fused_durations()[b.fused_durations.size()]));
    b.add_task(t);
  }
  for (const duration_table& table : tables) b.add_table(table);
  return std::move(b).build();
}

}  // namespace shardweave::inline v0
