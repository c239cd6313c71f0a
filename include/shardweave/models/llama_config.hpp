#pragma once

#include <shardweave/models/detail/config_checks.hpp>

#include <cstdint>
#include <string>

/// \file
/// The figures of a LLaMA-family model, by their names in public configs.

namespace shardweave {
inline namespace v0 {

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

  [[nodiscard]] std::int64_t head_size() const { return hidden_size / num_attention_heads; }

  /// Number of weights: attention, feed-forward and norms of every layer, final norm, embedding, output.
  [[nodiscard]] std::int64_t parameter_count() const {
    const std::int64_t d = hidden_size;
    const std::int64_t attention = 2 * d * d + 2 * d * num_key_value_heads * head_size();
    return num_hidden_layers * (attention + 3 * d * intermediate_size + 2 * d) + d +
           (tie_word_embeddings ? 1 : 2) * vocab_size * d;
  }

  /// What is wrong: the field that is not positive, or two that do not fit. Empty if nothing is.
  [[nodiscard]] std::string problem() const {
    std::string wrong = detail::first_not_positive<std::int64_t>({{"hidden_size", hidden_size},
                                                                  {"num_hidden_layers", num_hidden_layers},
                                                                  {"num_attention_heads", num_attention_heads},
                                                                  {"num_key_value_heads", num_key_value_heads},
                                                                  {"intermediate_size", intermediate_size},
                                                                  {"vocab_size", vocab_size}});
    if (!wrong.empty()) return wrong;
    if (hidden_size % (2 * num_attention_heads) != 0)
      return detail::wrong_field(
          "hidden_size", hidden_size,
          "a multiple of twice num_attention_heads (" + std::to_string(2 * num_attention_heads) + ")");
    if (num_attention_heads % num_key_value_heads != 0)
      return detail::wrong_field("num_attention_heads", num_attention_heads,
                                 "a multiple of num_key_value_heads (" + std::to_string(num_key_value_heads) + ")");
    wrong = detail::first_not_positive<double>({{"rope_theta", rope_theta}});
    return wrong.empty() ? detail::first_negative<double>({{"rms_norm_eps", rms_norm_eps}}) : wrong;
  }
};

/// One step of training: sequences in the batch (over all devices) and tokens per sequence.
struct training_shape {
  std::int64_t batch = 1;
  std::int64_t sequence = 1;
};

}  // namespace v0
}  // namespace shardweave
