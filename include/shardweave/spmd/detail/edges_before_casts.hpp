#pragma once

#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/strategy_list.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <cstdint>
#include <vector>

namespace shardweave::inline v0::detail {

/// Marks, by index, the edges on the way from a parameter, through operations with one argument and values with one
/// user, to a cast that narrows it: moving the parameter there would move its wide form.
inline void mark_before_narrowing(const computation& graph, const compressed_graph& edges, std::vector<bool>& marked) {
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
    if (graph.operations[v].kind != role::parameter) continue;
    const tensor& stored = graph.operations[v].outputs.front();
    std::vector<std::uint32_t> way;
    for (std::uint32_t at = v; edges.out(at).size() == 1;) {
      const auto next = edges.out(at).front();
      const operation& user = graph.operations[next.target];
      if (user.inputs.size() != 1 || user.outputs.size() != 1) break;
      way.push_back(next.index);
      at = next.target;
      if (user.op != "cast") continue;
      if (element_size(user.outputs.front().type) < element_size(stored.type))
        for (const std::uint32_t e : way) marked[e] = true;
      break;
    }
  }
}

/// Marks, by index, the edges on the way from the last operation with several arguments to a cast that widens a
/// gradient: moving the gradient there would add it up in its narrow form.
inline void mark_before_widening(const computation& graph, const compressed_graph& edges, std::vector<bool>& marked) {
  for (const auto& [parameter, gradient] : graph.gradient_of) {
    bool before_cast = false;
    for (std::uint32_t at = gradient; edges.in(at).size() == 1;) {
      const auto last = edges.in(at).front();
      const tensor& wide = graph.operations[at].outputs.front();
      const tensor& narrow =
          graph.operations[last.source].outputs[element_taken(graph.operations[at], graph.operations[last.source])];
      const bool widens = graph.operations[at].op == "cast" && element_size(wide.type) > element_size(narrow.type);
      before_cast = before_cast || widens;
      if (before_cast) marked[last.index] = true;
      at = last.source;
    }
  }
}

}  // namespace shardweave::inline v0::detail
