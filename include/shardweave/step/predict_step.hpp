#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/saturation.hpp>
#include <shardweave/lowering/optimizer_step.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/models/f8_products.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/simulate/machine.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// The time and memory of a training step under a given plan, without a search.

namespace shardweave::inline v0 {

/// How a framework runs a plan.
struct framework_profile {
  std::string name = {};
  bool compiles = true;  ///< element-wise work is fused across operators (`with_fused_kernels`)
  /// Without a compiler: groups of operations whose element-wise work is one kernel nevertheless, for example
  /// "attention_norm"; one kernel each for the forward and the backward part.
  std::vector<std::string> fused_parts = {"silu", "activation", "attention_norm", "ffn_norm", "norm", "loss"};
  std::vector<std::string> eager_parts = {};  ///< with a compiler: groups that run without it
  training_loss loss = training_loss::fused;
  attention_form attention_by = attention_form::fused;
  /// Number of neighbouring layers whose parameters are gathered at once, and their gradients reduced.
  std::uint32_t layers_gathered_together = 1;
  bool keeps_last_gathered =
      false;                     ///< parameters of the last layer, and those outside of layers, are not gathered again
  bool gradients_stay = false;   ///< their memory is reserved for them, as with a caching allocator
  bool reduces_in_f32 = true;    ///< gradients are cast to f32 before they are reduced
  bool hides_gathering = false;  ///< gathers after the update of parameters run beside the next forward part
  /// Whether gradients are reduced in each micro-batch, or accumulated where they are made and reduced in the last one;
  /// nothing: as the layout has it (`training_layout::reduces_once`). With ZeRO-2 they are always reduced in each,
  /// since a device keeps only its part of them.
  std::optional<bool> reduces_each_micro_batch = std::nullopt;
  optimizer_options optimizer = {};
  /// Shares of the peak rate that its attention kernels reach, where they are not those of the device's profile.
  std::optional<saturation> attention = std::nullopt, attention_backward = std::nullopt;
  /// Collectives of tensor parallelism run in pieces beside pieces of the product before or after them: one piece is
  /// exposed, of as many as there are ranks.
  bool pipelines_tensor_collectives = false;
  /// Factor on the time of computation, beside whatever runs: what no other field explains.
  double slowdown = 1;
  double reserved = 1;  ///< factor on live memory: what the allocator takes of the device
  launch_costs launches = {};
  uniform_interference interference = {.compute = {}, .collective = 1};
};

/// A training step as its user states it.
struct stated_step {
  llama_config model = {};
  std::int64_t sequence = 1;       ///< tokens
  std::int64_t micro_batch = 1;    ///< sequences per micro-batch of each of `layout.data_ranks()`
  std::int64_t micro_batches = 1;  ///< in a step
  training_layout layout = {};
  recompute_rule recompute = recompute_rule::none;
  /// Instead of a rule: layers keep the products of these groups of operations, and recompute all else.
  std::optional<std::vector<std::string>> kept_products = std::nullopt;
  std::uint32_t recompute_every = 1;            ///< the rule applies to the last of so many layers, at least 1
  std::optional<f8_options> f8 = std::nullopt;  ///< products of layers run in 8-bit floating point, converted like this
  bool gathers_f8 = false;                      ///< parameters are converted before they are gathered
  /// Whether sharded parameters are gathered again for the backward part. Otherwise they stay gathered until then:
  /// SHARD_GRAD_OP of FSDP, which is ZeRO-2 with parameters sharded between micro-batches.
  bool gathers_again = true;
  framework_profile framework = {};
};

/// Times of a step, and memory of one device.
struct predicted_step {
  nanoseconds micro_batch;  ///< any but the last one
  nanoseconds last;         ///< the last one, with reductions that run once a step
  optimizer_work optimizer;
  nanoseconds step;     ///< all of it
  nanoseconds exposed;  ///< in the last micro-batch: communication that nothing hides
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
