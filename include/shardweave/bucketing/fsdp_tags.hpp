#pragma once

#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <vector>

/// \file
/// Which collectives belong to sharded parameters, told by the structure of the graph alone.

namespace shardweave {
inline namespace v0 {

/// True for
///  - an all_gather with exactly one graph input among its ancestors: it unshards a parameter;
///  - a reduce_scatter one of whose waits is used, and reaches the output only through tasks with a single
///    input: it shards a gradient.
/// Source: the structural rules of PyTorch's FSDP passes.
/// Complexity: O((V + E) log V)
[[nodiscard]] inline std::vector<bool> fsdp_tags_by_structure(const task_graph& g) {
  const compressed_graph& d = g.dependencies();
  const std::vector<task_index> order = stable_topological_order(d);

  // The one graph input above a task; `none` and `many` are told apart from it.
  constexpr task_index none = no_index, many = no_index - 1;
  std::vector<task_index> source_of(g.size(), none);
  for (const task_index t : order) {
    if (g.kind(t) == task_kind::input) source_of[t] = t;
    for (const task_index p : g.inputs(t)) {
      if (source_of[p] == none) continue;
      if (source_of[t] == none) source_of[t] = source_of[p];
      if (source_of[t] != source_of[p]) source_of[t] = many;
    }
  }

  const auto distinct_inputs_are_one = [&](task_index t) {
    for (const task_index p : g.inputs(t))
      if (p != g.inputs(t).front()) return false;
    return !g.inputs(t).empty();
  };
  // Used, and all that uses it leads to the output one to one.
  std::vector<bool> ends_alone(g.size());
  for (std::size_t i = order.size(); i-- > 0;) {
    const task_index t = order[i];
    const auto users = d.out(t);
    ends_alone[t] = !users.empty();
    for (const auto& e : users)
      if (g.kind(e.target) != task_kind::output && !(distinct_inputs_are_one(e.target) && ends_alone[e.target]))
        ends_alone[t] = false;
  }

  std::vector<bool> tags(g.size());
  for (task_index t = 0; t < g.size(); ++t) {
    if (g.is_collective(t) && g.collective(t).op == "all_gather")
      tags[t] = source_of[t] != none && source_of[t] != many;
    const task_index c = g.completes(t);
    if (c != no_index && g.collective(c).op == "reduce_scatter" && ends_alone[t]) tags[c] = true;
  }
  return tags;
}

/// The tags that the graph states, where it states any; else those by structure.
[[nodiscard]] inline std::vector<bool> fsdp_tags(const task_graph& g) {
  std::vector<bool> stated(g.size());
  bool any = false;
  for (task_index t = 0; t < g.size(); ++t) {
    any = any || g.is_fsdp(t).has_value();
    stated[t] = g.is_fsdp(t).value_or(false);
  }
  return any ? stated : fsdp_tags_by_structure(g);
}

}  // namespace v0
}  // namespace shardweave
