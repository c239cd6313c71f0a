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
/// Which tasks run once for all parts of a batch, or all micro-batches.

namespace shardweave::inline v0::detail {

/// Whether an operation is additive, up to rounding: its result for a sum is the sum of its results.
inline bool is_additive(const operation& op, const rule_table& rules) {
  return op.inputs.size() == 1 && op.kind == role::none && !op.outputs.empty() &&
         (op.op == "cast" || rules.of(op).cost.is_view);
}

/// By task: whether it runs for each part of a batch, or once.
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
