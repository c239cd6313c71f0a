// expect: The cost model has a member hides, but not what counting hidden communication needs: .* beside
// edge_parts.edge
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/describe.hpp>

namespace sw = shardweave;
using graph = sw::compressed_graph;
using edge = graph::edge_descriptor;

struct my_costs {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, sw::strategy) const { return 0; }
  double edge_cost(edge, sw::strategy, sw::strategy) const { return 0; }
  sw::hiding hides(edge) const { return sw::hiding::earlier; }
#ifndef SHARDWEAVE_REFUSED
  sw::edge_parts<double> edge_parts(edge, sw::strategy, sw::strategy) const { return {}; }
#endif
};

auto ask(const graph& g) { return sw::describe(g, my_costs{}); }
