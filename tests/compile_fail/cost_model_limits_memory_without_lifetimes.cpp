// expect: The cost model has some of memory_usage, live and memory_limit, but not what a limit on memory needs: .* and
// live.vertex. that returns a live_interval
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
  double memory_usage(std::uint32_t, sw::strategy) const { return 1; }
  double memory_limit() const { return 10; }
#ifndef SHARDWEAVE_REFUSED
  sw::live_interval live(std::uint32_t) const { return {0, 1}; }
#endif
};

auto ask(const graph& g) { return sw::describe(g, my_costs{}); }
