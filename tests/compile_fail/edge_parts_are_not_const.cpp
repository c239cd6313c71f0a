// expect: The cost model has a member edge_parts, but not what telling parts of edge costs apart needs: a const member
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/describe.hpp>

#include <string>

namespace sw = shardweave;
using graph = sw::compressed_graph;
using edge = graph::edge_descriptor;

struct my_costs {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, sw::strategy) const { return 0; }
  double edge_cost(edge, sw::strategy, sw::strategy) const { return 0; }
#ifdef SHARDWEAVE_REFUSED
  sw::edge_parts<double> edge_parts(edge, sw::strategy, sw::strategy) { return {}; }
#else
  sw::edge_parts<double> edge_parts(edge, sw::strategy, sw::strategy) const { return {}; }
#endif
};

auto ask(const graph& g) { return sw::describe(g, my_costs{}); }
