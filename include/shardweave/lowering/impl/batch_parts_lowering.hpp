#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/lowering/batch_parts_lowering.hpp>
#include <shardweave/lowering/detail/part_uses.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/tasks/batch_parts.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

/// \file
/// Definitions for batches in parts.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE lowered_graph with_batch_parts(const lowered_graph& part, const spmd_cost_model& model,
                                                 unsigned parts) {
  const task_graph& g = part.tasks;
  const auto sum_time = [&](bytes size) {  // two are read, one is written
    return from_microseconds(model.compute().memory_time(bytes(3 * size.count())));
  };
  graph_of_parts made = with_batch_parts(g, detail::uses_of_parts(part, model), parts, sum_time);
  lowered_graph result;
  for (const task_index from : made.original) result.origin.push_back(part.origin[from]);
  std::vector<task_index> now = made.copies.front();
  for (const task_index sum : made.sums) now[made.original[sum]] = sum;
  for (const task_index t : part.task_of) result.task_of.push_back(now[t]);
  result.tasks = std::move(made.tasks);
  return result;
}

SHARDWEAVE_INLINE batch_parts_work::batch_parts_work(const spmd_cost_model& model, lowered_work part, unsigned parts)
    : part_(std::move(part)), parts_(parts), counted_(parts) {
  const computation& graph = model.operations();
  for (const operation& op : graph.operations) {
    bool is_of_part = op.kind == role::input || op.kind == role::tangent;
    for (const std::uint32_t p : op.inputs) is_of_part = is_of_part || of_part_[p];
    of_part_.push_back(is_of_part);
    takes_sums_.push_back(op.outputs.empty());
  }
  std::vector<bool> gives_to_sums(graph.operations.size());
  for (const auto& [parameter, gradient] : graph.gradient_of) gives_to_sums[gradient] = true;
  for (std::size_t v = graph.operations.size(); v-- > 0;) {
    bool all = gives_to_sums[v];
    for (const auto& e : model.graph().out(static_cast<std::uint32_t>(v))) {
      if (graph.operations[e.target].outputs.empty()) continue;
      all = takes_sums_[e.target];
      if (!all) break;
    }
    const operation& op = graph.operations[v];
    if (all && op.when == phase::backward && detail::is_additive(op, model.rules())) takes_sums_[v] = true;
  }
}

}  // namespace shardweave::inline v0
