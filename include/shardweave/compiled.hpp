#pragma once

#ifndef SHARDWEAVE_COMPILED
#error "<shardweave/compiled.hpp> is for programs all of whose sources are compiled with SHARDWEAVE_COMPILED defined."
#endif

#include <shardweave/compiled/bucketing.hpp>
#include <shardweave/compiled/cost.hpp>
#include <shardweave/compiled/graph.hpp>
#include <shardweave/compiled/lowering.hpp>
#include <shardweave/compiled/memory.hpp>
#include <shardweave/compiled/models.hpp>
#include <shardweave/compiled/placement_of_double.hpp>
#include <shardweave/compiled/placement_of_int64.hpp>
#include <shardweave/compiled/report.hpp>
#include <shardweave/compiled/schedule.hpp>
#include <shardweave/compiled/simulate.hpp>
#include <shardweave/compiled/solvers_of_double.hpp>
#include <shardweave/compiled/solvers_of_int64.hpp>
#include <shardweave/compiled/spmd.hpp>
#include <shardweave/compiled/step.hpp>
#include <shardweave/compiled/tasks.hpp>

/// \file
/// All that component `shardweave::compiled` holds: what does not depend on a host's types, instantiated for costs in
/// `double` and `std::int64_t`.
///
/// Where SHARDWEAVE_COMPILED is defined, headers only declare what stands here, and compile in a fraction of the time.
/// A host that links `shardweave::compiled` gets the definition of the macro and the library. One without CMake defines
/// it for all of its sources and includes this header in exactly one of them. Costs of a further type need the headers
/// in `impl/`, which hold the definitions, in the source that uses them. Without the macro everything is header-only.
