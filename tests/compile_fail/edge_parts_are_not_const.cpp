// expect: The cost model has a member edge_parts, but not what telling parts of edge costs apart needs: a const member
#include "plain_costs.hpp"
#include <shardweave/placement/describe.hpp>

struct my_costs : plain_costs {
#ifdef SHARDWEAVE_REFUSED
  sw::edge_parts<double> edge_parts(edge, sw::strategy, sw::strategy) { return {}; }
#else
  sw::edge_parts<double> edge_parts(edge, sw::strategy, sw::strategy) const { return {}; }
#endif
};

auto ask(const sw::compressed_graph& g) { return sw::describe(g, my_costs{}); }
