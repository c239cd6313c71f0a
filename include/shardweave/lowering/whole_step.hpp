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
/// The whole of a training step as tasks: micro-batches, then gradient norm, clipping, the optimizer, and what is
/// gathered after it.

namespace shardweave::inline v0 {

/// What is added to forward and backward part to make a whole step.
struct whole_step_options {
  /// `gathered_bytes` 0: parameters that are updated in parts are gathered in their own type.
  optimizer_options optimizer = {};
  std::int64_t micro_batches = 1;  ///< forward and backward parts, whose gradients are added up
  /// Gradients are added up where they are made, before they are reduced, and reduced with the last micro-batch: less
  /// communication, and each device holds gradients as they are before that. Else they are reduced each time.
  bool reduces_once = false;
};

/// A step with its optimizer, and where the tasks of the given graph went.
struct whole_step {
  lowered_graph lowered = {};  ///< a task of the optimizer is of the operation of a parameter that it is for
  /// By micro-batch and task of the given graph: its task. Parameters and constants are there once; `no_index` is what
  /// is done with the last micro-batch alone.
  std::vector<std::vector<task_index>> copies = {};
  std::vector<task_index> added = {};  ///< tasks that the given graph does not have, in their order, without inputs
  optimizer_work work = {};            ///< what these tasks take, summed by what they are for
  bytes state{};                       ///< of the optimizer, alive from the start

  /// The order and the buckets of the given graph, micro-batch after micro-batch, each sum of gradients just after the
  /// gradient that is added, and then the optimizer. Valid if the given order is.
  [[nodiscard]] schedule order(const schedule& part) const;
};

/// Gives the training step that a graph is the forward and backward part of.
///
/// All gradients are reduced before anything of the optimizer begins (the norm is a barrier: one number of all of them,
/// reduced over every mesh dimension that shares gradients out), so that a step takes no less than its part and then
/// the optimizer's tasks one after the other. These are, layer by layer: the norm of its gradients, their scaling, the
/// update of its parameters in place, which frees the gradients; then, per mesh dimension, one gather of all parameters
/// that were updated in parts. With several micro-batches the whole part is repeated; from the second one on each
/// gradient is added to that of the first, in place, or, with `reduces_once`, what becomes a gradient by nothing but
/// transfers and copies, which then follow the last one alone. Results other than gradients (the loss) are those of the
/// last micro-batch. Times are those of `work_of_optimizer`, shared out by elements, and what is
/// added up before it is reduced takes what its own bytes take.
///
/// \param lowered  of the model, with or without values that are made again
/// \param chosen   one strategy per operation
/// \throws error (input) if there is no micro-batch, or no parameter has a gradient
/// Complexity: O(micro-batches * (V + E))
[[nodiscard]] whole_step with_optimizer(const lowered_graph& lowered, const spmd_cost_model& model,
                                        std::span<const strategy> chosen, const whole_step_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/whole_step.hpp>
#endif
