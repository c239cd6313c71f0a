#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The memory of a device as a limit on a placement: parameters, their optimizer state, and what is computed while it
/// is needed.

namespace shardweave {
inline namespace v0 {

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
[[nodiscard]] inline budget memory_budget(const spmd_cost_model& model, bytes most, const memory_options& options = {},
                                          std::string why = "device memory") {
  if (!(options.state_per_element >= 0) || options.state_per_element == std::numeric_limits<double>::infinity())
    refuse(error_category::input, why + ": optimizer state takes " + std::to_string(options.state_per_element) +
                                      " bytes per element, expected a number that is not negative");
  budget limit{std::move(why), -std::numeric_limits<double>::infinity(), static_cast<double>(most.count()), {}};
  const auto& operations = model.operations().operations;
  const auto is_view = [&](const operation& op) {
    return !op.inputs.empty() && !op.outputs.empty() && model.rules().of(op).cost.is_view;
  };
  const auto live = options.results ? live_results(model.operations(), is_view)
                                    : std::vector<std::vector<live_interval>>(operations.size());
  for (std::uint32_t v = 0; v < operations.size(); ++v) {
    const operation& op = operations[v];
    const bool is_kept = op.kind == role::parameter || op.kind == role::input || op.kind == role::constant;
    if (!is_kept && !options.results) continue;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      budget_term term{v, {}, std::nullopt};
      if (!is_kept) term.live = live[v][k];
      const double size = static_cast<double>(element_size(op.outputs[k].type));
      const double with_state = size + (op.kind == role::parameter ? options.state_per_element : 0);
      const sharding_classes& lying = model.strategies(v).outputs[k];
      std::vector<double> held;  // per placement
      for (const sharding& where : lying.distinct)
        held.push_back(where.is_none() ? 0
                                       : static_cast<double>(local_size(op.outputs[k], where, model.mesh()).count()) /
                                             size * with_state);
      for (const std::uint32_t c : lying.of) term.usage.push_back(held[c]);
      limit.terms.push_back(std::move(term));
    }
  }
  return limit;
}

}  // namespace v0
}  // namespace shardweave
