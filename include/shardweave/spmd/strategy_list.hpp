#pragma once

#include <shardweave/cost/device.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/spmd/block_ring.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// \file
/// The strategies of operations, shared by operations that have the same.

namespace shardweave::inline v0 {

/// The strategies of an operation with one result or argument in view: which of them place it alike.
struct sharding_classes {
  std::vector<sharding> distinct;  ///< in the order in which strategies first have them
  std::vector<std::uint32_t> of;   ///< per strategy: index into `distinct`
};

/// Strategies shared by all operations that have the same operator, tensors and choices of arguments.
struct strategy_list {
  std::vector<mesh_strategy> strategies;
  std::vector<double> compute_us;         ///< per strategy, on one device
  std::vector<sharding_classes> outputs;  ///< per element of the result
  std::vector<sharding_classes> inputs;   ///< per tensor argument
  std::vector<std::optional<block_ring>> rings =
      {};  ///< per strategy, of those that are done in blocks; empty: none is

  [[nodiscard]] std::size_t size() const { return strategies.size(); }
  /// The blocks in which a strategy is done; null if it is done at once.
  [[nodiscard]] const block_ring* ring(strategy s) const { return s < rings.size() && rings[s] ? &*rings[s] : nullptr; }
};

/// Their names: "S(0)R,RR->S(0)R", arguments, then results; results of a tuple in brackets.
[[nodiscard]] label_list label_strategies(const strategy_list& list);

/// Arithmetic that a matrix product of this element type runs on.
[[nodiscard]] constexpr arithmetic arithmetic_of(dtype type) {
  switch (type) {
    case dtype::f64:
      return arithmetic::f64;
    case dtype::f32:
    case dtype::c64:
      return arithmetic::f32;
    case dtype::bf16:
    case dtype::f16:
      return arithmetic::f16;
    case dtype::i64:
    case dtype::i32:
    case dtype::u8:
    case dtype::boolean:
      return arithmetic::i8;
    case dtype::f8e4m3:
    case dtype::f8e5m2:
      return arithmetic::f8;
  }
  return arithmetic::f32;
}

/// What an operation does on one device: what its operator counts; unless that says otherwise, every argument is read
/// and every result written once.
[[nodiscard]] inline device_work work_of_operation(const operator_cost& cost, const operation_view& view) {
  device_work work;
  if (cost.moved)
    work.moved = cost.moved(view);
  else
    for (const auto tensors : {view.inputs, view.outputs})
      for (const tensor& t : tensors) work.moved += t.size();
  if (!view.inputs.empty()) work.kind = arithmetic_of(view.inputs.front().type);
  if (cost.flops) work.flops = cost.flops(view);
  return work;
}

/// Strategies of all operations of a computation; operation v has list `list_of[v]`.
struct strategy_space {
  std::vector<std::unique_ptr<const strategy_list>> lists;
  std::vector<std::uint32_t> list_of;

  [[nodiscard]] const strategy_list& of(std::size_t v) const { return *lists[list_of[v]]; }
};

/// Which element of a producer's result an argument of `consumer` takes: a getitem names it, any other
/// operation takes the first.
[[nodiscard]] inline std::size_t element_taken(const operation& consumer, const operation& producer) {
  const auto index = static_cast<std::size_t>(consumer.with.index);
  return consumer.op == "getitem" && index < producer.outputs.size() ? index : 0;
}

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/strategy_list.hpp>
#endif
