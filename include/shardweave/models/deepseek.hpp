#pragma once

#include <shardweave/models/deepseek_config.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/spmd/computation.hpp>

/// \file
/// The joint forward and backward graph of a DeepSeek-style model, as mixed-precision training runs it.

namespace shardweave::inline v0 {

/// The joint graph of one training step, in the manner of `llama_training_graph`.
///
/// Experts are open to placement: a token's slots, [expert, sequence, place, width], are made by "moe_dispatch" and
/// added up by "moe_combine"; cut by sequences on one side and by experts on the other, they meet in an all-to-all.
/// Every sequence is a group of its own, and an expert that is full drops what comes later (`capacity_factor`). The
/// router works in f32; the bias that steers the choice under sigmoid scores is a constant "balance". With several
/// groups of experts a token's best groups are chosen first, and scores of all others count as 0.
///
/// Modules that predict further tokens (`num_nextn_predict_layers`) are layers of the kind "further", after the others:
/// module k joins what the layer before it gave with the embedding of input "tokens.k", the tokens k places further on,
/// and its logits are a result of their own, through a norm of its own and the output weight of the model.
///
/// Layers with and without experts are of the kinds "layers" and "dense". Groups are those of `llama_training_graph`,
/// and wq_a, q_norm, wq_b, wkv_a, kv_norm, wkv_b, router, dispatch, experts.w1 to w3, shared.w1 to w3; of modules
/// state_norm, token_norm, join. Source: DeepSeek-V3 Technical Report, arXiv:2412.19437.
/// \throws error if a figure of the model or the shape is not positive, or two do not fit
[[nodiscard]] computation deepseek_training_graph(const deepseek_config& config, training_shape shape);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/models/impl/deepseek.hpp>
#endif
