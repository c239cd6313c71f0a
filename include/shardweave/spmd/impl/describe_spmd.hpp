#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/hideable_edges.hpp>

#include <cstdint>
#include <utility>

/// \file
/// A computation on a mesh as a problem as stated.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE placement_description<double> describe(const spmd_cost_model& model, constraint_set constraints,
                                                         const solve_control& control) {
  placement_description<double> stated = describe(model.graph(), model, std::move(constraints), control);
  const computation& graph = model.operations();
  stated.name = graph.name;
  stated.unit = "us";
  for (std::uint32_t v = 0; v < stated.vertices.size(); ++v) {
    stated.vertices[v].name = graph.operations[v].name;
    stated.vertices[v].op = graph.operations[v].op;
    stated.vertices[v].phase = name_of(graph.operations[v].when);
  }
  stated.overlap = hideable_edges(model);
  return stated;
}

}  // namespace shardweave::inline v0
