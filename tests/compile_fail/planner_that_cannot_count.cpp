// expect: include <shardweave/placement/compile.hpp>, which counts them
#include "plain_costs.hpp"
#include <shardweave/planner.hpp>
#include <shardweave/solve/trws.hpp>
#ifndef SHARDWEAVE_REFUSED
#include <shardweave/placement/compile.hpp>
#endif

struct my_costs : plain_costs {
  sw::edge_parts<double> edge_parts(edge, sw::strategy, sw::strategy) const { return {1, 0}; }
  sw::hiding hides(edge) const { return sw::hiding::earlier; }
};

double plan(const sw::compressed_graph& g) { return sw::planner{g, my_costs{}, sw::trws{}}.solve().objective; }
