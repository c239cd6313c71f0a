#pragma once

#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Collects the tasks of a whole step.

namespace shardweave::inline v0::detail {

/// The tasks of a whole step as they are added.
struct step_tasks {
  task_graph_builder builder;
  std::vector<task_origin> origin;  ///< by task
  std::vector<task_index> added;    ///< new tasks, which are no copies of the given graph's, without inputs

  task_index add(task_record r, task_origin from) {
    origin.push_back(from);
    return builder.add_task(std::move(r));
  }
  task_index add_new(task_record r, std::uint32_t operation) {
    const bool is_input = r.kind == task_kind::input;
    const task_index t = add(std::move(r), {.operation = operation});
    if (!is_input) added.push_back(t);
    return t;
  }
};

}  // namespace shardweave::inline v0::detail
