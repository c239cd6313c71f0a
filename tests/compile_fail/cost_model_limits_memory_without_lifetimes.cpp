// expect: The cost model has some of memory_usage, live and memory_limit, but not what a limit on memory needs
// expect: live.vertex. that returns a live_interval
#include "plain_costs.hpp"
#include <shardweave/placement/describe.hpp>

struct my_costs : plain_costs {
  double memory_usage(std::uint32_t, sw::strategy) const { return 1; }
  double memory_limit() const { return 10; }
#ifndef SHARDWEAVE_REFUSED
  sw::live_interval live(std::uint32_t) const { return {0, 1}; }
#endif
};

auto ask(const sw::compressed_graph& g) { return sw::describe(g, my_costs{}); }
