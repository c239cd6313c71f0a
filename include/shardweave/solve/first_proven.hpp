#pragma once

#include <shardweave/solve/detail/composed.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

/// \file
/// Several solvers, one after another.

namespace shardweave::inline v0 {

/// Runs solvers in the order in which they are given until the assignments and bounds found so far prove an optimum (or
/// are within `control.gap`), or prove the problem infeasible. The best assignment and the best bound of all are kept,
/// so that one solver's bound may prove another one's assignment.
///
/// Progress reports the best assignment and bound so far. With a time limit each of the k remaining solvers gets a k-th
/// of the time that is left; unused time is left to the later ones.
template <class... Solvers>
class first_proven {
  static_assert(sizeof...(Solvers) > 0, "first_proven needs at least one solver.");

 public:
  static constexpr std::string_view name = "first_proven";
  static constexpr solver_abilities abilities{.budgets = (detail::abilities_of<Solvers>.budgets || ...),
                                              .savings = (detail::abilities_of<Solvers>.savings || ...)};

  std::tuple<Solvers...> solvers;

  first_proven() = default;
  explicit first_proven(Solvers... in_order)
    requires(sizeof...(Solvers) > 0)
      : solvers(std::move(in_order)...) {}

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    const deadline limit(control);
    std::optional<solution<Cost>> best;
    std::size_t to_come = sizeof...(Solvers);
    const auto run = [&](const auto& next) {
      const double share = 1.0 / static_cast<double>(to_come--);
      if (best && (detail::is_settled(*best, control.gap) || limit.expired())) return;
      solve_control own = detail::shared_time(limit, share);
      if (best && control.progress)
        own.progress = [&](progress_report report) {
          if (best->has_assignment())
            report.objective = std::min(report.objective, static_cast<double>(best->objective));
          report.lower_bound = std::max(report.lower_bound, best->lower_bound);
          report.seconds = limit.elapsed();
          control.progress(report);
        };
      solution<Cost> found = detail::solved_by(next, problem, own);
      best = best ? merged(*std::move(best), std::move(found)) : std::move(found);
    };
    std::apply([&](const auto&... each) { (run(each), ...); }, solvers);
    return detail::ended(*std::move(best), problem, control, limit);
  }
};

}  // namespace shardweave::inline v0
