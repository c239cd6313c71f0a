#include "support/random_savings.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/conclude.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace conclude_tests {
namespace {

namespace sw = shardweave;

constexpr double infinity = std::numeric_limits<double>::infinity();
using labels = std::vector<sw::strategy>;

/// Costs 1, 2 and 10, 20; both second strategies together are too much for the budget.
sw::placement_problem<double> two_variables() {
  sw::placement_description<double> d;
  d.vertices.resize(2);
  d.vertices[0].compute = {2, 1};
  d.vertices[1].compute = {20, 10};
  d.constraints.budgets.push_back({"memory", -infinity, 3, {{0, {1, 2}, {}}, {1, {1, 2}, {}}}});
  return sw::compile(d);
}

sw::solution<double> conclude(const labels& l, double bound, bool stopped = false) {
  return sw::conclude<double>(two_variables(), l, bound, stopped, {.solver = "test", .note = "so it was."});
}

}  // namespace

TEST_SUITE("conclude") {
  TEST_CASE("an answer that a bound meets is optimal") {
    const auto s = conclude({0, 1}, 12);
    CHECK(s.status == sw::solve_status::optimal);
    CHECK(s.choice == sw::assignment{0, 1});
    CHECK(s.objective == 12);
    CHECK(s.lower_bound == 12);
    CHECK(s.gap() == 0);
    CHECK(s.statistics.solver == "test");
    CHECK(s.statistics.note == "so it was.");
    CHECK(conclude({0, 1}, 12 - 1e-9).status == sw::solve_status::optimal);
    CHECK(conclude({0, 1}, 12, true).status == sw::solve_status::optimal);
    CHECK(conclude({0, 1}, 12.5).lower_bound == 12);  // no more than what is proven by an assignment
  }

  TEST_CASE("an answer that no bound meets is feasible, or stopped") {
    const auto s = conclude({0, 1}, 10);
    CHECK(s.status == sw::solve_status::feasible);
    CHECK(s.gap() == doctest::Approx(0.2));
    CHECK(conclude({0, 1}, 10, true).status == sw::solve_status::stopped);
    CHECK(conclude({0, 0}, -infinity).gap() == infinity);
    CHECK(conclude({0, 1}, 0).gap() > 1e100);
  }

  TEST_CASE("an assignment that breaks a constraint does not come back") {
    const auto s = conclude({1, 1}, 11);
    CHECK(s.choice.empty());
    CHECK_FALSE(s.has_assignment());
    CHECK(s.objective == infinity);
    CHECK(s.lower_bound == 11);
    CHECK(s.status == sw::solve_status::stopped);
    CHECK(s.gap() == infinity);
    CHECK(s.statistics.note ==
          "so it was. an assignment was dropped: budget 'memory' uses 4, more than its "
          "limit 3.");
  }

  TEST_CASE("without an assignment an infinite bound says infeasible, any other stopped") {
    CHECK(conclude({}, infinity).status == sw::solve_status::infeasible);
    CHECK(conclude({}, 11).status == sw::solve_status::stopped);
    CHECK(conclude({}, -infinity, true).status == sw::solve_status::stopped);
  }

  TEST_CASE(
      "of two answers the better bound stays, and of equal assignments the earlier one, or the one that is proven") {
    const auto of = [](sw::strategy s, double objective, double bound, sw::solve_status status) {
      sw::solution<double> one;
      one.choice = {s};
      one.objective = objective;
      one.lower_bound = bound;
      one.status = status;
      return one;
    };
    using enum sw::solve_status;
    const auto first = of(0, 5, 1, feasible), second = of(1, 5, 3, feasible), better = of(2, 4, 2, feasible),
               proven = of(3, 5, 5, optimal);
    CHECK(sw::merged(first, second).choice == first.choice);
    CHECK(sw::merged(second, first).choice == second.choice);
    for (const auto& both : {sw::merged(first, second), sw::merged(second, first)}) CHECK(both.lower_bound == 3);
    CHECK(sw::merged(first, better).choice == better.choice);
    CHECK(sw::merged(better, first).choice == better.choice);
    CHECK(sw::merged(first, proven).choice == proven.choice);
    CHECK(sw::merged(proven, first).choice == proven.choice);
    CHECK(sw::merged(first, proven).status == optimal);
  }

  TEST_CASE("a feasible start comes back where labels are worse or missing; any other is spoken of once") {
    const auto problem = two_variables();
    const auto with_start = [&](const labels& l, sw::assignment start) {
      sw::solve_control control;
      control.start = std::move(start);
      return sw::conclude<double>(problem, l, -infinity, false, {}, control);
    };
    CHECK(with_start({0, 0}, {0, 1}).objective == 12);
    CHECK(with_start({0, 1}, {0, 0}).objective == 12);
    CHECK(with_start({}, {0, 0}).objective == 22);
    CHECK(with_start({}, {0, 0}).statistics.note.empty());
    CHECK_FALSE(with_start({}, {1, 1}).has_assignment());
    CHECK(with_start({}, {1, 1}).statistics.note ==
          "the start is not feasible: budget 'memory' uses 4, more than its limit 3.");
    CHECK(with_start({}, {0}).statistics.note == "the start has 1 strategies for 2 vertices.");
    CHECK(with_start({}, {0, 7}).statistics.note ==
          "the start has a strategy that no feasible assignment has, or breaks a tie.");
    sw::solve_control control;
    control.start = {0};
    auto twice = with_start({0, 0}, {0});
    sw::detail::keep_start(problem, control, twice);
    CHECK(twice.statistics.note == "the start has 1 strategies for 2 vertices.");
  }

  TEST_CASE("a gap that is asked for is enough, and said") {
    sw::solve_control control;
    control.gap = 0.2;
    const auto near = sw::conclude<double>(two_variables(), labels{0, 1}, 10, true, {}, control);
    CHECK(near.status == sw::solve_status::feasible);
    CHECK(near.statistics.note == "within the gap that was asked for.");
    control.gap = 0.1;
    CHECK(sw::conclude<double>(two_variables(), labels{0, 1}, 10, true, {}, control).status ==
          sw::solve_status::stopped);
  }

  TEST_CASE("of a bound on costs the largest savings go off before it is one on the objective") {
    std::size_t with_savings = 0;
    for (std::uint64_t seed = 1; seed < 30; ++seed) {
      const auto stated = shardweave_test::draw_savings_problem<double>(seed);
      std::optional<sw::placement_problem<double>> problem;
      try {
        problem = sw::compile(stated.description);
      } catch (const sw::error&) {
        continue;
      }
      const auto best = shardweave_test::brute_force_with_savings(stated);
      if (!best.objective || problem->savings() == nullptr) continue;
      ++with_savings;
      double least_cost = infinity;
      shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) {
        least_cost = std::min(least_cost, *shardweave_test::price_of(stated, choice));
      });
      const auto of_costs = sw::conclude<double>(*problem, {}, least_cost, false, {});
      CHECK(of_costs.lower_bound <= *best.objective + 1e-9 * std::abs(*best.objective));
      const auto of_objective =
          sw::conclude<double>(*problem, {}, *best.objective, false, {}, {}, sw::bound_on::objective);
      CHECK(of_objective.lower_bound == *best.objective);
    }
    CHECK(with_savings > 5);
  }

  TEST_CASE("two answers in one add up their time and work; a first one that failed is not quoted") {
    sw::solution<double> first, second;
    first.statistics = {.solver = "a", .seconds = 2, .iterations = 10, .note = "nothing found."};
    first.statistics.counters = {{"x", 1}};
    second.statistics = {.solver = "b", .seconds = 3, .seconds_to_best = 1, .iterations = 5, .note = "found."};
    second.statistics.counters = {{"y", 2}};
    second.choice = {0};
    second.objective = 4;
    second.lower_bound = 1;
    second.status = sw::solve_status::stopped;
    const auto both = sw::merged(first, second);
    CHECK(both.statistics.solver == "b");
    CHECK(both.statistics.seconds == 5);
    CHECK(both.statistics.seconds_to_best == 3);  // the second one began after the first
    CHECK(both.statistics.iterations == 15);
    CHECK(both.statistics.note == "found.");
    CHECK(both.statistics.counters.size() == 2);
    CHECK(both.status == sw::solve_status::stopped);
    first.lower_bound = 0;
    CHECK(sw::merged(first, second).statistics.note == "nothing found. found.");
    CHECK(sw::merged(second, first).statistics.seconds_to_best == 1);
  }
}

}  // namespace conclude_tests
