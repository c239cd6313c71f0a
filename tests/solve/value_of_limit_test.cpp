#include "all_plans.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/value_of_limit.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::all_plans;
using shardweave_test::any_policy;
using shardweave_test::at_scale;
using shardweave_test::close_to;
using shardweave_test::draw_tiny;
using shardweave_test::knapsack;
using shardweave_test::refusal_of;

namespace value_of_limit_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_SUITE("value_of_limit") {
  TEST_CASE("every limit gets its optimum, and a price that bounds all smaller ones") {
    const any_policy<double> exact(sw::exhaustive{});
    std::size_t priced = 0, infeasible = 0, falling = 0;
    for (std::uint64_t seed = 0; seed < at_scale(300); ++seed) {
      CAPTURE(seed);
      auto features = shardweave_test::problem_features::combination(seed % 2 == 0 ? 0b0100001U : 0b1000110U);
      features.impossible = false;
      auto stated = draw_tiny<double>(seed, features).stated;
      auto& budgets = stated.description.constraints.budgets;
      if (budgets.empty() || !std::isfinite(budgets[0].high)) continue;
      const double high = budgets[0].high;
      const double low = budgets[0].low;
      const std::vector<double> limits{high, std::max(low, 0.6 * high), 1.5 * high, std::max(low, 0.9 * high),
                                       infinity};
      const auto points = sw::value_of_limit(stated.description, budgets[0].name, limits, exact, {}, 80);
      REQUIRE(points.size() == limits.size());
      std::vector<double> optimum;
      for (const double limit : limits) {
        budgets[0].high = limit;
        const auto all = all_plans(stated);
        optimum.push_back(all.empty() ? infinity : all.front().first);
      }
      for (std::size_t i = 0; i < limits.size(); ++i) {
        CHECK(points[i].high == limits[i]);
        CHECK(points[i].price >= 0);
        if (optimum[i] == infinity) {
          CHECK(points[i].answer.status == sw::solve_status::infeasible);
          ++infeasible;
          continue;
        }
        CHECK(points[i].answer.status == sw::solve_status::optimal);
        CHECK(std::abs(points[i].answer.objective - optimum[i]) <= close_to(optimum[i]));
        for (std::size_t j = 0; j < limits.size(); ++j)
          if (limits[j] <= limits[i] && optimum[j] < infinity)
            CHECK(points[i].bound_at(limits[j]) <= optimum[j] + close_to(optimum[j]));
        priced += points[i].price > 0 ? 1U : 0U;
      }
      const sw::cost_range change = sw::change_of_optimum(points[1].answer, points[2].answer);
      if (optimum[1] == infinity) continue;
      CHECK(change.is_exact(optimum[1]));
      CHECK(std::abs(change.least - (optimum[2] - optimum[1])) <= 2 * close_to(optimum[1]));
      falling += change.most < 0 ? 1U : 0U;
    }
    CHECK(priced > at_scale(30));
    CHECK(infeasible > at_scale(5));
    CHECK(falling > at_scale(10));
  }

  TEST_CASE("the price is what the last thing that fits in part would pay for room") {
    const any_policy<double> exact(sw::exhaustive{});
    const std::vector<double> limits{1.5, 2.5, 3};
    const auto points = sw::value_of_limit(knapsack({10, 6, 3}, 1), "room", limits, exact);
    const double expected[] = {6, 3, 0}, optimum[] = {9, 3, 0};
    for (std::size_t i = 0; i < limits.size(); ++i) {
      CHECK(points[i].price == doctest::Approx(expected[i]).epsilon(0.02));
      CHECK(points[i].answer.objective == optimum[i]);
    }
    CHECK(points[2].bound_at(-infinity) == 0);  // a limit that does not bind says nothing of smaller ones
    CHECK(points[0].bound_at(0.5) == doctest::Approx(12).epsilon(0.02));  // half of 6 and 3 stay out, and 6 for a unit
    const auto unpriced = sw::value_of_limit(knapsack({10, 6, 3}, 1), "room", limits, exact, {}, 0);
    CHECK(unpriced[0].price == 0);
    CHECK(unpriced[0].priced_bound == 9);
  }

  TEST_CASE("one point's assignment serves the larger limits, and its bound the smaller ones") {
    const auto d = knapsack({10, 6, 3}, 1);
    struct one_sided {  // has assignments for small limits alone, bounds for large ones alone
      [[nodiscard]] sw::solution<double> solve(const sw::placement_problem<double>& problem,
                                               const sw::solve_control& control) const {
        auto answer = sw::exhaustive{}.solve(problem, control);
        const bool small = problem.description()->constraints.budgets[0].high < 2;
        if (!small) answer.choice.clear(), answer.objective = sw::forbidden<double>;
        if (small) answer.lower_bound = -infinity;
        answer.status = small ? sw::solve_status::feasible : sw::solve_status::stopped;
        return answer;
      }
    };
    const std::vector<double> limits{1, 2};
    const auto points = sw::value_of_limit(d, "room", limits, any_policy<double>(one_sided{}), {}, 0);
    CHECK(points[1].answer.objective == 9);
    CHECK(points[1].answer.lower_bound == 3);
    CHECK(points[0].answer.lower_bound == 3);
    const auto change = sw::change_of_optimum(points[0].answer, points[1].answer);
    CHECK(change.least == 3 - 9);
    CHECK(change.most == 9 - 3);
    CHECK_FALSE(change.is_exact());
  }

  TEST_CASE("a budget that was not stated is refused, and a contradiction is an answer") {
    const any_policy<double> exact(sw::exhaustive{});
    const std::vector<double> limits{-1};
    auto d = knapsack({1}, 1);
    const auto asking = [&](const char* name) {
      return refusal_of([&] { static_cast<void>(sw::value_of_limit(d, name, limits, exact)); });
    };
    CHECK(asking("rome") == "there is no budget 'rome' to change, only 'room'");
    const auto points = sw::value_of_limit(d, "room", limits, exact);
    CHECK(points[0].answer.status == sw::solve_status::infeasible);
    CHECK(sw::change_of_optimum(exact.solve(sw::compile(d)), points[0].answer).least == infinity);
    CHECK(sw::change_of_optimum(points[0].answer, exact.solve(sw::compile(d))).most == -infinity);
    d.constraints.budgets.clear();
    CHECK(asking("room") == "there is no budget 'room' to change: there is none at all");
  }
}

}  // namespace value_of_limit_tests
