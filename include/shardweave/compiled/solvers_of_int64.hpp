#pragma once

#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/impl/auto_solver.hpp>
#include <shardweave/solve/impl/trws.hpp>
#include <shardweave/solve/linear/detail/rounding.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/solve/reduce/reduction.hpp>
#include <shardweave/solve/search/detail/savings_descent.hpp>
#include <shardweave/solve/search/dive.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// The compiled solvers for costs in `std::int64_t`; see `shardweave/compiled.hpp`.

namespace shardweave::inline v0 {

template solution<std::int64_t> auto_solver::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> auto_solver::solve_costs(const placement_problem<std::int64_t>&,
                                                         const solve_control&) const;
template solution<std::int64_t> branch_and_bound::solve(const placement_problem<std::int64_t>&,
                                                        const solve_control&) const;
template solution<std::int64_t> budgeted::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> dive::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> elimination::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> exhaustive::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> guided_search::solve(const placement_problem<std::int64_t>&,
                                                     const solve_control&) const;
template solution<std::int64_t> local_search::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> local_search::solve_costs(const placement_problem<std::int64_t>&,
                                                          const solve_control&) const;
template solution<std::int64_t> overlapped::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
template solution<std::int64_t> trws::solve(const placement_problem<std::int64_t>&, const solve_control&) const;

template class dual_ascent<std::int64_t>;
template class priced_problem<std::int64_t>;
template class reduction<std::int64_t>;
template class savings_ascent<std::int64_t>;

template std::optional<placement_certificate<std::int64_t>> certify_infeasible(
    const placement_description<std::int64_t>&, const solve_control&);
template placement_certificate<std::int64_t> certify_placement(const placement_problem<std::int64_t>&, std::int64_t,
                                                               const certify_options&, const solve_control&);
template placement_certificate<std::int64_t> certify_placement(const placement_problem<std::int64_t>&,
                                                               const compact_problem<std::int64_t>&,
                                                               const costs_in_place<std::int64_t>&, std::int64_t,
                                                               const certify_options&, const solve_control&);

namespace detail {

template void improve(const compact_problem<std::int64_t>&, std::vector<strategy>&, const deadline&);
template std::vector<strategy> first_labels(const compact_problem<std::int64_t>&, const deadline&);
template bool savings_descent(const compact_problem<std::int64_t>&, const savings_terms<std::int64_t>&,
                              std::vector<strategy>&, const deadline&, std::size_t);

}  // namespace detail

}  // namespace shardweave::inline v0
