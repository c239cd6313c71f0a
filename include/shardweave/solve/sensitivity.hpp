#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/solve_restricted.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What a demand costs, and what room in a budget is worth.

namespace shardweave::inline v0 {

/// A figure between two bounds, in the unit of costs.
struct cost_range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  /// The two meet, up to what counts as optimal for objectives of this size.
  [[nodiscard]] bool is_exact(double objective = 0) const {
    return least == most || most - least <= 4 * optimality_tolerance * std::max(1.0, std::abs(objective));
  }
};

/// By how much the optimum of `to` lies above that of `from`: objectives and bounds say within which range. It is
/// infinite where one of the two is infeasible.
template <cost_value Cost>
[[nodiscard]] cost_range change_of_optimum(const solution<Cost>& from, const solution<Cost>& to) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (to.status == solve_status::infeasible) return {infinity, infinity};
  if (from.status == solve_status::infeasible) return {-infinity, -infinity};
  const auto most = [](const solution<Cost>& s) {
    return s.has_assignment() ? static_cast<double>(s.objective) : infinity;
  };
  return {to.lower_bound - most(from), most(to) - from.lower_bound};
}

/// The best answer that meets a demand, and what the demand costs.
template <cost_value Cost>
struct forced_plan {
  solution<Cost> answer;
  cost_range cost;  ///< infinite if nothing feasible meets the demand
};

/// What it costs to force strategies: the optimum among the assignments that have them, less the optimum. Never below
/// zero.
///
/// \param known    an answer to the problem without the demand
/// \param demands  to be met together
/// \param policy   solves the problem that is left; where neither it nor `known` proves an optimum, the cost is a range
/// \throws error (input) for a vertex or a strategy that does not exist
/// Complexity: one call of the solver
template <cost_value Cost, class S>
  requires solver<S, Cost>
[[nodiscard]] forced_plan<Cost> cost_of_forcing(const placement_problem<Cost>& problem, const solution<Cost>& known,
                                                std::span<const fixed_strategies> demands, const S& policy,
                                                const solve_control& control = {}) {
  const compact_problem<Cost>& p = problem.compact();
  restriction<Cost> left(p);
  for (const fixed_strategies& wanted : demands) {
    if (wanted.vertex >= problem.vertex_count())
      refuse(error_category::input, "vertex " + std::to_string(wanted.vertex) +
                                        " is to be forced, but there are only " +
                                        std::to_string(problem.vertex_count()));
    const std::uint32_t x = problem.variable_of(wanted.vertex);
    const std::size_t strategies = problem.description() == nullptr
                                       ? p.label_count(x)
                                       : problem.description()->vertices[wanted.vertex].compute.size();
    for (const strategy s : wanted.allowed)
      if (s >= strategies)
        refuse(error_category::input, "vertex " + std::to_string(wanted.vertex) + " is to be forced to strategy " +
                                          std::to_string(s) + ", but has only " + std::to_string(strategies));
    for (strategy l = 0; l < p.label_count(x); ++l)
      if (std::ranges::find(wanted.allowed, problem.strategy_of(x, l)) == wanted.allowed.end()) left.forbid(x, l);
  }
  forced_plan<Cost> result{detail::solve_restricted(problem, std::move(left), policy, control).answer, {}};
  result.cost = change_of_optimum(known, result.answer);
  result.cost.least = std::max(result.cost.least, 0.0);
  result.cost.most = std::max(result.cost.most, 0.0);
  return result;
}

namespace detail {

/// Compiles and solves; contradictory constraints and a stop before the end are answers.
template <cost_value Cost, class Work>
[[nodiscard]] solution<Cost> answer_of(const Work& work) {
  solution<Cost> answer;
  try_to([&] { answer = work(); },
         [&](const error& e) {
           auto known = outcome_of<Cost>(e);
           if (!known) return false;
           answer = *std::move(known);
           return true;
         });
  return answer;
}

}  // namespace detail

/// What it costs to state other constraints: the optimum under them, less the optimum. Below zero where they leave
/// more.
///
/// \param stated  the problem, with the constraints under which `known` was found
/// \param known   an answer to it
/// \throws error (input) as `compile` does; constraints that nothing keeps give `infeasible`
/// Complexity: a compilation and a call of the solver
template <cost_value Cost, class S>
  requires solver<S, Cost>
[[nodiscard]] forced_plan<Cost> cost_of_constraints(const placement_description<Cost>& stated,
                                                    const solution<Cost>& known, constraint_set constraints,
                                                    const S& policy, const solve_control& control = {}) {
  const deadline limit(control);
  auto changed = std::make_shared<placement_description<Cost>>(stated);
  changed->constraints = std::move(constraints);
  forced_plan<Cost> result{
      detail::answer_of<Cost>([&] {
        return policy.solve(
            compile<Cost>(std::shared_ptr<const placement_description<Cost>>(std::move(changed)), limit.rest()),
            limit.rest());
      }),
      {}};
  result.cost = change_of_optimum(known, result.answer);
  return result;
}

/// The best plan under one limit of a budget.
template <cost_value Cost>
struct limit_point {
  double high = 0;  ///< the limit, in the budget's own unit
  solution<Cost> answer;
  /// The shadow price: what one unit more saves and one unit less costs at the margin, as a relaxation sees it:
  /// strategies may be mixed there. Zero where the limit does not bind.
  double price = 0;
  double priced_bound = -std::numeric_limits<double>::infinity();  ///< on the objective, from that price

  /// No assignment within a smaller limit costs less.
  /// \pre limit <= high
  [[nodiscard]] double bound_at(double limit) const {
    const double priced = price == 0 ? priced_bound : priced_bound + price * (high - limit);
    return std::max(answer.lower_bound, priced);
  }
};

namespace detail {

/// The price of a budget: of all its rows together, since they share the limit.
template <cost_value Cost>
void price_limit(const placement_problem<Cost>& problem, std::size_t budget, std::size_t steps, const deadline& limit,
                 limit_point<Cost>& point) {
  point.priced_bound = point.answer.lower_bound;
  const compact_problem<Cost>& p = problem.compact();
  if (std::ranges::none_of(p.rows(), [&](const usage_row& row) { return row.budget == budget; })) return;
  price_ascent<Cost> ascent(p);
  const double target = point.answer.has_assignment() ? static_cast<double>(point.answer.objective)
                                                      : std::numeric_limits<double>::infinity();
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
    return policy.solve(*problem, limit.rest());
  });
  point.priced_bound = point.answer.lower_bound;
  if (problem) price_limit(*problem, budget, steps, limit, point);
  return point;
}

/// What one point says of another.
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
  answer.lower_bound = std::min(answer.lower_bound, static_cast<double>(answer.objective));
  answer.status = solve_status::optimal;
}

}  // namespace detail

/// What a budget's limit is worth: the problem is solved under each of some limits, and each gets a price. With
/// `change_of_optimum` between two points, "what does one more gigabyte per device save" has an answer with bounds.
///
/// What keeps a limit keeps a larger one too: assignments count for all larger limits of the list, bounds for all
/// smaller ones.
///
/// \param budget  by name, as stated; the first of that name
/// \param highs   the limits to try, in the budget's unit
/// \param steps   of the price, at most; 0: no prices
/// \throws error (input) if there is no such budget, or as `compile` does; limits that nothing keeps give `infeasible`
/// Complexity: a compilation and a call of the solver for each limit
template <cost_value Cost, class S>
  requires solver<S, Cost>
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
