#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/optimizer_step.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// \file
/// A whole training step as tasks: micro-batches, then gradient norm, clipping, the optimizer, and gathers of the
/// updated parameters.

namespace shardweave::inline v0 {

/// What extends a forward and backward part to a whole step.
struct whole_step_options {
  /// If its `gathered_bytes` is 0, parameters that are updated in parts are gathered in their own type.
  optimizer_options optimizer = {};
  std::int64_t micro_batches = 1;  ///< number of forward and backward parts, whose gradients are accumulated
  /// Whether gradients are accumulated unreduced, and reduced with the last micro-batch: this communicates less, but
  /// each device holds unreduced gradients. Otherwise they are reduced in each micro-batch.
  bool reduces_once = false;
};

/// A step with its optimizer, and its tasks by tasks of the given graph.
struct whole_step {
  lowered_graph lowered = {};  ///< a task of the optimizer belongs to the operation of one of its parameters
  /// By micro-batch and task of the given graph: its task. Parameters and constants exist once; `no_index`: the task
  /// runs in the last micro-batch only.
  std::vector<std::vector<task_index>> copies = {};
  std::vector<task_index> added = {};  ///< new tasks, in their order, without inputs
  optimizer_work work = {};            ///< times of the new tasks, by purpose
  bytes state{};                       ///< of the optimizer, live from the start

  /// The order and the buckets of the given graph, repeated for each micro-batch, with each sum of gradients just after
  /// the gradient that it adds; then the optimizer. Valid if the given order is.
  [[nodiscard]] schedule order(const schedule& part) const;
};

/// Makes the training step of a graph that is its forward and backward part.
///
/// The optimizer starts after all gradients are reduced (the norm is a barrier: a number that depends on all of them,
/// reduced over every mesh dimension that shards gradients), so a step takes at least the time of its part plus that of
/// the optimizer's tasks in sequence. These are, layer by layer: the norm of its gradients, their scaling, the update
/// of its parameters in place, which frees the gradients; then, per mesh dimension, one gather of all parameters that
/// were updated in parts. With several micro-batches the whole part is repeated, and from the second one on each
/// gradient is added to the sum, in place. With `reduces_once` the sum is of the last value before the transfers and
/// copies that make a gradient of it, and these run in the last micro-batch only. Results other than gradients (the
/// loss) are those of the last micro-batch. Times are those of `work_of_optimizer`, divided by numbers of elements; the
/// time of accumulating unreduced values follows from their bytes.
///
/// \param lowered  of the model, with or without recomputation
/// \param chosen   one strategy per operation
/// \throws error (input) if there is no micro-batch, or no parameter has a gradient
/// Complexity: O(micro-batches * (V + E))
[[nodiscard]] whole_step with_optimizer(const lowered_graph& lowered, const spmd_cost_model& model,
                                        std::span<const strategy> chosen, const whole_step_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/whole_step.hpp>
#endif
