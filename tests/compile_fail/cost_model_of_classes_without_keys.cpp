// expect: The cost model has some of producer_classes, consumer_classes, class_parts and edge_key, but not what pricing
// by class needs: .* and edge_key.edge. that returns a whole number
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/describe.hpp>

#include <span>

namespace sw = shardweave;
using graph = sw::compressed_graph;
using edge = graph::edge_descriptor;

struct my_costs {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, sw::strategy) const { return 0; }
  double edge_cost(edge, sw::strategy, sw::strategy) const { return 0; }
  std::uint32_t only = 0;
  std::span<const std::uint32_t> producer_classes(edge) const { return {&only, 1}; }
  std::span<const std::uint32_t> consumer_classes(edge) const { return {&only, 1}; }
  sw::edge_parts<double> class_parts(edge, std::uint32_t, std::uint32_t) const { return {}; }
#ifndef SHARDWEAVE_REFUSED
  std::uint64_t edge_key(edge) const { return 0; }
#endif
};

auto ask(const graph& g) { return sw::describe(g, my_costs{}); }
