#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/lowering/optimizer_step.hpp>
#include <shardweave/step/stated_step.hpp>

/// \file
/// The time and memory of a training step under a given plan, without a search.

namespace shardweave::inline v0 {

/// Times of a step, and memory of one device.
struct predicted_step {
  nanoseconds micro_batch;  ///< any but the last one, without accumulation of its gradients
  nanoseconds last;         ///< the last one, with reductions that run once a step
  optimizer_work optimizer;
  /// (micro_batch + optimizer.accumulation) * (number of micro-batches - 1) + last + optimizer.all()
  nanoseconds step;
  nanoseconds exposed;  ///< in the last micro-batch: communication that nothing hides, its `timeline::tail` included
  nanoseconds starved;  ///< in the last micro-batch: waiting for the host's launches
  bytes peak;           ///< of parameters, activations and gradients that do not stay
  bytes state;          ///< of the optimizer
  /// That stay from one micro-batch or step to the next: unsharded where they are reduced once a step.
  bytes gradients;
  bytes memory;  ///< peak of all that is live, times `framework_profile::reserved`
};

/// Lowers the step by its layout, recomputes by its rule, fuses what the framework fuses, merges and orders collectives
/// as fully sharded data parallelism does (`module_plan`: a layer's gathers are launched one layer ahead), and
/// simulates it on a host with the stated launch costs. With sharded parameters, values made of parameters alone are
/// not kept for the backward part, unless the step says so: they are gathered again, once for recomputation and
/// gradients together. Parameters that are updated in parts (ZeRO-1 and 2) are gathered after the step, in 16 bits
/// where the framework does not tell. Large models are extrapolated: two numbers of layers are simulated, and times and
/// memory are linear in the number of layers; memory by two lines, one for the time until the backward part of the last
/// layers ends, one for that from the start of the first layers' on.
/// \param compute      of the device
/// \param collectives  what communication costs
/// \param control      limits the placement; after a stop no further stage is begun
/// \throws error (stopped) after a stop
/// \throws error if a number of the step is below 1, the model's figures do not fit, or the layout has no placement or
///         shards experts, which these models do not have
[[nodiscard]] predicted_step predict_step(const stated_step& stated, const compute_profile& compute,
                                          const any_collectives& collectives, const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/step/impl/predict_step.hpp>
#endif
