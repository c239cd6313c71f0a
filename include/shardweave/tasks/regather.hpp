#pragma once

#include <shardweave/cost/collective.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <vector>

/// \file
/// Which part of the way of a parameter is gathered again.

namespace shardweave::inline v0 {

/// What becomes of a gathered parameter when activations are checkpointed.
enum class regather : std::uint8_t {
  none,       ///< no part of the way of a parameter
  recompute,  ///< gathered again for the backward step: a cast before the gather, the gather, its wait, what follows
  save        ///< kept for the backward step: the last of that way that is no view
};

/// The way of each parameter whose gather has one input above it in a single line: from the cast before the gather on
/// as far as each task has one input and, but for the last, one user.
/// \param reshard  whether the parameter is freed after the forward step
/// Source: the activation checkpointing of AutoParallel. Complexity: O(V + E)
[[nodiscard]] inline std::vector<regather> regather_tags(const task_graph& g, bool reshard) {
  std::vector<regather> tags(g.size(), regather::none);
  const compressed_graph& d = g.dependencies();
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.is_collective(t) || g.collective(t).op != collective::all_gather) continue;
    std::vector<task_index> way = {t};
    task_index above = t;
    while (g.kind(above) != task_kind::input && d.in(above).size() == 1) {
      above = d.in(above).front().source;
      if (g.kind(above) == task_kind::other) way.insert(way.begin(), above);
    }
    if (g.kind(above) != task_kind::input) continue;
    task_index last = t;
    while (d.out(last).size() == 1 && d.in(d.out(last).front().target).size() == 1 &&
           g.kind(d.out(last).front().target) != task_kind::output &&
           g.kind(d.out(last).front().target) != task_kind::compute) {
      last = d.out(last).front().target;
      way.push_back(last);
    }
    if (reshard)
      for (const task_index w : way) tags[w] = regather::recompute;
    while (!reshard && g.kind(way.back()) == task_kind::view) way.pop_back();
    if (!reshard) tags[way.back()] = regather::save;
  }
  return tags;
}

}  // namespace shardweave::inline v0
