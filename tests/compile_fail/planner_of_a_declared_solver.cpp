// expect: The solver of a planner is only declared: the default one is defined in <shardweave/solve/auto_solver.hpp>
#include "plain_costs.hpp"
#include <shardweave/planner.hpp>
#ifndef SHARDWEAVE_REFUSED
#include <shardweave/solve/auto_solver.hpp>
#endif

double plan(const sw::compressed_graph& g) { return sw::planner{g, plain_costs{}}.solve().objective; }
