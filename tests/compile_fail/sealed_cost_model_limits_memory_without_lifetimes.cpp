// expect: The cost model has some of memory_usage, live and memory_limit, but not what a limit on memory needs
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/describe.hpp>

namespace sw = shardweave;
using graph = sw::compressed_graph;

struct my_costs final {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, sw::strategy) const { return 0; }
  double edge_cost(graph::edge_descriptor, sw::strategy, sw::strategy) const { return 0; }
#ifdef SHARDWEAVE_REFUSED
  double memory_usage(std::uint32_t, sw::strategy) const { return 1; }
#endif
};

auto ask(const graph& g) { return sw::describe(g, my_costs{}); }
