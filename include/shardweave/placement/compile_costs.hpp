#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/problem.hpp>

#include <memory>

/// \file
/// From costs as stated to the problem that solvers share.

namespace shardweave::inline v0 {

/// What `compile` makes of costs and constraints; it adds the savings, where the description counts them. For a
/// description that counts none: what counts them is not read.
/// \throws error as `compile`
/// Complexity: that of `compile`
template <cost_value Cost>
[[nodiscard]] placement_problem<Cost> compile_costs(std::shared_ptr<const placement_description<Cost>> description,
                                                    const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/placement/impl/compile_costs.hpp>
#endif
