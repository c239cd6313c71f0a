#pragma once

#include <shardweave/placement/problem.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// \file
/// Costs and violated constraints of an assignment.

namespace shardweave::inline v0 {

/// The largest usage of a budget.
struct budget_use {
  std::string name;
  double used = 0;  ///< at the time of largest usage
  double low = 0;
  double high = 0;
  std::int64_t time = 0;
};

/// The evaluation of an assignment.
template <cost_value Cost>
struct evaluation {
  Cost objective{};          ///< parts less savings; `forbidden` if a forbidden strategy or pair is used
  cost_parts<Cost> parts;    ///< finite parts only
  Cost savings{};            ///< communication that computation hides
  std::vector<Cost> hidden;  ///< per edge: its communication that is hidden; empty if savings do not count
  std::vector<budget_use> budgets;
  std::vector<std::string> violations;  ///< broken constraints by name, with what was found
  [[nodiscard]] bool is_feasible() const { return violations.empty(); }
};

/// Evaluates an assignment by the description of a compiled problem, as `evaluate` of that description does. A problem
/// without one is its own description: its unary costs are computation, its tables communication.
/// \throws error (input) for an assignment of the wrong length or with a strategy that does not exist
/// Complexity: as that of the description
template <cost_value Cost>
[[nodiscard]] evaluation<Cost> evaluate(const placement_problem<Cost>& problem, std::span<const strategy> choice);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/placement/impl/evaluation.hpp>
#endif
