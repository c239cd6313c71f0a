#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/hideable_edges.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstdint>
#include <utility>

/// \file
/// A computation on a mesh as a problem as stated.

namespace shardweave {
inline namespace v0 {

/// The problem of placing a computation: `describe` over the model's own graph, with the names of its operations, costs
/// in "us", and the edges whose communication may hide (`hideable_edges`); which savings count is left to the caller.
/// \throws error (stopped) if `control` ends the work first
/// Complexity: as `describe`
[[nodiscard]] inline placement_description<double> describe(const spmd_cost_model& model,
                                                            constraint_set constraints = {},
                                                            const solve_control& control = {}) {
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

}  // namespace v0
}  // namespace shardweave
