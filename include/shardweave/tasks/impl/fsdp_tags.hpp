#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>

#include <cstddef>

/// \file
/// Which collectives belong to sharded parameters.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<task_index> only_parameter_above(const task_graph& g) {
  constexpr task_index none = no_index, many = no_index - 1;
  std::vector<task_index> above(g.size(), none);
  for (const task_index t : stable_topological_order(g.dependencies())) {
    if (g.kind(t) == task_kind::input) above[t] = t;
    for (const task_index p : g.inputs(t)) {
      if (above[p] == none) continue;
      if (above[t] == none) above[t] = above[p];
      if (above[t] != above[p]) above[t] = many;
    }
  }
  for (task_index& a : above)
    if (a == many || (a != none && g.role(a) != task_role::none && g.role(a) != task_role::parameter)) a = none;
  return above;
}

SHARDWEAVE_INLINE std::vector<bool> fsdp_tags_by_structure(const task_graph& g) {
  const compressed_graph& d = g.dependencies();
  const std::vector<task_index> order = stable_topological_order(d);
  const std::vector<task_index> parameter_above = only_parameter_above(g);

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
    if (g.is_collective(t) && g.collective(t).op == collective::all_gather) tags[t] = parameter_above[t] != no_index;
    const task_index c = g.completes(t);
    if (c != no_index && g.collective(c).op == collective::reduce_scatter && ends_alone[t]) tags[c] = true;
  }
  return tags;
}

SHARDWEAVE_INLINE std::vector<bool> fsdp_tags(const task_graph& g) {
  std::vector<bool> stated(g.size()), by_role(g.size());
  bool any = false, any_role = false;
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.is_collective(t)) continue;
    any = any || g.is_fsdp(t).has_value();
    stated[t] = g.is_fsdp(t).value_or(false);
    any_role = any_role || g.role(t) != task_role::none;
    by_role[t] = (g.collective(t).op == collective::all_gather && g.role(t) == task_role::parameter) ||
                 (g.collective(t).op == collective::reduce_scatter && g.role(t) == task_role::gradient);
  }
  return any ? stated : any_role ? by_role : fsdp_tags_by_structure(g);
}

}  // namespace shardweave::inline v0
