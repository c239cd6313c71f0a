#pragma once

#include <shardweave/placement/constraints.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// The usual plans of training, stated in one word: who holds parameters, and who computes what.

namespace shardweave::inline v0 {

/// What ranks that see different data, or different parts of a sequence, divide among them: the stages of ZeRO.
/// Source: S. Rajbhandari, J. Rasley, O. Ruwase, Y. He, ZeRO: Memory optimizations toward training trillion parameter
/// models, SC 2020 (arXiv 1910.02054).
enum class zero_stage : std::uint8_t {
  none,        ///< everything is whole on each; gradients are all-reduced
  optimizer,   ///< ZeRO-1: gradients are scattered once a step, each updates its part, parameters are gathered after it
  gradients,   ///< ZeRO-2: the same, but gradients of every micro-batch are scattered, and each keeps its part of them
  parameters,  ///< parameters, gradients and optimizer state are shared out; parameters are gathered for each use
};

/// Degrees of parallelism. The mesh has a dimension for each that is more than one, in this order: replicas, shards /
/// experts, experts, context, tensor; neighbours in the last one are neighbours on a node.
struct training_layout {
  std::int64_t replicas = 1;  ///< data parallelism: groups of `shards` ranks that see different data and hold the same
  std::int64_t shards = 1;    ///< sharded data parallelism: ranks that see different data and divide what `stage` says
  std::int64_t experts = 1;   ///< expert parallelism: ranks, of `shards`, that divide the experts of a mixture. Tokens
                              ///< go to the rank that holds their expert; without, each rank gathers all experts
  std::int64_t context = 1;   ///< context parallelism: ranks that divide each sequence, and what `stage` says. Each
                              ///< holds all keys and values of the sequence, as torchtitan and Megatron do
  bool rings = false;         ///< whether keys and values go round the ranks of a sequence (`block_ring`) instead
  std::int64_t tensor = 1;    ///< tensor parallelism: ranks that divide each layer, with sequence parallelism between
                              ///< the products
  zero_stage stage = zero_stage::parameters;

  /// Reads "fsdp=8,tp=8", "dp=8", "zero1=8,tp=4", "zero2=8", "hsdp=4x8" (4 replicas of 8 shards), "cp=2",
  /// "ring=2" (context parallelism in rings), "fsdp=16,ep=8" (8 of the 16 share out the experts): words of any order,
  /// each once.
  /// \throws error (input) naming the word that is none, or an `ep` that does not divide the shards, or shares out what
  ///         ZeRO-1 and 2 update in parts
  [[nodiscard]] static training_layout parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;

  /// Ranks that see different data.
  [[nodiscard]] std::int64_t data_ranks() const { return replicas * shards; }
  /// Ranks that share out what `stage` says.
  [[nodiscard]] std::int64_t sharers() const { return shards * context; }
  /// Whether each updates a part of the parameters that it computes with, all of which are gathered after that.
  [[nodiscard]] bool updates_parts() const { return stage == zero_stage::optimizer || stage == zero_stage::gradients; }
  /// Whether gradients of several micro-batches are added up where they are made, and reduced once a step: data
  /// parallelism without sharing, and ZeRO-1.
  [[nodiscard]] bool reduces_once() const { return stage == zero_stage::none || stage == zero_stage::optimizer; }
  [[nodiscard]] std::int64_t size() const { return data_ranks() * context * tensor; }
  /// \throws error if an extent is not positive
  [[nodiscard]] device_mesh mesh() const;

  friend bool operator==(const training_layout&, const training_layout&) = default;
};

/// `standard_rules`, and what a layout needs beyond them: context parallelism cuts attention by positions, in rings
/// where it says so, and the gradient of a loss whose words are cut is cut likewise.
///
/// \param causal  share of attention's products that is computed: a half where kernels skip what the mask hides
[[nodiscard]] rule_table layout_rules(const training_layout& layout, double causal = 1);

/// What such a plan says of the operations of `llama_training_graph` and `deepseek_training_graph`: where parameters
/// and gradients lie, that tokens are cut by sequences of the batch, and, with tensor parallelism, that wq, wk, wv, w1,
/// w3 and the output are cut by columns, wo, w2 by rows, the embedding by words, attention by heads, and what is
/// between products by positions, as torchtitan and Megatron do. Of latent attention wq_b and wkv_b are cut by columns,
/// and the latent values lie as between products. Experts are cut like the feed-forward that each is, and lie by
/// experts where these are shared out: their slots are cut by sequences where they are made and added up, and by
/// experts between. With context parallelism values are cut by positions, also in attention, whose rule must allow it
/// (`layout_rules`). All else is left to the solver, for which little is left to decide.
/// \param gathers_f8  parameters that are computed with in 8 bits are gathered in 8 bits, if that is sooner: else they
///                    are converted where they are whole
/// \pre the model's mesh is that of the layout
/// \throws error (constraint) naming a parameter that cannot lie so; (input) if experts are shared out of a model
///         without any
/// Complexity: linear in the strategies
[[nodiscard]] constraint_set layout_constraints(const spmd_cost_model& model, const training_layout& layout,
                                                bool gathers_f8 = false);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/models/impl/layout_constraints.hpp>
#include <shardweave/models/impl/training_layout.hpp>
#endif
