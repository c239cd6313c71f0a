#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solver.hpp>

#include <support/random_problem.hpp>
#include <support/random_savings.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// For what asks a solver more than once: all plans of a small problem by brute force, and solvers behind one type.

namespace shardweave_test {

/// Any solver behind one type, so that what calls it is compiled once.
template <class Cost>
struct any_policy {
  static constexpr std::string_view name = "any";
  static constexpr sw::solver_abilities abilities{.budgets = true};
  std::function<sw::solution<Cost>(const sw::placement_problem<Cost>&, const sw::solve_control&)> ask;

  template <class S>
  explicit any_policy(S s) : ask([s](const auto& problem, const auto& control) { return s.solve(problem, control); }) {}

  template <sw::cost_value C>
    requires std::same_as<C, Cost>
  [[nodiscard]] sw::solution<C> solve(const sw::placement_problem<C>& problem,
                                      const sw::solve_control& control = {}) const {
    return ask(problem, control);
  }
};

/// Throws dice a few times; proves nothing.
struct few_dice {
  template <class Cost>
  [[nodiscard]] sw::solution<Cost> solve(const sw::placement_problem<Cost>& problem,
                                         const sw::solve_control& control) const {
    const auto& p = problem.compact();
    sw::random_source random(control.seed);
    std::vector<sw::strategy> labels(p.size()), best;
    Cost least = sw::forbidden<Cost>;
    for (int i = 0; i < 4; ++i) {
      for (std::size_t x = 0; x < p.size(); ++x) labels[x] = static_cast<sw::strategy>(random.below(p.label_count(x)));
      if (p.cost(labels) < least && p.keeps_rows(labels)) best = labels, least = p.cost(labels);
    }
    return sw::conclude<Cost>(problem, best, -std::numeric_limits<double>::infinity(), false, {.solver = "few dice"});
  }
};

inline double close_to(double value) { return 1e-8 * std::max(1.0, std::abs(value)); }

/// Every feasible assignment with its objective, the least first: all combinations of the vertices as stated.
template <class Cost>
std::vector<std::pair<double, sw::assignment>> all_plans(const random_problem<Cost>& stated) {
  std::vector<std::pair<double, sw::assignment>> all;
  const auto& vertices = stated.description.vertices;
  sw::assignment choice(vertices.size(), 0);
  const bool saves = stated.description.counted != sw::savings_form::off;
  const auto sets = position_sets(stated.description);
  for (std::size_t v = 0; v < choice.size();) {
    if (const auto price = price_of(stated, choice)) {
      Cost objective = *price;
      if (saves) objective -= savings_by_flow(stated, sets, choice);
      all.emplace_back(static_cast<double>(objective), choice);
    }
    for (v = 0; v < choice.size() && ++choice[v] == vertices[v].compute.size(); ++v) choice[v] = 0;
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// A small problem as it is stated, and compiled unless its constraints contradict each other.
template <class Cost>
struct tiny_problem {
  random_problem<Cost> stated;
  std::optional<sw::placement_problem<Cost>> problem;
};

template <class Cost>
tiny_problem<Cost> draw_tiny(std::uint64_t seed, problem_features features) {
  features.max_vertices = 5;
  features.max_strategies = 4;
  tiny_problem<Cost> result{draw_problem<Cost>(seed, features), std::nullopt};
  try {
    result.problem = sw::compile(result.stated.description);
  } catch (const sw::error&) {
  }
  return result;
}
template <class Cost>
tiny_problem<Cost> draw_tiny(std::uint64_t seed) {
  return draw_tiny<Cost>(seed, problem_features::combination(static_cast<unsigned>(seed * 37 % 128)));
}

/// Vertices that may each stay out of the room of a budget, at a cost.
[[nodiscard]] inline sw::placement_description<double> knapsack(const std::vector<double>& costs, double high) {
  sw::placement_description<double> d;
  sw::budget room{.name = "room", .high = high};
  for (std::uint32_t v = 0; v < costs.size(); ++v) {
    d.vertices.push_back({.compute = {costs[v], 0}});
    room.terms.push_back({v, {0, 1}});
  }
  d.constraints.budgets.push_back(room);
  return d;
}

}  // namespace shardweave_test
