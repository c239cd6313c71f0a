// expect: The cost model has a member hides, but not what counting hidden communication needs
// expect: beside edge_parts.edge
#include "plain_costs.hpp"
#include <shardweave/placement/describe.hpp>

struct my_costs : plain_costs {
  sw::hiding hides(edge) const { return sw::hiding::earlier; }
#ifndef SHARDWEAVE_REFUSED
  sw::edge_parts<double> edge_parts(edge, sw::strategy, sw::strategy) const { return {}; }
#endif
};

auto ask(const sw::compressed_graph& g) { return sw::describe(g, my_costs{}); }
