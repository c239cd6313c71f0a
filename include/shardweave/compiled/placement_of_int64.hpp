#pragma once

#include <shardweave/placement/impl/check_certificate.hpp>
#include <shardweave/placement/impl/compile.hpp>
#include <shardweave/placement/impl/evaluate.hpp>
#include <shardweave/placement/impl/savings_layout.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// \file
/// The compiled part of room placement for costs in `std::int64_t`; see `shardweave/compiled.hpp`.

namespace shardweave::inline v0 {

template evaluation<std::int64_t> evaluate(const placement_description<std::int64_t>&, std::span<const strategy>);
template evaluation<std::int64_t> evaluate(const placement_problem<std::int64_t>&, std::span<const strategy>);
template std::vector<hidden_part<std::int64_t>> hidden_parts(const placement_description<std::int64_t>&,
                                                             std::span<const strategy>);
template placement_problem<std::int64_t> compile(std::shared_ptr<const placement_description<std::int64_t>>,
                                                 const solve_control&);
template placement_problem<std::int64_t> compile_costs(std::shared_ptr<const placement_description<std::int64_t>>,
                                                       const solve_control&);
template placement_problem<std::int64_t> placement_problem<std::int64_t>::with_savings(
    savings_terms<std::int64_t>) const;
template savings_layout layout_of(const placement_description<std::int64_t>&);
template certificate_verdict<std::int64_t> check_certificate(const placement_description<std::int64_t>&,
                                                             const placement_certificate<std::int64_t>&,
                                                             const costs_in_place<std::int64_t>*);
template certificate_verdict<std::int64_t> proven_by(const placement_description<std::int64_t>&,
                                                     const placement_certificate<std::int64_t>&,
                                                     const costs_in_place<std::int64_t>*, const solve_control&);

}  // namespace shardweave::inline v0
