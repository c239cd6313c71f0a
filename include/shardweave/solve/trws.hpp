#pragma once

#include <shardweave/solve/solver.hpp>

#include <cstddef>
#include <string_view>

/// \file
/// Sequential tree-reweighted message passing as a solver.

namespace shardweave::inline v0 {

/// Alternates passes forward and backward, decodes an assignment after every sweep, and stops when the bound
/// meets the best assignment. Exact on trees, and on every training graph of transformers we met.
///
/// Rows are relaxed: the bound stays valid, and only decoded assignments that keep them are returned; use
/// `budgeted` in its place where budgets bind.
/// Complexity per sweep: twice a pass of `dual_ascent`, and a decoding in O(labels * degree).
/// Source: V. Kolmogorov, see `dual_ascent`.
class trws {
 public:
  static constexpr std::string_view name = "trws";
  static constexpr solver_abilities abilities{.budgets = false};

  /// Most sweeps. The search ends earlier if the bound proves the best assignment, if no message changed, or by
  /// `patience`.
  std::size_t sweeps = 1000;
  /// Sweeps without a better assignment or a rise of the bound after which it ends; many, since an assignment may still
  /// improve long after the bound stopped rising.
  std::size_t patience = 200;

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;
};

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/solve/impl/trws.hpp>
#endif
