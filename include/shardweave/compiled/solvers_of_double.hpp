#pragma once

#include <shardweave/solve/impl/auto_solver.hpp>
#include <shardweave/solve/impl/trws.hpp>

#include <cstdint>

/// \file
/// The compiled solvers for costs in `double`; see `shardweave/compiled.hpp`.

namespace shardweave {
inline namespace v0 {

template solution<double> auto_solver::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> trws::solve(const placement_problem<double>&, const solve_control&) const;

}  // namespace v0
}  // namespace shardweave
