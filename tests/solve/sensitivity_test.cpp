#include "all_plans.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/sensitivity.hpp>

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
using shardweave_test::few_dice;
using shardweave_test::knapsack;
using shardweave_test::refusal_of;

namespace sensitivity_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_SUITE("cost_of_forcing") {
  TEST_CASE("is the optimum with the demand less the optimum, by brute force") {
    const any_policy<double> exact(sw::exhaustive{}), blind(few_dice{});
    std::size_t forced = 0, impossible = 0, free_of_charge = 0;
    for (std::uint64_t seed = 0; seed < at_scale(150); ++seed) {
      CAPTURE(seed);
      const auto [stated, problem] = draw_tiny<double>(seed);
      if (!problem) continue;
      const auto all = all_plans(stated);
      if (all.empty()) continue;
      sw::random_source random(seed);
      std::vector<sw::fixed_strategies> demands(1 + random.below(2));
      for (sw::fixed_strategies& demand : demands) {
        demand.vertex = static_cast<std::uint32_t>(random.below(stated.description.vertices.size()));
        const std::size_t strategies = stated.description.vertices[demand.vertex].compute.size();
        for (std::size_t i = 1 + random.below(2); i > 0; --i)
          demand.allowed.push_back(static_cast<sw::strategy>(random.below(strategies)));
      }
      const auto meets = [&](const auto& plan) {
        return std::ranges::all_of(demands, [&](const sw::fixed_strategies& d) {
          return std::ranges::find(d.allowed, plan.second[d.vertex]) != d.allowed.end();
        });
      };
      const auto best = std::ranges::find_if(all, meets);
      const auto known = exact.solve(*problem);
      const auto told = sw::cost_of_forcing(*problem, known, demands, exact);
      const auto guessed = sw::cost_of_forcing(*problem, blind.solve(*problem), demands, blind);
      if (best == all.end()) {
        CHECK(told.answer.status == sw::solve_status::infeasible);
        CHECK(told.cost.least == infinity);
        CHECK(told.cost.is_exact());
        CHECK(guessed.cost.most == infinity);
        ++impossible;
        continue;
      }
      const double expected = best->first - all.front().first;
      CHECK(std::abs(told.answer.objective - best->first) <= close_to(best->first));
      CHECK(meets(std::pair(0.0, told.answer.choice)));
      CHECK(told.cost.is_exact(told.answer.objective));
      CHECK(std::abs(told.cost.least - expected) <= 2 * close_to(best->first));
      CHECK(guessed.cost.least <= expected + close_to(best->first));
      CHECK(guessed.cost.most >= expected - close_to(best->first));
      ++forced;
      free_of_charge += expected == 0 ? 1U : 0U;
    }
    CHECK(forced > at_scale(60));
    CHECK(impossible > at_scale(5));
    CHECK(free_of_charge > at_scale(5));
  }

  TEST_CASE("a better plan found on the way does not make a demand pay") {
    const auto d = knapsack({5, 3}, 2);
    const auto problem = sw::compile(d);
    const any_policy<double> exact(sw::exhaustive{});
    const std::vector<sw::strategy> poor{0, 0};
    const auto known = sw::conclude<double>(problem, poor, -10, false, {.solver = "nobody"});
    REQUIRE(known.objective == 8);
    const std::vector<sw::fixed_strategies> demand{{0, {1}, "inside"}};
    const auto told = sw::cost_of_forcing(problem, known, demand, exact);
    CHECK(told.answer.objective == 0);
    CHECK(told.cost.least == 0);
    CHECK(told.cost.most == 10);  // as far as the known bound goes
  }

  TEST_CASE("vertices and strategies that do not exist are refused") {
    const auto problem = sw::compile(knapsack({5, 3}, 2));
    const any_policy<double> exact(sw::exhaustive{});
    const auto forcing = [&](std::uint32_t vertex, sw::strategy s) {
      return refusal_of([&] {
        const std::vector<sw::fixed_strategies> demand{{vertex, {s}, ""}};
        static_cast<void>(sw::cost_of_forcing(problem, exact.solve(problem), demand, exact));
      });
    };
    CHECK(forcing(2, 0) == "vertex 2 is to be forced, but there are only 2");
    CHECK(forcing(1, 3) == "vertex 1 is to be forced to strategy 3, but has only 2");
    CHECK(forcing(1, 1).empty());
  }
}

TEST_SUITE("cost_of_constraints") {
  TEST_CASE("is the optimum under the others less the optimum, below zero where they leave more") {
    const any_policy<double> exact(sw::exhaustive{});
    std::size_t dearer = 0, cheaper = 0, impossible = 0;
    for (std::uint64_t seed = 0; seed < at_scale(200); ++seed) {
      CAPTURE(seed);
      auto [stated, problem] = draw_tiny<double>(seed);
      if (!problem) continue;
      const auto before = all_plans(stated);
      if (before.empty()) continue;
      const auto known = exact.solve(*problem);
      const auto original = stated.description;
      sw::random_source random(seed);
      auto& changed = stated.description.constraints;
      if (random.chance(0.5)) changed.fixed.clear();
      if (random.chance(0.5)) changed.ties.clear();
      if (random.chance(0.5)) changed.pairs.clear();
      if (random.chance(0.5)) changed.budgets.clear();
      const auto vertex = static_cast<std::uint32_t>(random.below(original.vertices.size()));
      if (random.chance(0.5))
        changed.fixed.push_back(
            {vertex, {static_cast<sw::strategy>(random.below(original.vertices[vertex].compute.size()))}, "so"});
      const auto after = all_plans(stated);
      const auto told = sw::cost_of_constraints(original, known, changed, exact);
      if (after.empty()) {
        CHECK(told.answer.status == sw::solve_status::infeasible);
        CHECK(told.cost.least == infinity);
        ++impossible;
        continue;
      }
      const double expected = after.front().first - before.front().first;
      CHECK(std::abs(told.answer.objective - after.front().first) <= close_to(after.front().first));
      CHECK(told.cost.is_exact(told.answer.objective));
      CHECK(std::abs(told.cost.most - expected) <= 2 * close_to(after.front().first));
      dearer += expected > 0 ? 1U : 0U;
      cheaper += expected < 0 ? 1U : 0U;
    }
    CHECK(dearer > shardweave_test::sized<std::size_t>(20, 0));
    CHECK(cheaper > shardweave_test::sized<std::size_t>(20, 0));
    CHECK(impossible > 0);
  }
}

}  // namespace sensitivity_tests
