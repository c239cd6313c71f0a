#pragma once

#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/tasks/batch_parts.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <vector>

/// \file
/// What of a lowered step is done once where its batch comes in parts, or in micro-batches.

namespace shardweave::inline v0::detail {

/// Whether an operation gives of a sum of arguments the sum of its results, but for rounding.
inline bool is_additive(const operation& op, const rule_table& rules) {
  return op.inputs.size() == 1 && op.kind == role::none && !op.outputs.empty() &&
         (op.op == "cast" || rules.of(op).cost.is_view);
}

/// By task: whether it is done once where the batch comes in parts.
inline std::vector<part_use> uses_of_parts(const lowered_graph& part, const spmd_cost_model& model) {
  const task_graph& g = part.tasks;
  std::vector<char> of_batch(g.size()), additive(g.size());
  for (task_index t = 0; t < g.size(); ++t) {
    const operation& op = model.operations().operations[part.origin[t].operation];
    of_batch[t] = op.kind == role::input || op.kind == role::tangent ? 1 : 0;
    additive[t] = part.origin[t].is_redistribution() || is_additive(op, model.rules()) ? 1 : 0;
  }
  return shardweave::uses_of_parts(g, of_batch, additive);
}

}  // namespace shardweave::inline v0::detail
