#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compile_costs.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/savings_terms.hpp>

#include <memory>
#include <utility>

/// \file
/// From a problem as stated to the problem that solvers share. Every step is exact: the two have the same
/// feasible assignments with the same objective.

namespace shardweave::inline v0 {

/// Compiles a stated problem: ties are merged and parallel edges added up, pairings become forbidden pairs, strategies
/// that no feasible assignment can have are removed (arc consistency, room in the budgets), constant parts are
/// separated, budgets keep the times at which they can bind, and equal tables are stored once.
///
/// \throws error (input) for a description that makes no sense, naming the culprit
/// \throws error (constraint) if no assignment can be feasible, naming the vertex left without a strategy and
///         what removed the last one, or the budget that even the least usage breaks
/// \throws error (stopped) if `control` ends the work first
/// Complexity: linear in vertices, edges and distinct tables, times the class counts; memory likewise
template <cost_value Cost>
[[nodiscard]] placement_problem<Cost> compile(std::shared_ptr<const placement_description<Cost>> description,
                                              const solve_control& control = {});

template <cost_value Cost>
[[nodiscard]] placement_problem<Cost> compile(placement_description<Cost> description,
                                              const solve_control& control = {}) {
  return compile(std::make_shared<const placement_description<Cost>>(std::move(description)), control);
}

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/placement/impl/compile.hpp>
#endif
