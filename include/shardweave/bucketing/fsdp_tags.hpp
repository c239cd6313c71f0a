#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
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
    if (g.is_collective(t) && g.collective(t).op == collective::all_gather)
      tags[t] = source_of[t] != none && source_of[t] != many;
    const task_index c = g.completes(t);
    if (c != no_index && g.collective(c).op == collective::reduce_scatter && ends_alone[t]) tags[c] = true;
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

/// Another rule, that of what data a collective moves. True for
///  - an all_gather of what is derived from parameters alone: every input leads back to `is_param` inputs only;
///  - a reduce_scatter or all_reduce of what becomes gradients alone: every way on ends in the output of a backward
///    graph, one with `tangents` among its inputs.
/// Source: the tagging of AutoParallel's first bucketing pass, on a graph that holds one direction only.
/// Complexity: O((V + E) log V)
[[nodiscard]] inline std::vector<bool> derived_tags(const task_graph& g) {
  const std::vector<task_index> order = stable_topological_order(g.dependencies());
  bool backward = false;
  std::vector<bool> from_params(g.size()), to_gradients(g.size()), tags(g.size());
  for (const task_index t : order) {
    if (g.kind(t) == task_kind::input) {
      from_params[t] = g.is_param(t);
      backward = backward || g.name_of(t).starts_with("tangents");
      continue;
    }
    from_params[t] = !g.inputs(t).empty();
    for (const task_index p : g.inputs(t)) from_params[t] = from_params[t] && from_params[p];
  }
  for (std::size_t i = order.size(); backward && i-- > 0;) {
    const task_index t = order[i];
    if (g.kind(t) == task_kind::output) continue;
    const auto users = g.dependencies().out(t);
    bool returned = false, all = !users.empty();
    for (const auto& e : users) {
      const bool is_output = g.kind(e.target) == task_kind::output;
      returned = returned || is_output;
      all = all && (is_output || to_gradients[e.target]);
    }
    to_gradients[t] = returned || all;
  }
  for (task_index t = 0; t < g.size(); ++t)
    if (g.is_collective(t)) tags[t] = g.collective(t).op == collective::all_gather ? from_params[t] : to_gradients[t];
  return tags;
}

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

/// Collectives that may be members of a bucket at all: of an operation that can be merged, with a price, with a wait,
/// and with no users but waits and the output.
/// Complexity: O(V + E)
[[nodiscard]] inline std::vector<bool> fit_for_buckets(const task_graph& g) {
  std::vector<bool> fit(g.size());
  for (task_index t = 0; t < g.size(); ++t)
    if (const task_index c = g.completes(t); c != no_index) fit[c] = true;
  for (task_index t = 0; t < g.size(); ++t) {
    if (!fit[t]) continue;
    const collective_info c = g.collective(t);
    fit[t] = is_mergeable(c.op) && g.table(c.op, c.group) != nullptr;
    for (const auto& e : g.dependencies().out(t))
      fit[t] = fit[t] && (g.completes(e.target) == t || g.kind(e.target) == task_kind::output);
  }
  return fit;
}

}  // namespace v0
}  // namespace shardweave
