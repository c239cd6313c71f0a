#pragma once

#include <shardweave/solve/impl/auto_solver.hpp>
#include <shardweave/solve/impl/trws.hpp>

#include <cstdint>

/// \file
/// The compiled solvers for costs in `std::int64_t`; see `shardweave/compiled.hpp`.

namespace shardweave {
inline namespace v0 {

template solution<std::int64_t> auto_solver::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> trws::solve(const placement_problem<std::int64_t>&, const solve_control&) const;

}  // namespace v0
}  // namespace shardweave
