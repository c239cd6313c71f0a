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
/// What a training step takes by a given plan, without searching for one.

namespace shardweave::inline v0 {

/// How a framework runs what a plan says.
struct framework_profile {
  std::string name = {};
  bool compiles = true;  ///< element-wise work is fused across operators (`with_fused_kernels`)
  /// Without a compiler: parts of the model whose element-wise work is one kernel all the same, by group of operations,
  /// for example "attention_norm"; each side of a phase for itself.
  std::vector<std::string> fused_parts = {"silu", "activation", "attention_norm", "ffn_norm", "norm", "loss"};
  std::vector<std::string> eager_parts = {};  ///< with a compiler: parts that it is not given
  training_loss loss = training_loss::fused;
  attention_form attention_by = attention_form::fused;
  std::uint32_t layers_gathered_together = 1;  ///< the parameters of so many neighbours, and their gradients
  bool keeps_last_gathered = false;  ///< parameters of the last layer, and of no layer, are not gathered again
  bool gradients_stay = false;       ///< their memory is not used for anything else, as a caching allocator has it
  bool reduces_in_f32 = true;        ///< gradients are cast to f32 before they are reduced
  bool hides_gathering = false;      ///< what is gathered after a step is gathered beside the next forward part
  /// Whether gradients are reduced with each micro-batch, or added up where they are made and reduced once a step, with
  /// the last one; nothing: as the layout has it (`training_layout::reduces_once`). Of ZeRO-2 they are reduced each
  /// time, as each device keeps its part of them alone.
  std::optional<bool> reduces_each_micro_batch = std::nullopt;
  optimizer_options optimizer = {};
  /// Shares of the peak rate that its attention kernels reach, where they are not those of the device's profile.
  std::optional<saturation> attention = std::nullopt, attention_backward = std::nullopt;
  /// Collectives of tensor parallelism run in pieces beside the pieces of the product before or after them: what is
  /// seen of them is one piece of as many as there are ranks.
  bool pipelines_tensor_collectives = false;
  /// Times as long as alone that computation takes, whatever runs beside it: what no other part explains.
  double slowdown = 1;
  double reserved = 1;  ///< times what is live: what its allocator takes of the device
  launch_costs launches = {};
  uniform_interference interference = {.compute = {}, .collective = 1};
};

/// A training step as its user states it.
struct stated_step {
  llama_config model = {};
  std::int64_t sequence = 1;       ///< tokens
  std::int64_t micro_batch = 1;    ///< sequences that each of `layout.data_ranks()` sees at a time
  std::int64_t micro_batches = 1;  ///< of them in a step
  training_layout layout = {};
  recompute_rule recompute = recompute_rule::none;
  /// Instead of a rule: a layer keeps the products of these groups of operations, and all else is made again.
  std::optional<std::vector<std::string>> kept_products = std::nullopt;
  std::uint32_t recompute_every = 1;            ///< of so many layers, at least 1, it applies to the last
  std::optional<f8_options> f8 = std::nullopt;  ///< products of layers run in 8-bit floating point, so converted
  bool gathers_f8 = false;                      ///< parameters are converted before they are gathered
  /// Shared parameters are gathered again for the backward part; else what was gathered for the forward part stays
  /// until then: FSDP's SHARD_GRAD_OP, which is ZeRO-2 whose parameters are shared out between micro-batches.
  bool gathers_again = true;
  framework_profile framework = {};
};

/// What a step takes, and what one device holds.
struct predicted_step {
  nanoseconds micro_batch;  ///< one that is not the last
  nanoseconds last;         ///< the last one, with what is reduced once a step
  optimizer_work optimizer;
  nanoseconds step;     ///< all of it
  nanoseconds exposed;  ///< of the last micro-batch: communication that nothing hides
  nanoseconds starved;  ///< of the last micro-batch: waiting for the host
  bytes peak;           ///< parameters, activations and gradients that do not stay, where most is live
  bytes state;          ///< of the optimizer
  bytes gradients;  ///< that stay from one micro-batch or step to the next: whole where they are reduced once a step
  bytes memory;     ///< all that is live where most is, and what the allocator takes beyond
};

/// Lowers the step by its layout, makes values again by its rule, fuses what the framework fuses, merges and orders
/// collectives as sharded data parallelism does (`module_plan`: a layer's gathers are launched one layer ahead), and
/// simulates it on a host that launches as stated. With shared parameters nothing that is made of them alone stays for
/// the backward part, unless the step says so: it is gathered again, once for what is made again and for gradients.
/// Parameters that are updated in parts (ZeRO-1 and 2) are gathered after the step, in 16 bits where the framework does
/// not tell. Equal layers are not simulated one by one: two depths tell what a layer adds, and the rest is a straight
/// line; of memory one line for what is live until the last layers' backward part ends, and one from where that of the
/// first layers begins.
/// \param compute      of the device
/// \param collectives  what communication costs
/// \param control      limits placing; after a stop nothing further is begun
/// \throws error (stopped) after a stop; if a number of the step is below 1, the model's figures do not fit, or the
/// layout cannot be placed or
///         shares out experts, which such models have none of
[[nodiscard]] predicted_step predict_step(const stated_step& stated, const compute_profile& compute,
                                          const any_collectives& collectives, const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/step/impl/predict_step.hpp>
#endif
