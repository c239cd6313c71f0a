// expect: To count savings a cost model must say what may hide
#include "plain_costs.hpp"
#include <shardweave/planner.hpp>
#include <shardweave/solve/auto_solver.hpp>

struct my_costs : plain_costs {
#ifndef SHARDWEAVE_REFUSED
  sw::edge_parts<double> edge_parts(edge, sw::strategy, sw::strategy) const { return {1, 0}; }
  sw::hiding hides(edge) const { return sw::hiding::earlier; }
#endif
};

double plan(const sw::compressed_graph& g) {
  return sw::planner{g, my_costs{}}.counting(sw::savings_form::windows).solve().objective;
}
