// expect: The second argument of planner must be a cost model
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/solve/exhaustive.hpp>

struct costs {
  using cost_type = double;
  using edge = shardweave::compressed_graph::edge_descriptor;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, shardweave::strategy) const { return 0; }
#ifndef SHARDWEAVE_REFUSED
  double edge_cost(edge, shardweave::strategy, shardweave::strategy) const { return 0; }
#endif
};

double plan(const shardweave::compressed_graph& g) {
  return shardweave::planner{g, costs{}, shardweave::exhaustive{}}.solve().objective;
}
