// expect: edge_cost
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/cost_model.hpp>

using graph = shardweave::compressed_graph;

struct my_costs {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, shardweave::strategy) const { return 0; }
#ifndef SHARDWEAVE_REFUSED
  double edge_cost(graph::edge_descriptor, shardweave::strategy, shardweave::strategy) const { return 0; }
#endif
};

template <shardweave::cost_model<graph> Model>
void plan(const Model&) {}

void use() { plan(my_costs{}); }
