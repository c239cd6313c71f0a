#pragma once

#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Placements at a given Hamming distance from one.

namespace shardweave::inline v0::detail {

/// Feasible placements that differ from a given one in exactly `variables` variables.
/// \param labels     of the given one, by variable
/// \param vertices   only variables that place one of the first so many vertices may differ
/// \param tries      labelings that are evaluated, at most
/// Complexity: `tries` evaluations at most
[[nodiscard]] inline std::vector<assignment> placements_around(const placement_problem<double>& problem,
                                                               std::vector<strategy> labels, std::size_t variables,
                                                               std::size_t vertices, std::size_t tries) {
  std::vector<assignment> found;
  std::vector<bool> may_differ(labels.size());
  for (std::size_t v = 0; v < vertices; ++v) may_differ[problem.variable_of(v)] = true;
  const auto change = [&](const auto& self, std::size_t first, std::size_t left) -> void {
    if (left == 0) {
      if (tries == 0) return;
      --tries;
      assignment choice = problem.lift(labels);
      if (evaluate(problem, choice).is_feasible()) found.push_back(std::move(choice));
      return;
    }
    for (std::size_t x = first; x < labels.size() && tries > 0; ++x) {
      if (!may_differ[x]) continue;
      const strategy own = labels[x];
      for (strategy l = 0; l < problem.compact().label_count(static_cast<std::uint32_t>(x)); ++l) {
        if (l == own) continue;
        labels[x] = l;
        self(self, x + 1, left - 1);
      }
      labels[x] = own;
    }
  };
  change(change, 0, variables);
  return found;
}

}  // namespace shardweave::inline v0::detail
