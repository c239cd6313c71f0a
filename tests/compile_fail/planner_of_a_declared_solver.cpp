// expect: The solver of a planner is only declared: the default one is defined in <shardweave/solve/auto_solver.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/planner.hpp>
#ifndef SHARDWEAVE_REFUSED
#include <shardweave/solve/auto_solver.hpp>
#endif

struct costs {
  using cost_type = double;
  using edge = shardweave::compressed_graph::edge_descriptor;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, shardweave::strategy) const { return 0; }
  double edge_cost(edge, shardweave::strategy, shardweave::strategy) const { return 0; }
};

double plan(const shardweave::compressed_graph& g) { return shardweave::planner{g, costs{}}.solve().objective; }
