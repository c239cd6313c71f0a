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
/// The compiled solvers for costs in `double`; see `shardweave/compiled.hpp`.

namespace shardweave::inline v0 {

template solution<double> auto_solver::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> branch_and_bound::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> budgeted::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> elimination::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> exhaustive::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> guided_search::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> local_search::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> overlapped::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> trws::solve(const placement_problem<double>&, const solve_control&) const;

}  // namespace shardweave::inline v0
