#pragma once

#include <shardweave/models/llama_config.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace shardweave_test {

/// A model of the LLaMA-3 family, by the figures in which its members differ.
inline shardweave::llama_config published_llama(std::int64_t d, std::int64_t layers, std::int64_t heads, std::int64_t f,
                                                bool tied, std::string name = "llama3") {
  return {.name = std::move(name),
          .hidden_size = d,
          .num_hidden_layers = layers,
          .num_attention_heads = heads,
          .num_key_value_heads = 8,
          .intermediate_size = f,
          .vocab_size = 128256,
          .tie_word_embeddings = tied,
          .rope_theta = 500000,
          .rms_norm_eps = 1e-5};
}

}  // namespace shardweave_test
