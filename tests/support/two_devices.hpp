#pragma once

#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <utility>

namespace shardweave_test {

/// The costs of a computation on two H100.
inline shardweave::spmd_cost_model on_two_devices(shardweave::computation c) {
  const auto device = shardweave::find_device("h100");
  return shardweave::spmd_cost_model(std::move(c), shardweave::device_mesh({2}), shardweave::roofline{device},
                                     shardweave::alpha_beta(device));
}

}  // namespace shardweave_test
