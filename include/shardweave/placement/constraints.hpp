#pragma once

#include <shardweave/placement/cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What a user demands of an assignment, as plain data. Vertices are positions in `vertices(g)`; `why` is
/// the name under which a violated or contradictory constraint is reported.

namespace shardweave::inline v0 {

/// The vertex takes one of the listed strategies. Several of these on one vertex hold together.
struct fixed_strategies {
  std::uint32_t vertex = 0;
  std::vector<strategy> allowed = {};
  std::string why = {};
};

/// The vertices take the same strategy index. Each pays its own costs.
/// \pre all have equally many strategies (`validate`)
struct tie {
  std::vector<std::uint32_t> vertices = {};
  std::string why = {};
};

/// The two vertices take one of the listed pairs of strategies.
struct pairing {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::vector<std::pair<strategy, strategy>> allowed = {};
  std::string why = {};
};

/// Usage of a budget by a vertex: one amount per strategy, not negative, always or while it lives.
struct budget_term {
  std::uint32_t vertex = 0;
  std::vector<double> usage = {};
  std::optional<live_interval> live = std::nullopt;
};

/// A linear limit: low <= sum of usage <= high, over all terms, or at each time over the terms that live then. Terms
/// without an interval count at every time; several terms of a vertex add up. A budget with a lower limit may not have
/// a term with an interval (`validate`). Sums are kept to within `budget_tolerance`; whole numbers below 2^53 are
/// summed exactly.
struct budget {
  std::string name = {};
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  std::vector<budget_term> terms = {};
};

/// By how much a sum may exceed a limit and still keep it, in the units of the budget: covers rounding, not slack.
inline constexpr double budget_tolerance = 1e-6;

/// All constraints of a problem.
struct constraint_set {
  std::vector<fixed_strategies> fixed = {};
  std::vector<tie> ties = {};
  std::vector<pairing> pairs = {};
  std::vector<budget> budgets = {};
};

/// Per vertex the first of those that must take the same strategy; ties that share a vertex count as one. A vertex that
/// is not tied is its own leader.
/// \pre ties name no other vertices
/// Complexity: nearly O(vertices + tied vertices)
[[nodiscard]] inline std::vector<std::uint32_t> tie_leaders(std::size_t vertices, std::span<const tie> ties) {
  std::vector<std::uint32_t> leader(vertices);
  std::iota(leader.begin(), leader.end(), 0U);
  const auto find = [&](std::uint32_t v) {
    while (leader[v] != v) v = leader[v] = leader[leader[v]];
    return v;
  };
  for (const tie& t : ties)
    for (const std::uint32_t v : t.vertices) {
      const std::uint32_t a = find(t.vertices.front()), b = find(v);
      leader[std::max(a, b)] = std::min(a, b);
    }
  for (std::uint32_t& l : leader) l = leader[l];  // that of an earlier vertex is final
  return leader;
}

}  // namespace shardweave::inline v0
