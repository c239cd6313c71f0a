#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

/// \file
/// A computation on a mesh as a problem as stated.

namespace shardweave::inline v0 {

/// The problem of placing a computation: `describe` over the model's own graph, with the names of its operations, costs
/// in "us", and the edges whose communication may hide (`hideable_edges`); which savings count is left to the caller.
/// \throws error (stopped) if `control` ends the work first
/// Complexity: as `describe`
[[nodiscard]] placement_description<double> describe(const spmd_cost_model& model, constraint_set constraints = {},
                                                     const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/describe_spmd.hpp>
#endif
