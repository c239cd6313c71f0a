#pragma once

#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/impl/auto_solver.hpp>
#include <shardweave/solve/impl/trws.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/overlapped.hpp>

#include <cstdint>

/// \file
/// The compiled solvers for costs in `std::int64_t`; see `shardweave/compiled.hpp`.

namespace shardweave::inline v0 {

template solution<std::int64_t> auto_solver::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> branch_and_bound::solve(const placement_problem<std::int64_t>&,
                                                        const solve_control&) const;
template solution<std::int64_t> budgeted::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> elimination::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> exhaustive::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> guided_search::solve(const placement_problem<std::int64_t>&,
                                                     const solve_control&) const;
template solution<std::int64_t> local_search::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> overlapped::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> trws::solve(const placement_problem<std::int64_t>&, const solve_control&) const;

}  // namespace shardweave::inline v0
