// expect: To count savings a cost model must say what may hide
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/solve/auto_solver.hpp>

#include <cstddef>
#include <cstdint>

namespace sw = shardweave;

struct my_costs {
  using cost_type = double;
  using edge = sw::compressed_graph::edge_descriptor;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, sw::strategy) const { return 1; }
  double edge_cost(edge, sw::strategy, sw::strategy) const { return 1; }
#ifndef SHARDWEAVE_REFUSED
  sw::edge_parts<double> edge_parts(edge, sw::strategy, sw::strategy) const { return {1, 0}; }
  sw::hiding hides(edge) const { return sw::hiding::earlier; }
#endif
};

double plan(const sw::compressed_graph& g) {
  return sw::planner{g, my_costs{}}.counting(sw::savings_form::windows).solve().objective;
}
