#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/overlap/eligibility.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/hideable_edges.hpp>

#include <cstdint>

/// \file
/// Which communication of a training step may hide.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<hideable_edge> hideable_edges(const spmd_cost_model& model) {
  const compressed_graph& g = model.graph();
  const auto& operations = model.operations().operations;
  const auto derived = derived_from(g, [&](std::uint32_t v) { return operations[v].kind == role::parameter; });
  const auto feeding = feeding_only(
      g, [&](std::uint32_t v) { return operations[v].outputs.empty(); },
      [&](std::uint32_t v) { return g.in(v).size() == 1; });
  const std::vector<hiding> ways = hiding_of_edges(g, derived, feeding);
  std::vector<hideable_edge> result;
  for (std::uint32_t e = 0; e < ways.size(); ++e)
    if (ways[e] != hiding::none) result.push_back({.edge = e, .direction = ways[e]});
  return result;
}

}  // namespace shardweave::inline v0
