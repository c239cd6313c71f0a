#pragma once

// IWYU pragma: begin_exports
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/core/attempt.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/race.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/version.hpp>
// IWYU pragma: end_exports

/// \file
/// What planning takes: a planner and a pipeline, cost models and constraints, solvers and their combinators,
/// bucketing, schedules, over graphs and prices of a host's own. Every room has an entry header of its own with all of
/// it (`shardweave/solve.hpp`, `shardweave/cost.hpp`, `shardweave/report.hpp`, ...): computations on a mesh of devices
/// take `shardweave/spmd.hpp` and `shardweave/lowering.hpp`, which makes tasks of them. Headers of components (io,
/// glpk) are included by name.
