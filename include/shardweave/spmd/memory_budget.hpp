#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// The memory of a device as a limit on a placement: parameters, their optimizer state, and what is computed while it
/// is needed.

namespace shardweave::inline v0 {

/// What counts beside parameters, inputs and constants, which a device always holds.
struct memory_options {
  /// Bytes of optimizer state for every element of a parameter; it lies as its parameter does. Adam keeps two moments
  /// in f32, that is 8, and 12 with a copy in f32 of parameters that are stored in a narrower type.
  double state_per_element = 8;
  /// Results of operations count from the operation to the last one that uses them.
  bool results = true;
};

/// When the result of an operation is held, element by element, in positions of the computation's order: from the
/// operation itself until after the last one that uses it, or to the end if the computation returns it. A view takes
/// over what it shows: it holds it from then on, and its argument only if another operation uses that later. Likewise
/// an element of a tuple is held by the "getitem" that takes it.
///
/// \param is_view  says of an operation whether it only describes its argument anew
/// Complexity: O(operations + arguments)
template <class IsView>
[[nodiscard]] std::vector<std::vector<live_interval>> live_results(const computation& graph, IsView&& is_view) {
  std::vector<std::vector<live_interval>> live(graph.operations.size());
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
    const operation& op = graph.operations[v];
    live[v].assign(op.outputs.size(), {v, v + 1});
    for (std::size_t a = 0; a < op.inputs.size(); ++a) {
      const std::uint32_t input = op.inputs[a];
      const bool takes_over = a == 0 && is_view(op);
      std::int64_t& end = live[input][element_taken(op, graph.operations[input])].end;
      end = std::max<std::int64_t>(end, takes_over ? v : v + 1);
    }
  }
  const auto last = static_cast<std::int64_t>(graph.operations.size());
  for (const std::uint32_t v : graph.results)
    for (live_interval& each : live[v]) each.end = last;
  return live;
}

/// What a device holds at any position of the computation's order, at most so many bytes. Copies that a redistribution
/// makes for one operation are not counted, nor are buffers of collectives; `simulate` tells all, for one plan.
///
/// \throws error (input) if the bytes per element are negative or not a number
/// Complexity: linear in the strategies of all operations
[[nodiscard]] budget memory_budget(const spmd_cost_model& model, bytes most, const memory_options& options = {},
                                   std::string why = "device memory");

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/memory_budget.hpp>
#endif
