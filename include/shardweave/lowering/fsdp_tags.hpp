#pragma once

#include <shardweave/tasks/task.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// \file
/// Which collectives belong to sharded data parallelism, told from the structure of a task graph.

namespace shardweave {
inline namespace v0 {

/// Sets `is_fsdp` of all-gathers and reduce-scatters, and `is_param` of inputs.
///
/// An all-gather gathers a parameter if it depends on one input only and that one may be a parameter; then that
/// input `is_param`. A reduce-scatter reduces a gradient if what follows its wait, up to the output, are tasks
/// with a single input. Other collectives have no tag.
/// Source: the rule by which PyTorch's overlap scheduler recognizes such collectives.
/// \param may_be_parameter  per task; looked at for inputs only
/// \pre tasks name earlier tasks as inputs only
/// Complexity: O(V + E)
inline void tag_fsdp(std::span<task_record> tasks, const std::vector<bool>& may_be_parameter) {
  constexpr task_index many = no_index - 1;
  std::vector<task_index> ancestor(tasks.size(), no_index);  // the only input above, none, or many
  for (task_index t = 0; t < tasks.size(); ++t) {
    if (tasks[t].kind == task_kind::input) ancestor[t] = t;
    for (const task_index p : tasks[t].inputs) {
      if (ancestor[p] == no_index) continue;
      ancestor[t] = ancestor[t] == no_index || ancestor[t] == ancestor[p] ? ancestor[p] : many;
    }
  }

  // Whether all that follows leads straight to the output; false until a user is known.
  enum class end : std::uint8_t { unused, straight, other };
  std::vector<end> leads(tasks.size(), end::unused);
  for (std::size_t t = tasks.size(); t-- > 0;) {
    const task_record& user = tasks[t];
    bool single = true;
    for (const task_index p : user.inputs) single = single && p == user.inputs.front();
    const bool straight = user.kind == task_kind::output || (single && leads[t] == end::straight);
    for (const task_index p : user.inputs) leads[p] = straight && leads[p] != end::other ? end::straight : end::other;
  }

  for (task_index t = 0; t < tasks.size(); ++t) {
    if (!tasks[t].collective) continue;
    const collective op = tasks[t].collective->op;
    if (op == collective::all_gather) {
      const bool gathers = ancestor[t] < many && may_be_parameter[ancestor[t]];
      tasks[t].is_fsdp = gathers;
      if (gathers) tasks[ancestor[t]].is_param = true;
    } else if (op == collective::reduce_scatter) {
      tasks[t].is_fsdp = leads[t] == end::straight;
    }
  }
}

}  // namespace v0
}  // namespace shardweave
