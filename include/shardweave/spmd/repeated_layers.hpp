#pragma once

#include <shardweave/graph/repeated_layers.hpp>
#include <shardweave/spmd/computation.hpp>

#include <cstdint>
#include <vector>

/// \file
/// Repeated layers of a computation: as its writer told them, or found.

namespace shardweave::inline v0 {

/// Operations that play the same part in layers that follow one another, found by what they do, phase by phase; names,
/// and what operations say of their layer, do not count.
/// Complexity: as `repeated_layers` of a graph, and the content of every operation
[[nodiscard]] std::vector<std::vector<std::uint32_t>> repeated_layers(const computation& graph,
                                                                      const layer_options& options = {});

/// Sites of operations (see `operation::site`): as told, or if nobody told any, found.
/// Complexity: that of `repeated_layers`; O(V) where sites are told
[[nodiscard]] std::vector<std::uint64_t> layer_sites(const computation& graph);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/repeated_layers.hpp>
#endif
