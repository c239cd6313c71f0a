#include "all_plans.hpp"
#include "small_problems.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/best_plans.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
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

namespace best_plans_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What is promised whatever the solver is worth.
template <class Cost>
void check_promises(const std::vector<std::pair<double, sw::assignment>>& all, const sw::plan_ranking<Cost>& found) {
  std::set<sw::assignment> listed;
  for (std::size_t i = 0; i < found.plans.size(); ++i) {
    const auto& [answer, changed] = found.plans[i];
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const auto& plan) { return plan.second == answer.choice; });
    REQUIRE(known != all.end());
    CHECK(std::abs(known->first - static_cast<double>(answer.objective)) <= close_to(known->first));
    if (i > 0) CHECK(found.plans[i - 1].answer.objective <= answer.objective);
    double next_best = infinity;
    for (const auto& [objective, choice] : all)
      if (!listed.contains(choice)) {
        next_best = objective;
        break;
      }
    CHECK(answer.lower_bound <= next_best + close_to(next_best));
    CHECK((answer.status == sw::solve_status::optimal) == sw::proves(answer.lower_bound, answer.objective));
    CHECK(listed.insert(answer.choice).second);
    std::vector<std::uint32_t> differing;
    for (std::uint32_t v = 0; v < answer.choice.size(); ++v)
      if (answer.choice[v] != found.plans[0].answer.choice[v]) differing.push_back(v);
    CHECK(changed == differing);
  }
  for (const auto& [objective, choice] : all) {
    if (listed.contains(choice)) continue;
    CHECK(found.rest_bound <= objective + close_to(objective));
    break;
  }
}

std::string refusal_of(std::size_t count, const sw::best_plans_options& options) {
  const sw::placement_problem<double> problem(shardweave_test::draw_small<double>(1));
  return shardweave_test::refusal_of(
      [&] { return sw::best_plans(problem, any_policy<double>(sw::exhaustive{}), count, {}, options); });
}

}  // namespace

