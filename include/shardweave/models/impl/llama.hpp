#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/models/detail/llama_writer.hpp>
#include <shardweave/models/detail/transformer_writer.hpp>
#include <shardweave/models/llama.hpp>

/// \file
/// How the graph of a LLaMA model is written.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE computation llama_training_graph(const llama_config& config, training_shape shape) {
  detail::check_training(config, shape);
  return detail::llama_writer(config, shape).write();
}

}  // namespace shardweave::inline v0
