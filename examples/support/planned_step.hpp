#pragma once

#include <shardweave/cost/device.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/spmd/mesh.hpp>

#include <cstdint>
#include <string>

/// \file
/// What a training plan is asked for.

namespace programs {

/// A step of a model on a mesh of devices.
struct planned_step {
  std::string name;  ///< of the model
  std::int64_t parameters = 0;
  const shardweave::training_shape& shape;
  const shardweave::device_mesh& mesh;
  const shardweave::device_profile& device;

  [[nodiscard]] std::int64_t tokens() const { return shape.batch * shape.sequence; }
  /// Of one device.
  [[nodiscard]] std::int64_t tokens_per_second(const shardweave::timeline& line) const {
    const double seconds = static_cast<double>(line.end_to_end.count()) / 1e9;
    return static_cast<std::int64_t>(static_cast<double>(tokens()) / seconds / static_cast<double>(mesh.size()));
  }
};

}  // namespace programs
