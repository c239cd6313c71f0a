#pragma once

#include "schedulers.hpp"
#include "solvers.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <concepts>
#include <optional>
#include <string_view>

/// \file
/// Policies that a command line chose, in the form in which a pipeline takes them.

namespace programs {

struct chosen_solver {
  static constexpr std::string_view name = "chosen";
  static constexpr shardweave::solver_abilities abilities{.budgets = true};
  named_solver<double> policy;
  std::optional<shardweave::solution<double>> given = std::nullopt;  ///< the answer, if there is one already

  template <shardweave::cost_value Cost>
    requires std::same_as<Cost, double>
  [[nodiscard]] shardweave::solution<Cost> solve(const shardweave::placement_problem<Cost>& problem,
                                                 const shardweave::solve_control& control) const {
    if (given) return *given;
    return policy.solve(problem, control);
  }
};

/// Buckets and order by their names.
struct chosen_pass {
  static constexpr std::string_view name = "chosen";
  way by;
  std::optional<shardweave::bytes> memory;

  [[nodiscard]] shardweave::schedule plan(const shardweave::task_graph& g,
                                          const shardweave::solve_control& control) const {
    return planned(by, g, control, memory);
  }
};

}  // namespace programs
