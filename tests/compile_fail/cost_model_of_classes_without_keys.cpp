// expect: The cost model has some of producer_classes, consumer_classes, class_parts and edge_key
// expect: but not what pricing by class needs
// expect: edge_key.edge. that returns a whole number
#include "plain_costs.hpp"
#include <shardweave/placement/describe.hpp>

#include <span>

struct my_costs : plain_costs {
  std::uint32_t only = 0;
  std::span<const std::uint32_t> producer_classes(edge) const { return {&only, 1}; }
  std::span<const std::uint32_t> consumer_classes(edge) const { return {&only, 1}; }
  sw::edge_parts<double> class_parts(edge, std::uint32_t, std::uint32_t) const { return {}; }
#ifndef SHARDWEAVE_REFUSED
  std::uint64_t edge_key(edge) const { return 0; }
#endif
};

auto ask(const sw::compressed_graph& g) { return sw::describe(g, my_costs{}); }