TEST_SUITE("best_plans") {
  TEST_CASE_TEMPLATE("plans come in the order of brute force, proven, until there are no more", Cost, double,
                     std::int64_t) {
    const any_policy<Cost> exact(sw::exhaustive{});
    std::size_t several = 0, exhausted = 0;
    for (std::uint64_t seed = 0; seed < at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto [stated, problem] = draw_tiny<Cost>(seed);
      if (!problem) continue;
      const auto all = all_plans(stated);
      const std::size_t count = 1 + seed % 7;
      const auto found = sw::best_plans(*problem, exact, count, {}, {.bound_steps = seed % 2 == 0 ? 60U : 0U});
      check_promises(all, found);
      REQUIRE(found.plans.size() == std::min(count, all.size()));
      for (std::size_t i = 0; i < found.plans.size(); ++i) {
        CHECK(std::abs(static_cast<double>(found.plans[i].answer.objective) - all[i].first) <= close_to(all[i].first));
        CHECK(found.plans[i].answer.status == sw::solve_status::optimal);
      }
      CHECK(found.status == (all.empty() ? sw::solve_status::infeasible : sw::solve_status::optimal));
      if (all.size() < count) CHECK(found.rest_bound == infinity);
      several += found.plans.size() > 2 ? 1U : 0U;
      exhausted += all.size() < count ? 1U : 0U;
    }
    CHECK(several > at_scale(40));
    CHECK(exhausted > at_scale(3));
  }

  TEST_CASE("plans told apart by a few vertices are the best of each kind") {
    const any_policy<double> exact(sw::exhaustive{});
    std::size_t several = 0;
    for (std::uint64_t seed = 500; seed < 500 + at_scale(160); ++seed) {
      CAPTURE(seed);
      const auto [stated, problem] = draw_tiny<double>(seed);
      if (!problem) continue;
      const auto n = static_cast<std::uint32_t>(stated.description.vertices.size());
      const std::vector<std::uint32_t> by{static_cast<std::uint32_t>(seed % n), 0};
      std::map<std::pair<sw::strategy, sw::strategy>, double> kinds;
      for (const auto& [objective, choice] : all_plans(stated))
        kinds.try_emplace({choice[by[0]], choice[0]}, objective);
      std::vector<double> expected;
      for (const auto& [kind, objective] : kinds) expected.push_back(objective);
      std::sort(expected.begin(), expected.end());
      const auto found = sw::best_plans(*problem, exact, 4, {}, {.differ_in = by});
      REQUIRE(found.plans.size() == std::min<std::size_t>(4, expected.size()));
      for (std::size_t i = 0; i < found.plans.size(); ++i) {
        CHECK(std::abs(found.plans[i].answer.objective - expected[i]) <= close_to(expected[i]));
        CHECK(found.plans[i].answer.status == sw::solve_status::optimal);
      }
      several += found.plans.size() > 2 ? 1U : 0U;
    }
    CHECK(several > at_scale(30));
  }

  TEST_CASE("a solver that proves nothing gives plans that differ, and bounds that hold") {
    std::size_t several = 0, proven = 0;
    for (std::uint64_t seed = 1000; seed < 1000 + at_scale(80); ++seed) {
      CAPTURE(seed);
      const auto [stated, problem] = draw_tiny<double>(seed);
      if (!problem) continue;
      const auto all = all_plans(stated);
      for (const any_policy<double>& policy :
           {any_policy<double>(few_dice{}), any_policy<double>(sw::trws{.sweeps = 3})}) {
        const auto found = sw::best_plans(*problem, policy, 3, {.seed = seed});
        check_promises(all, found);
        several += found.plans.size() == 3 ? 1U : 0U;
        for (const auto& plan : found.plans) proven += plan.answer.status == sw::solve_status::optimal ? 1U : 0U;
      }
    }
    CHECK(several > at_scale(50));
    CHECK(proven > at_scale(50));  // bounds of the parts prove what the solver did not
  }

  TEST_CASE("where savings count, bounds hold though the solver does not see them") {
    const any_policy<double> blind(sw::exhaustive{});
    std::size_t several = 0;
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<double>(seed);
      std::size_t combinations = 1;
      for (const auto& v : stated.description.vertices) combinations *= v.compute.size();
      if (combinations > 3000) continue;
      std::optional<sw::placement_problem<double>> problem;
      try {
        problem = sw::compile(stated.description);
      } catch (const sw::error&) {
        continue;
      }
      const auto found = sw::best_plans(*problem, blind, 4);
      check_promises(all_plans(stated), found);
      several += found.plans.size() > 2 && problem->savings() != nullptr ? 1U : 0U;
    }
    CHECK(several > at_scale(15));
  }

  TEST_CASE("along a chain plans are those of dynamic programming, and bounds spare most calls of the solver") {
    constexpr std::size_t length = shardweave_test::sized<std::size_t>(60, 20), labels = 4, count = 8;
    sw::random_source random(5);
    sw::compact_builder<double> builder;
    std::vector<double> best(labels);  // k best of each last label, carried along the chain
    std::vector<std::vector<double>> of_label(labels);
    std::vector<double> table;
    for (std::uint32_t x = 0; x < length; ++x) {
      std::vector<double> unary(labels);
      for (double& c : unary) c = 100 * random.unit();
      builder.add_variable(unary);
      std::vector<std::vector<double>> next(labels);
      if (x > 0) {
        table.assign(labels * labels, 0);
        for (double& c : table) c = 100 * random.unit();
        builder.add_edge(x - 1, x, shardweave_test::table_of<double>(labels, labels, table));
      }
      for (std::size_t l = 0; l < labels; ++l) {
        if (x == 0) next[l] = {unary[l]};
        for (std::size_t k = 0; k < labels && x > 0; ++k)
          for (const double before : of_label[k]) next[l].push_back(before + table[k * labels + l] + unary[l]);
        std::sort(next[l].begin(), next[l].end());
        next[l].resize(std::min(next[l].size(), count));
      }
      of_label = std::move(next);
    }
    std::vector<double> expected;
    for (const auto& list : of_label) expected.insert(expected.end(), list.begin(), list.end());
    std::sort(expected.begin(), expected.end());
    const sw::placement_problem<double> problem(builder.build());
    const any_policy<double> exact(sw::elimination{});
    const auto found = sw::best_plans(problem, exact, count);
    REQUIRE(found.plans.size() == count);
    for (std::size_t i = 0; i < count; ++i)
      CHECK(found.plans[i].answer.objective == doctest::Approx(expected[i]).epsilon(1e-12));
    CHECK(found.status == sw::solve_status::optimal);
    CHECK(found.rest_bound <= doctest::Approx(expected[count]).epsilon(1e-12));
    CHECK(found.solves <= 3 * count);
    const auto asked_always = sw::best_plans(problem, exact, 2, {}, {.bound_steps = 0});
    CHECK(asked_always.solves > length / 2);
    CHECK(asked_always.plans[1].answer.objective == found.plans[1].answer.objective);
  }

  TEST_CASE("a limit on calls, or a stop, leaves what was found with bounds that hold") {
    const sw::placement_problem<double> problem(
        shardweave_test::draw_small<double>(3, {.variables = 6, .most_labels = 4}));
    const any_policy<double> exact(sw::exhaustive{});
    const auto all = sw::best_plans(problem, exact, 6);
    REQUIRE(all.plans.size() == 6);
    const auto few = sw::best_plans(problem, exact, 6, {}, {.bound_steps = 0, .solves = 2});
    CHECK(few.status == sw::solve_status::stopped);
    CHECK(few.solves == 2);
    REQUIRE(few.plans.size() == 2);
    CHECK(few.plans[0].answer.objective == all.plans[0].answer.objective);
    CHECK(few.plans[0].answer.status == sw::solve_status::optimal);
    CHECK(few.rest_bound <= all.plans[1].answer.objective);
    std::stop_source stopped;
    stopped.request_stop();
    const auto nothing = sw::best_plans(problem, exact, 6, {.stop = stopped.get_token()});
    CHECK(nothing.plans.empty());
    CHECK(nothing.status == sw::solve_status::stopped);
  }

  TEST_CASE("no plans, and vertices that do not exist, are refused") {
    CHECK(refusal_of(0, {}) == "0 plans are asked for, expected at least 1");
    CHECK(refusal_of(2, {.differ_in = {0, 9}}) == "plans are to differ in vertex 9, but there are only 5");
  }
}

}  // namespace best_plans_tests
