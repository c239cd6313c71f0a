#pragma once

#include "schedulers.hpp"
#include "solvers.hpp"
#include <shardweave/bucketing/bucketing_policy.hpp>
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

/// Nothing, where a pass decides both at once.
struct chosen_bucketing {
  static constexpr std::string_view name = "chosen";
  way by;
  std::optional<shardweave::bytes> memory;

  [[nodiscard]] shardweave::bucketing_result operator()(const shardweave::task_graph& g,
                                                        const shardweave::solve_control& control) const {
    const auto known = passes();
    if (pass_of(by, known) != nullptr) return {};
    return by_name(bucketings(), by.bucketing).run(g, control, memory);
  }
};

struct chosen_scheduler {
  static constexpr std::string_view name = "chosen";
  way by;
  std::optional<shardweave::bytes> memory;

  [[nodiscard]] shardweave::schedule operator()(const shardweave::task_graph& g,
                                                const shardweave::bucketing_result& buckets,
                                                const shardweave::solve_control& control) const {
    const auto known = passes();
    if (const auto* pass = pass_of(by, known)) return pass->plan(g, control, memory);
    return by_name(schedulers(), by.scheduler).run(g, buckets, control, memory);
  }
};

}  // namespace programs
