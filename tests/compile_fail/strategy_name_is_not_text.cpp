// expect: The cost model has a member strategy_name, but not what naming strategies needs: .* that returns text
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
  int strategy_name(std::uint32_t, sw::strategy s) const { return static_cast<int>(s); }
#else
  std::string strategy_name(std::uint32_t, sw::strategy s) const { return std::to_string(s); }
#endif
};

auto ask(const graph& g) { return sw::describe(g, my_costs{}); }
