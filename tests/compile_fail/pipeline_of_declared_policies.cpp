// expect: The solver of a pipeline is only declared: the default one is defined in <shardweave/solve/auto_solver.hpp>
// expect: The lowering of a pipeline is only declared: the default one, of spmd_cost_model, is defined in
// doors: 2
#include <shardweave/pipeline.hpp>
#include <shardweave/solve/trws.hpp>
#ifndef SHARDWEAVE_REFUSED
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/solve/auto_solver.hpp>
#endif

using steps = shardweave::two_steps<shardweave::greedy, shardweave::prefetch>;
struct no_lowering {};

auto solver() { return sizeof(shardweave::pipeline<shardweave::auto_solver, steps, no_lowering>); }
auto lowering() { return sizeof(shardweave::pipeline<shardweave::trws>); }
