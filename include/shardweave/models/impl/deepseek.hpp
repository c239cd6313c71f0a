#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/detail/deepseek_writer.hpp>
#include <shardweave/models/detail/transformer_writer.hpp>

/// \file
/// How the graph of a DeepSeek model is written.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE computation deepseek_training_graph(const deepseek_config& config, training_shape shape) {
  detail::check_training(config, shape);
  return detail::deepseek_writer(config, shape).write();
}

}  // namespace shardweave::inline v0
