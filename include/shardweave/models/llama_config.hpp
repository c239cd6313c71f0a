#pragma once

#include <shardweave/models/detail/config_checks.hpp>

#include <cstdint>
#include <string>

/// \file
/// The figures of a LLaMA-family model, by their names in public configs.

namespace shardweave::inline v0 {

/// What a layer's feed-forward is: w2 (silu(w1 y) * (w3 y)), or without a gate w2 gelu(w1 y), or w2 relu(w1 y)^2.
enum class feed_forward_kind : std::uint8_t { gated_silu, gelu, squared_relu };

/// A decoder of equal layers: attention, then feed-forward, each on what a norm gives and added to what came in. The
/// defaults are LLaMA's; the fields after `rms_norm_eps` make its relatives of it (MPT, GPT-3, Nemotron, Qwen3).
struct llama_config {
  std::string name = "llama";
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t vocab_size = 0;
  bool tie_word_embeddings = false;  ///< the output weight is the embedding
  double rope_theta = 10000;
  double rms_norm_eps = 1e-6;
  std::int64_t head_dim = 0;  ///< width of a head; 0: hidden_size / num_attention_heads
  feed_forward_kind feed_forward = feed_forward_kind::gated_silu;
  bool rotary = true;         ///< queries and keys are rotated by position; without, positions cost nothing
  bool normed_heads = false;  ///< queries and keys are normed head by head before that, by two weights of a layer

  [[nodiscard]] std::int64_t head_size() const { return head_dim > 0 ? head_dim : hidden_size / num_attention_heads; }
  [[nodiscard]] bool is_gated() const { return feed_forward == feed_forward_kind::gated_silu; }

  /// Number of weights: attention, feed-forward and norms of every layer, final norm, embedding, output.
  [[nodiscard]] std::int64_t parameter_count() const { return weights<std::int64_t>(); }

  /// What is wrong: the field that is not positive or beyond any model, or two that do not fit. Empty if nothing is.
  [[nodiscard]] std::string problem() const {
    std::string wrong = detail::first_not_positive<std::int64_t>({{"hidden_size", hidden_size},
                                                                  {"num_hidden_layers", num_hidden_layers},
                                                                  {"num_attention_heads", num_attention_heads},
                                                                  {"num_key_value_heads", num_key_value_heads},
                                                                  {"intermediate_size", intermediate_size},
                                                                  {"vocab_size", vocab_size}});
    if (!wrong.empty()) return wrong;
    if (head_dim < 0) return detail::wrong_field("head_dim", head_dim, "0 or a positive number");
    if (wrong = detail::beyond_counts("head_dim", head_dim); !wrong.empty()) return wrong;
    if (head_dim > 0 && rotary && head_dim % 2 != 0) return detail::wrong_field("head_dim", head_dim, "an even number");
    if (head_dim == 0 && hidden_size % ((rotary ? 2 : 1) * num_attention_heads) != 0)
      return detail::wrong_field(
          "hidden_size", hidden_size,
          rotary ? "a multiple of twice num_attention_heads (" + std::to_string(2 * num_attention_heads) + ")"
                 : "a multiple of num_attention_heads (" + std::to_string(num_attention_heads) + ")");
    if (num_attention_heads % num_key_value_heads != 0)
      return detail::wrong_field("num_attention_heads", num_attention_heads,
                                 "a multiple of num_key_value_heads (" + std::to_string(num_key_value_heads) + ")");
    wrong = detail::first_not_positive<double>({{"rope_theta", rope_theta}});
    if (wrong.empty()) wrong = detail::first_negative<double>({{"rms_norm_eps", rms_norm_eps}});
    return wrong.empty() ? detail::too_many_weights(weights<double>()) : wrong;
  }

 private:
  template <class Number>
  [[nodiscard]] Number weights() const {
    const auto n = [](std::int64_t count) { return static_cast<Number>(count); };
    const Number d = n(hidden_size);
    const Number attention = 2 * d * n(num_attention_heads + num_key_value_heads) * n(head_size());
    const Number norms = 2 * d + (normed_heads ? 2 * n(head_size()) : 0);
    return n(num_hidden_layers) * (attention + n(is_gated() ? 3 : 2) * d * n(intermediate_size) + norms) + d +
           n(tie_word_embeddings ? 1 : 2) * n(vocab_size) * d;
  }
};

/// Where a training graph ends.
enum class training_loss : std::uint8_t {
  logits,   ///< the logits are the result, and their gradient comes in
  fused,    ///< cross entropy of the logits as they are, one kernel each way
  float32,  ///< of a copy in f32, whose logarithms and gradients are tensors of their own: eager frameworks
  sharded   ///< in f32 too, where logits may be cut by words: a row's largest and sum come from its pieces
};

/// What attention is made of.
enum class attention_form : std::uint8_t {
  fused,  ///< one kernel each way, which keeps the scores to itself
  plain   ///< two products, and between them the scores of all pairs as tensors, those that the mask hides included
};

/// One step of training: sequences in the batch (over all devices) and tokens per sequence.
struct training_shape {
  std::int64_t batch = 1;
  std::int64_t sequence = 1;
  training_loss loss = training_loss::logits;
  attention_form attention = attention_form::fused;
  /// The loss is computed in so many chunks of each sequence, gradients right after it, so that there are logits of one
  /// chunk at a time; the output weight's gradient is added up over them.
  std::int64_t loss_chunks = 1;
};

}  // namespace shardweave::inline v0
