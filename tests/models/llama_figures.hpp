#pragma once

#include <shardweave/models/llama_config.hpp>

/// Figures of a tiny model.
namespace llama_figures {

namespace sw = shardweave;

inline sw::llama_config tiny(bool tied) {
  return {.name = "tiny",
          .hidden_size = 8,
          .num_hidden_layers = 2,
          .num_attention_heads = 2,
          .num_key_value_heads = 1,
          .intermediate_size = 12,
          .vocab_size = 11,
          .tie_word_embeddings = tied,
          .rope_theta = 100,
          .rms_norm_eps = 1e-3};
}

}  // namespace llama_figures
