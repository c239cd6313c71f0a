#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/strategy_list.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace shardweave::inline v0::detail {

/// The tensor that an operation takes as its a-th argument.
[[nodiscard]] inline const tensor& argument_of(const computation& graph, const operation& op, std::size_t a) {
  const operation& producer = graph.operations[op.inputs[a]];
  if (producer.outputs.empty())
    refuse(error_category::input, "operation '" + op.name + "' uses '" + producer.name + "', which has no result");
  return producer.outputs[element_taken(op, producer)];
}

/// Everything that an operation does by itself: equal text for equal operators, attributes and tensors.
[[nodiscard]] inline std::string operation_content(const computation& graph, const operation& op) {
  std::string key = op.op;
  const auto append = [&key](std::int64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const auto append_tensor = [&](const tensor& t) {
    append(static_cast<std::int64_t>(t.rank()));
    for (const std::int64_t extent : t.shape) append(extent);
    append(static_cast<std::int64_t>(t.type) * 2 + (t.contiguous ? 1 : 0));
  };
  key += '|';
  key += op.with.equation;
  key += '|';
  append(op.with.index);
  append(op.with.keep_dims ? 1 : 0);
  append(std::bit_cast<std::int64_t>(op.with.scalar));
  append(static_cast<std::int64_t>(op.with.dims.size()));
  for (const std::int64_t d : op.with.dims) append(d);
  append(static_cast<std::int64_t>(op.outputs.size()));
  for (const tensor& t : op.outputs) append_tensor(t);
  append(static_cast<std::int64_t>(op.inputs.size()));
  if (op.outputs.empty()) return key;  // what the graph returns is placed as it is
  for (std::size_t a = 0; a < op.inputs.size(); ++a) append_tensor(argument_of(graph, op, a));
  return key;
}

}  // namespace shardweave::inline v0::detail
