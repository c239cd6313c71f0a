#pragma once

#include <shardweave/models/llama_config.hpp>
#include <shardweave/spmd/computation.hpp>

/// \file
/// The joint forward and backward graph of a LLaMA-family model, as mixed-precision training runs it.

namespace shardweave::inline v0 {

/// The joint graph of one training step: from tokens to logits, and from the gradient of the logits to those
/// of all parameters. Parameters are f32 and are cast to bf16 for computing; norms, rotations and silu compute in
/// f32. Attention is one causal operation with grouped keys. With the defaults of `llama_config` and `training_shape`
/// every layer is 255 vertices, all else 60, the vertex "output" among them.
///
/// Groups are the names of the weights (embedding, wq, wk, wv, wo, w1, w2, w3, attention_norm, ffn_norm, norm, output),
/// where heads are normed q_norm and k_norm, and rope, attention, silu, residual. The rotations exp(i t / theta^(2j/h))
/// are a constant [S, h/2]. Source: the LLaMA papers, arXiv:2302.13971 and arXiv:2407.21783.
/// \throws error if a figure of the model or the shape is not positive, or two do not fit
[[nodiscard]] computation llama_training_graph(const llama_config& config, training_shape shape);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/models/impl/llama.hpp>
#endif
