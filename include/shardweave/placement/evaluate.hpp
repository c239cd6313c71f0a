#pragma once

#include <shardweave/placement/evaluation.hpp>
#include <shardweave/placement/savings_terms.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Costs and violated constraints of an assignment, by the problem as stated, savings included.

namespace shardweave::inline v0 {

/// Evaluates an assignment by the stated costs, summed in the order in which they are stated, and lists every violated
/// constraint.
/// \throws error (input) for an assignment of the wrong length or with a strategy that does not exist
/// Complexity: O(vertices + edges + constraints), and with savings O(n log n) per channel for n of vertices and edges
template <cost_value Cost>
[[nodiscard]] evaluation<Cost> evaluate(const placement_description<Cost>& d, std::span<const strategy> choice);

/// Communication of an edge that hides behind the computation of a vertex.
template <cost_value Cost>
struct hidden_part {
  std::uint32_t edge = 0;
  std::uint32_t behind = 0;  ///< vertex
  Cost amount{};
};

/// Which communication hides behind which computation, if `evaluate` counts savings: the parts of an edge add up to its
/// hidden communication there. Amounts are positive; an edge and a vertex may have several parts.
/// \pre `evaluate` takes the assignment
/// Complexity: as the savings of `evaluate`
template <cost_value Cost>
[[nodiscard]] std::vector<hidden_part<Cost>> hidden_parts(const placement_description<Cost>& d,
                                                          std::span<const strategy> choice);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/placement/impl/evaluate.hpp>
#endif
