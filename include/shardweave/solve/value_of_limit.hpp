#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/sensitivity.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The marginal value of a budget's limit.

namespace shardweave::inline v0 {

/// The best plan under one limit of a budget.
template <cost_value Cost>
struct limit_point {
  double high = 0;  ///< the limit, in the budget's own unit
  solution<Cost> answer;
  /// Shadow price of the limit, in cost per unit of the budget, by the multipliers of the best bound found: what one
  /// unit more saves, and one less costs, at the margin of the Lagrangian relaxation. Zero if the limit does not bind
  /// there, or no prices were asked for.
  double price = 0;
  double priced_bound = -std::numeric_limits<double>::infinity();  ///< lower bound on the objective, by that price

  /// A lower bound on the objective under a smaller limit.
  /// \pre limit <= high
  [[nodiscard]] double bound_at(double limit) const {
    const double priced = price == 0 ? priced_bound : priced_bound + price * (high - limit);
    return std::max(answer.lower_bound, priced);
  }
};

namespace detail {

/// The price of a budget: the sum over its rows, since they share the limit.
template <cost_value Cost>
void price_limit(const placement_problem<Cost>& problem, std::size_t budget, std::size_t steps, const deadline& limit,
                 limit_point<Cost>& point) {
  point.priced_bound = point.answer.lower_bound;
  const compact_problem<Cost>& p = problem.compact();
  if (std::ranges::none_of(p.rows(), [&](const usage_row& row) { return row.budget == budget; })) return;
  price_ascent<Cost> ascent(p);
  const double target = in_double(point.answer.objective);  // infinite without an assignment
  for (std::size_t i = 0; i < steps && !limit.expired() && ascent.step(target); ++i) {
  }
  const std::vector<double> prices = ascent.prices();
  double price = 0;
  for (std::size_t r = 0; r < prices.size(); ++r)
    if (p.rows()[r].budget == budget) price += std::max(prices[r], 0.0);
  if (price == 0) return;
  point.price = price;
  point.priced_bound = less_savings(problem, ascent.bound());
}

template <cost_value Cost, class S>
[[nodiscard]] limit_point<Cost> solve_within(const placement_description<Cost>& stated, std::size_t budget, double high,
                                             const S& policy, std::size_t steps, const deadline& limit) {
  auto changed = std::make_shared<placement_description<Cost>>(stated);
  changed->constraints.budgets[budget].high = high;
  limit_point<Cost> point{high, {}};
  std::optional<placement_problem<Cost>> problem;
  point.answer = answer_of<Cost>([&] {
    problem.emplace(compile<Cost>(std::shared_ptr<const placement_description<Cost>>(changed), limit.rest()));
    return solved_by(policy, *problem, limit.rest());
  });
  point.priced_bound = point.answer.lower_bound;
  if (problem) price_limit(*problem, budget, steps, limit, point);
  return point;
}

/// Transfers assignments and bounds from one point to another.
template <cost_value Cost>
void learn(limit_point<Cost>& point, const limit_point<Cost>& other) {
  solution<Cost>& answer = point.answer;
  if (other.high <= point.high && other.answer.has_assignment() &&
      (!answer.has_assignment() || other.answer.objective < answer.objective)) {
    answer.choice = other.answer.choice;
    answer.objective = other.answer.objective;
  }
  if (other.high >= point.high && answer.status != solve_status::infeasible)
    answer.lower_bound = std::max(answer.lower_bound, other.bound_at(point.high));
  if (!answer.has_assignment()) {
    if (answer.lower_bound == std::numeric_limits<double>::infinity()) answer.status = solve_status::infeasible;
    return;
  }
  if (!proves(answer.lower_bound, answer.objective)) return;
  answer.lower_bound = std::min(answer.lower_bound, in_double(answer.objective));
  answer.status = solve_status::optimal;
}

}  // namespace detail

/// The value of a budget's limit: solves the problem under each of some limits, with a shadow price for each.
/// `change_of_optimum` between two points bounds, for example, what one more gigabyte per device saves.
///
/// An assignment within a limit satisfies all larger ones, and a bound holds for all smaller ones; both are shared
/// between the points.
///
/// \param budget   by name, as stated; the first of that name
/// \param highs    limits to try, in the budget's unit
/// \param steps    of the price ascent, at most; 0: no prices
/// \param control  limits all calls together
/// \returns one point per limit, in the order of `highs`
/// \throws error (input) if there is no such budget, or as `compile` does; infeasible limits give `infeasible`
/// Complexity: a compilation and a call of the solver for each limit
template <cost_value Cost, class S>
[[nodiscard]] std::vector<limit_point<Cost>> value_of_limit(const placement_description<Cost>& stated,
                                                            std::string_view budget, std::span<const double> highs,
                                                            const S& policy, const solve_control& control = {},
                                                            std::size_t steps = 400) {
  const auto& budgets = stated.constraints.budgets;
  const auto at = std::ranges::find(budgets, budget, &shardweave::budget::name);
  if (at == budgets.end()) {
    std::string names;
    for (const auto& b : budgets) names += (names.empty() ? "'" : ", '") + b.name + "'";
    refuse(error_category::input, "there is no budget '" + std::string(budget) + "' to change" +
                                      (names.empty() ? std::string(": there is none at all") : ", only " + names));
  }
  const deadline limit(control);
  std::vector<limit_point<Cost>> points;
  for (const double high : highs)
    points.push_back(
        detail::solve_within(stated, static_cast<std::size_t>(at - budgets.begin()), high, policy, steps, limit));
  for (limit_point<Cost>& point : points)
    for (const limit_point<Cost>& other : points) detail::learn(point, other);
  return points;
}

}  // namespace shardweave::inline v0
