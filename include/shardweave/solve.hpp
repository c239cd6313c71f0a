#pragma once

// IWYU pragma: begin_exports
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/backend/any_backend.hpp>
#include <shardweave/solve/backend/backend.hpp>
#include <shardweave/solve/best_plans.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/bound/row_prices.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>
#include <shardweave/solve/linear/model/local_polytope.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/proof/certify_options.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/solve/race.hpp>
#include <shardweave/solve/reduce/reduction.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/search/bound_effort.hpp>
#include <shardweave/solve/search/dive.hpp>
#include <shardweave/solve/sensitivity.hpp>
#include <shardweave/solve/sifted.hpp>
#include <shardweave/solve/solution.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/solve/value_of_limit.hpp>
// IWYU pragma: end_exports

/// \file
/// Solvers and combinators.
