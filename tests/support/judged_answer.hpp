#pragma once

#include <shardweave/solve/solution.hpp>

#include <support/random_savings.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

/// \file
/// What every answer promises, held against what trying all assignments has found; for those who judge without a
/// framework of tests.

namespace shardweave_test {

/// A problem, and what is known of it without the library.
template <class Cost>
struct judged_problem {
  random_problem<Cost> stated;
  std::vector<position_set> sets;  ///< where communication may hide
  brute_optimum<Cost> best;
  double rounding = 0;  ///< by which sums of costs may be off

  explicit judged_problem(random_problem<Cost> problem)
      : stated(std::move(problem)), sets(position_sets(stated.description)), best(brute_force_with_savings(stated)) {
    const auto add_largest = [&](const std::vector<Cost>& costs) {
      double largest = 0;
      for (const Cost c : costs)
        if (!sw::is_forbidden(c)) largest = std::max(largest, std::abs(static_cast<double>(c)));
      rounding += 1e-12 * largest;
    };
    for (const auto& v : stated.description.vertices) add_largest(v.compute);
    for (const auto& e : stated.description.edges)
      for (const std::uint32_t t : {e.communication, e.transition})
        if (t != sw::no_table) add_largest(stated.dense[t].entries);
  }

  /// Costs less savings; nothing if the assignment breaks something.
  [[nodiscard]] std::optional<Cost> objective(const sw::assignment& choice) const {
    const std::optional<Cost> cost = price_of(stated, choice);
    return cost ? std::optional(*cost - savings_by_flow(stated, sets, choice)) : cost;
  }
  [[nodiscard]] double slack(double value) const { return 1e-8 * std::max(1.0, std::abs(value)) + rounding; }
  /// Whether a lower bound holds.
  [[nodiscard]] bool holds(double bound) const {
    if (!best.objective) return !std::isnan(bound);
    const auto optimum = static_cast<double>(*best.objective);
    return bound <= optimum + slack(optimum);
  }
  [[nodiscard]] bool is_no_worse(const sw::solution<Cost>& answer, Cost known) const {
    if (!answer.has_assignment()) return false;
    if constexpr (std::numeric_limits<Cost>::is_integer) {
      return answer.objective <= known;
    } else {
      return answer.objective <= known + slack(known);
    }
  }
};

/// The first promise that an answer breaks, or "".
template <class Cost>
[[nodiscard]] std::string broken_promise(const judged_problem<Cost>& problem, const sw::solution<Cost>& answer) {
  const std::optional<Cost>& best = problem.best.objective;
  if (!problem.holds(answer.lower_bound)) return "the bound is above the optimum, or not a number";
  if (best && answer.status == sw::solve_status::infeasible) return "called infeasible";
  if (answer.status == sw::solve_status::infeasible && answer.lower_bound != std::numeric_limits<double>::infinity())
    return "infeasible, with a bound that does not say so";
  if (!answer.has_assignment()) {
    if (answer.status == sw::solve_status::optimal || answer.status == sw::solve_status::feasible)
      return "called " + std::string(sw::name_of(answer.status)) + " without an assignment";
    return "";
  }
  if (!best) return "an assignment of what is infeasible";
  const std::optional<Cost> found = problem.objective(answer.choice);
  if (!found) return "the assignment breaks a constraint";
  const auto value = static_cast<double>(*found), optimum = static_cast<double>(*best);
  if (std::abs(static_cast<double>(answer.objective) - value) > problem.slack(value))
    return "the objective is not what it costs";
  if (value < optimum - problem.slack(optimum)) return "better than the best";
  if (static_cast<double>(answer.objective) < answer.lower_bound) return "the objective is below the bound";
  if (answer.status == sw::solve_status::optimal) {
    if (!sw::proves(answer.lower_bound, answer.objective)) return "called optimal without a proof";
    if (value > optimum + problem.slack(optimum)) return "called optimal, and is not";
    if (std::numeric_limits<Cost>::is_integer && *found != *best) return "called optimal in whole numbers, and is not";
  }
  return "";
}

}  // namespace shardweave_test
