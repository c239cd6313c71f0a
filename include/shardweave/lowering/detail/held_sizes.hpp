#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Device memory of the values of a computation, by strategy.

namespace shardweave::inline v0::detail {

/// Bytes of a value on a device under a sharding; 0 if it is not on the device.
[[nodiscard]] inline double held_size(const spmd_cost_model& model, const tensor& value, const sharding& where) {
  return where.is_none() ? 0.0 : static_cast<double>(local_size(value, where, model.mesh()).count());
}

/// Bytes of a result on a device, by strategy.
[[nodiscard]] inline std::vector<double> sizes_by_strategy(const spmd_cost_model& model, std::uint32_t v,
                                                           std::size_t element) {
  std::vector<double> result;
  for (strategy s = 0; s < model.strategy_count(v); ++s) {
    const tensor& value = model.operations().operations[v].outputs[element];
    result.push_back(held_size(model, value, model.strategies(v).strategies[s].outputs[element]));
  }
  return result;
}

/// Bytes on a device of an argument in the sharding that the consumer requires, by strategy of the consumer.
[[nodiscard]] inline std::vector<double> sizes_taken(const spmd_cost_model& model, const spmd_cost_model::edge& e) {
  std::vector<double> result;
  for (strategy s = 0; s < model.strategy_count(e.target); ++s)
    result.push_back(held_size(model, model.value(e), model.taken(e, s)));
  return result;
}

/// Whether an operation computes a result, and is no input.
[[nodiscard]] inline bool is_made(const operation& op) { return op.kind == role::none && !op.outputs.empty(); }

/// Whether the result of an operation shares its argument's memory.
[[nodiscard]] inline bool is_view(const spmd_cost_model& model, const operation& op) {
  return is_made(op) && !op.inputs.empty() && model.rules().of(op).cost.is_view;
}

}  // namespace shardweave::inline v0::detail
