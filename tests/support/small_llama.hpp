#pragma once

#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/spmd/computation.hpp>

namespace shardweave_test {

/// The training graph of a model of one layer, as small as models come: for tests that plan it hundreds of times.
inline shardweave::computation small_llama() {
  return shardweave::llama_training_graph({.name = "one layer",
                                           .hidden_size = 64,
                                           .num_hidden_layers = 1,
                                           .num_attention_heads = 4,
                                           .num_key_value_heads = 2,
                                           .intermediate_size = 128,
                                           .vocab_size = 256},
                                          {.batch = 4, .sequence = 64});
}

}  // namespace shardweave_test
