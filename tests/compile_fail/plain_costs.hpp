#pragma once

// The least that a cost model gives, with the same costs for all: what refusals add to, or take wrongly.
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/cost.hpp>

#include <cstddef>
#include <cstdint>

namespace sw = shardweave;
using edge = sw::compressed_graph::edge_descriptor;

struct plain_costs {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, sw::strategy) const { return 1; }
  double edge_cost(edge, sw::strategy, sw::strategy) const { return 1; }
};
