#pragma once

#include <shardweave/placement/impl/check_certificate.hpp>
#include <shardweave/placement/impl/compile.hpp>
#include <shardweave/placement/impl/evaluate.hpp>
#include <shardweave/placement/impl/savings_layout.hpp>

#include <memory>
#include <span>
#include <vector>

/// \file
/// The compiled part of room placement for costs in `double`; see `shardweave/compiled.hpp`.

namespace shardweave::inline v0 {

template evaluation<double> evaluate(const placement_description<double>&, std::span<const strategy>);
template evaluation<double> evaluate(const placement_problem<double>&, std::span<const strategy>);
template std::vector<hidden_part<double>> hidden_parts(const placement_description<double>&, std::span<const strategy>);
template placement_problem<double> compile(std::shared_ptr<const placement_description<double>>, const solve_control&);
template placement_problem<double> compile_costs(std::shared_ptr<const placement_description<double>>,
                                                 const solve_control&);
template placement_problem<double> placement_problem<double>::with_savings(savings_terms<double>) const;
template savings_layout layout_of(const placement_description<double>&);
template certificate_verdict<double> check_certificate(const placement_description<double>&,
                                                       const placement_certificate<double>&,
                                                       const costs_in_place<double>*);
template certificate_verdict<double> proven_by(const placement_description<double>&,
                                               const placement_certificate<double>&, const costs_in_place<double>*,
                                               const solve_control&);

}  // namespace shardweave::inline v0
