#pragma once

#include <shardweave/overlap/savings.hpp>
#include <shardweave/placement/problem.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// \file
/// What an assignment costs and which constraints it breaks, judged by the problem as stated.

namespace shardweave::inline v0 {

/// The most that a budget is used.
struct budget_use {
  std::string name;
  double used = 0;  ///< at the time when it is used most
  double low = 0;
  double high = 0;
  std::int64_t time = 0;
};

/// An assignment priced.
template <cost_value Cost>
struct evaluation {
  Cost objective{};          ///< parts less savings; `forbidden` if a forbidden strategy or pair is used
  cost_parts<Cost> parts;    ///< finite parts only
  Cost savings{};            ///< communication that computation hides
  std::vector<Cost> hidden;  ///< per edge, what of its communication is hidden; empty if none counts
  std::vector<budget_use> budgets;
  std::vector<std::string> violations;  ///< broken constraints by name, with what was found
  [[nodiscard]] bool is_feasible() const { return violations.empty(); }
};

/// Prices an assignment by the stated costs, in the order in which they are stated, and lists every
/// constraint that it breaks.
/// \throws error (input) for an assignment of the wrong length or with a strategy that does not exist
/// Complexity: O(vertices + edges + constraints), and with savings O(n log n) per channel for n of vertices and edges
template <cost_value Cost>
[[nodiscard]] evaluation<Cost> evaluate(const placement_description<Cost>& d, std::span<const strategy> choice);

/// So much of the communication of an edge hides behind the computation of a vertex.
template <cost_value Cost>
struct hidden_part {
  std::uint32_t edge = 0;
  std::uint32_t behind = 0;  ///< vertex
  Cost amount{};
};

/// What hides behind what, where `evaluate` counts savings: parts of an edge add up to what it says is hidden. Amounts
/// are positive; an edge and a vertex may have several parts.
/// \pre `evaluate` takes the assignment
/// Complexity: as the savings of `evaluate`
template <cost_value Cost>
[[nodiscard]] std::vector<hidden_part<Cost>> hidden_parts(const placement_description<Cost>& d,
                                                          std::span<const strategy> choice);

/// The same by the description behind a compiled problem. A problem without one is its own description: its
/// unary costs are computation, its tables communication.
template <cost_value Cost>
[[nodiscard]] evaluation<Cost> evaluate(const placement_problem<Cost>& problem, std::span<const strategy> choice);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/placement/impl/evaluate.hpp>
#endif
