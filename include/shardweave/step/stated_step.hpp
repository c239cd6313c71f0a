#pragma once

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
/// A training step as its user states it, and how a framework runs it.

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
      false;                    ///< parameters of the last layer, and those outside of layers, are not gathered again
  bool gradients_stay = false;  ///< their memory is reserved for them, as with a caching allocator
  bool reduces_in_f32 = true;   ///< gradients are cast to f32 before they are reduced
  /// Gathers after the update of parameters run beside the next forward part, which hides as much of them as a third of
  /// a micro-batch takes.
  bool hides_gathering = false;
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

}  // namespace shardweave::inline v0
