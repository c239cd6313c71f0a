#pragma once

#include <shardweave/placement/description.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <vector>

/// \file
/// Which communication of a training step may hide behind its computation.

namespace shardweave::inline v0 {

/// The edges of a computation whose communication need not happen where they stand: that of what is computed from
/// parameters alone may happen earlier (a prefetch); that of what only results depend on, through operations with one
/// argument each (the tail of a gradient), later.
/// Complexity: O(operations + edges)
[[nodiscard]] std::vector<hideable_edge> hideable_edges(const spmd_cost_model& model);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/hideable_edges.hpp>
#endif
