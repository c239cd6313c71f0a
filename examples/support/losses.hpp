#pragma once

#include <shardweave/models/llama_config.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Where the graph of a training step may end.

namespace programs {

struct named_loss {
  std::string name;
  std::string about;
  shardweave::training_loss loss;
  std::int64_t chunks = 1;  ///< unless another number is asked for
};

[[nodiscard]] inline std::vector<named_loss> losses() {
  using enum shardweave::training_loss;
  return {
      {"logits", "with the logits: no loss is computed, their gradient comes in", logits},
      {"fused", "with the cross entropy of the logits as they are, one kernel each way", fused},
      {"float32", "with that of a copy in f32, whose logarithms and gradients are tensors: eager frameworks", float32},
      {"sharded", "in f32, where logits may be cut by words: no device has all words of a token", sharded},
      {"chunked", "as float32, of 8 chunks of each sequence one after the other, gradients included; see --loss-chunks",
       float32, 8}};
}

}  // namespace programs
