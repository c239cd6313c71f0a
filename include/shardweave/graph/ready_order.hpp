#pragma once

#include <shardweave/graph/compressed_graph.hpp>

#include <cstdint>
#include <vector>

/// \file
/// The order of a graph as far as no cycle stands in the way.

namespace shardweave::inline v0 {

/// The vertices that no cycle precedes, each when all its producers stand before it, the smallest number first. All of
/// them, and then it is `stable_topological_order`, if there is no cycle.
/// \param waiting  becomes, per vertex, how many of its producers are not listed
/// Complexity: O((V + E) log V)
[[nodiscard]] std::vector<std::uint32_t> ready_order(const compressed_graph& g, std::vector<std::uint32_t>& waiting);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/graph/impl/stable_order.hpp>
#endif
