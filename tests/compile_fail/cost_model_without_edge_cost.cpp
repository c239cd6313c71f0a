// expect: A cost model must have a cost_type .a floating-point type or std::int64_t., and const members
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/describe.hpp>

using graph = shardweave::compressed_graph;

struct my_costs {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, shardweave::strategy) const { return 0; }
#ifndef SHARDWEAVE_REFUSED
  double edge_cost(graph::edge_descriptor, shardweave::strategy, shardweave::strategy) const { return 0; }
#endif
};

auto stated(const graph& g) { return shardweave::describe(g, my_costs{}); }
