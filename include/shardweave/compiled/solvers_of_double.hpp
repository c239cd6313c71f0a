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
#include <optional>
#include <vector>

/// \file
/// The compiled solvers for costs in `double`; see `shardweave/compiled.hpp`.

namespace shardweave::inline v0 {

template solution<double> auto_solver::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> auto_solver::solve_costs(const placement_problem<double>&, const solve_control&) const;
template solution<double> branch_and_bound::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> budgeted::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> dive::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> elimination::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> exhaustive::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> guided_search::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> local_search::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> local_search::solve_costs(const placement_problem<double>&, const solve_control&) const;
template solution<double> overlapped::solve(const placement_problem<double>&, const solve_control&) const;
template solution<double> trws::solve(const placement_problem<double>&, const solve_control&) const;

template class dual_ascent<double>;
template class priced_problem<double>;
template class reduction<double>;
template class savings_ascent<double>;

template std::optional<placement_certificate<double>> certify_infeasible(const placement_description<double>&,
                                                                         const solve_control&);
template placement_certificate<double> certify_placement(const placement_problem<double>&, double,
                                                         const certify_options&, const solve_control&);
template placement_certificate<double> certify_placement(const placement_problem<double>&,
                                                         const compact_problem<double>&, const costs_in_place<double>&,
                                                         double, const certify_options&, const solve_control&);

namespace detail {

template void improve(const compact_problem<double>&, std::vector<strategy>&, const deadline&);
template std::vector<strategy> first_labels(const compact_problem<double>&, const deadline&);
template bool savings_descent(const compact_problem<double>&, const savings_terms<double>&, std::vector<strategy>&,
                              const deadline&, std::size_t);

}  // namespace detail

}  // namespace shardweave::inline v0
