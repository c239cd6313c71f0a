#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/explain.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Comparison of two assignments of a problem.

namespace shardweave::inline v0 {

/// A vertex whose strategy or price differs.
template <cost_value Cost>
struct vertex_difference {
  std::uint32_t vertex = 0;
  std::pair<strategy, strategy> chosen = {};  ///< before, after
  vertex_price<Cost> before;
  vertex_price<Cost> after;
  [[nodiscard]] bool is_changed() const { return chosen.first != chosen.second; }
};

/// Differences of two assignments. Prices of vertices add up to the objective, so the changes of the listed ones add up
/// to its change.
template <cost_value Cost>
struct assignment_difference {
  evaluation<Cost> before;
  evaluation<Cost> after;
  std::vector<vertex_difference<Cost>> vertices;  ///< in the order of vertices; all others have equal prices
};

/// Compares two assignments by the stated costs, savings included.
/// \throws error (input) as `evaluate`
/// Complexity: as `evaluate`
template <cost_value Cost>
[[nodiscard]] assignment_difference<Cost> diff(const placement_description<Cost>& d, std::span<const strategy> before,
                                               std::span<const strategy> after) {
  assignment_difference<Cost> result{.before = evaluate(d, before), .after = evaluate(d, after), .vertices = {}};
  const auto one = vertex_prices(d, before, result.before), other = vertex_prices(d, after, result.after);
  for (std::uint32_t v = 0; v < one.size(); ++v)
    if (before[v] != after[v] || !(one[v] == other[v]))
      result.vertices.push_back({v, {before[v], after[v]}, one[v], other[v]});
  return result;
}

}  // namespace shardweave::inline v0
