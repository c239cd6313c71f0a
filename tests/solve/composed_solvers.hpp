#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solver.hpp>

#include <atomic>
#include <chrono>
#include <limits>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

/// Solvers of a user's own, for what is made of several.
namespace composed_solvers {

namespace sw = shardweave;
inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// A user's own solver in one struct: label 0 everywhere, and a bound if it is told one.
struct all_first {
  static constexpr std::string_view name = "all_first";
  static constexpr sw::solver_abilities abilities{};
  double bound = -infinite;
  bool gives_up = false;

  template <class Cost>
  sw::solution<Cost> solve(const sw::placement_problem<Cost>& problem, const sw::solve_control&) const {
    const std::vector<sw::strategy> labels(gives_up ? 0 : problem.compact().size(), 0);
    return sw::conclude(problem, std::span<const sw::strategy>(labels), bound, false,
                        {.solver = "all_first", .iterations = 1});
  }
};

/// Waits for a stop, and counts how often it was asked.
struct waits {
  static constexpr std::string_view name = "waits";
  static constexpr sw::solver_abilities abilities{.budgets = true};
  std::atomic<int>* asked = nullptr;

  template <class Cost>
  sw::solution<Cost> solve(const sw::placement_problem<Cost>& problem, const sw::solve_control& control) const {
    if (asked != nullptr) ++*asked;
    const sw::deadline limit(control);
    while (!limit.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return sw::conclude(problem, std::span<const sw::strategy>(), -infinite, true, {.solver = "waits"});
  }
};

struct throws {
  static constexpr std::string_view name = "throws";
  static constexpr sw::solver_abilities abilities{};
  template <class Cost>
  sw::solution<Cost> solve(const sw::placement_problem<Cost>&, const sw::solve_control&) const {
    sw::refuse(sw::error_category::backend, "the backend broke");
  }
};

/// Unary costs 3 1 | 3 1 | 3 1, optimum 3.
inline sw::placement_problem<double> small() {
  sw::compact_builder<double> builder;
  for (int x = 0; x < 3; ++x) builder.add_variable(std::vector<double>{3, 1});
  return sw::placement_problem<double>(builder.build());
}

}  // namespace composed_solvers
