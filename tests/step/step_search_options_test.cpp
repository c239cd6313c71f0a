#include "step/stated_step.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_planner.hpp>
#include <shardweave/step/step_search.hpp>
#include <shardweave/step/step_search_options.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace step_search_options_tests {
namespace {
using stated_step::stated;

struct numbered_plan {
  double step = 0;
  std::size_t number = 0;  ///< in the order in which they were made
};
/// Tells which plans were asked for, and which were to be improved with what effort. A step is the sum of computation
/// of the first vertices alone.
struct telling_planner {
  const tiny_steps::model& m;
  std::size_t planned;
  std::vector<std::vector<sw::strategy>>& made;
  std::map<std::size_t, std::vector<std::size_t>>& improved_with;  ///< by effort: numbers of plans
  std::vector<double>& steps;

  [[nodiscard]] numbered_plan operator()(std::span<const sw::strategy> choice, const sw::solve_control&) const {
    double step = 1;
    for (std::uint32_t v = 0; v < planned; ++v) step += m.vertex_time(v, choice[v]);
    made.emplace_back(choice.begin(), choice.begin() + static_cast<std::ptrdiff_t>(planned));
    steps.push_back(step);
    return {step, made.size() - 1};
  }
  [[nodiscard]] numbered_plan improved(const numbered_plan& known, std::size_t effort, const sw::solve_control&) const {
    improved_with[effort].push_back(known.number);
    return known;
  }
};
static_assert(sw::step_planner<telling_planner>);

struct told {
  std::vector<std::vector<sw::strategy>> made = {};
  std::map<std::size_t, std::vector<std::size_t>> improved_with = {};
  std::vector<double> steps = {};
  sw::step_search_result<numbered_plan> result = {};
};
told search(const stated& s, const sw::step_search_options& options) {
  told all;
  const std::size_t vertices = s.model.times.size();
  const telling_planner planner{s.model, options.planned > 0 ? options.planned : vertices, all.made, all.improved_with,
                                all.steps};
  all.result = sw::search_step(s.problem, s.work, s.work, sw::exhaustive{}, planner,
                               sw::exhaustive{}.solve(s.problem).choice, options);
  return all;
}
}  // namespace

TEST_SUITE("step_search_options") {
  TEST_CASE("of the plans that are made the best are improved with little effort, then the best of all with more") {
    sw::random_source random(2);
    std::size_t all = 0, some = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(30); ++i) {
      CAPTURE(i);
      const stated s(tiny_steps::random_model(random));
      for (const std::size_t improved : {0U, 2U, 100U}) {
        const told t = search(s, {.around = 0, .improved = improved});
        const auto at = [&](std::size_t effort) {
          const auto found = t.improved_with.find(effort);
          return found == t.improved_with.end() ? std::vector<std::size_t>() : found->second;
        };
        std::vector<double> glanced, sorted = t.steps;
        for (const std::size_t n : at(1)) glanced.push_back(t.steps[n]);
        std::ranges::sort(sorted);
        std::ranges::sort(glanced);
        sorted.resize(std::min(improved, sorted.size()));
        CHECK(glanced == sorted);
        REQUIRE(at(10).size() == 1);
        CHECK(t.steps[at(10).front()] == std::ranges::min(t.steps));
        CHECK(t.improved_with.size() <= 2);
        (improved > t.steps.size() ? all : some) += 1;
      }
    }
    CHECK(all > 0);
    CHECK(some > 0);
  }

  TEST_CASE("plans are counted with the start, and those of neighbours in a small problem come on top") {
    sw::random_source random(3);
    std::size_t more = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(20); ++i) {
      const stated s(tiny_steps::random_model(random));
      for (const std::size_t plans : {1U, 3U}) {
        const told few = search(s, {.plans = plans, .around = 0}), many = search(s, {.plans = plans});
        CHECK(few.made.size() <= plans);
        CHECK(few.result.plans == few.made.size());
        CHECK(few.made.front() == many.made.front());
        CHECK(few.result.first_step == few.steps.front());
        CHECK(many.made.size() >= few.made.size());
        more += many.made.size() > plans ? 1U : 0U;
        CHECK_FALSE(few.result.complete);
      }
    }
    CHECK(more > 0);
  }

  TEST_CASE("assignments that differ beyond the planned vertices alone have one plan") {
    sw::random_source random(4);
    std::size_t fewer = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      const stated s(tiny_steps::random_model(random));
      if (s.model.times.size() < 2) continue;
      const std::size_t planned = s.model.times.size() - 1;
      const told whole = search(s, {}), part = search(s, {.planned = planned});
      for (const told* t : {&whole, &part})
        CHECK(std::set<std::vector<sw::strategy>>(t->made.begin(), t->made.end()).size() == t->made.size());
      fewer += part.made.size() < whole.made.size() ? 1U : 0U;
    }
    CHECK(fewer > 0);
  }

  TEST_CASE("without bounds there is none, and the plans are what they are") {
    sw::random_source random(5);
    const stated s(tiny_steps::random_model(random));
    const told t = search(s, {.bounds = false});
    CHECK(t.result.bounds.rounds == 0);
    CHECK(t.result.bounds.bound == -std::numeric_limits<double>::infinity());
    CHECK(t.result.step <= t.result.first_step);
    CHECK(search(s, {}).result.bounds.rounds > 0);
  }
}

TEST_SUITE("step_bound_options") {
  TEST_CASE("there are no more rounds than allowed, and more of them prove no less") {
    sw::random_source random(6);
    std::size_t cut = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(20); ++i) {
      const stated s(tiny_steps::random_model(random));
      double last = -std::numeric_limits<double>::infinity();
      for (const std::size_t rounds : {1U, 2U, 8U, 60U}) {
        const sw::step_bounds found =
            sw::step_bound(s.problem, s.work, sw::exhaustive{}, {.rounds = rounds, .tolerance = 0});
        CHECK(found.rounds <= rounds);
        CHECK(found.bound >= last);
        cut += found.rounds == rounds ? 1U : 0U;
        last = found.bound;
      }
    }
    CHECK(cut > 0);
  }

  TEST_CASE("the search ends at the gap that is tolerated to what any weights prove") {
    sw::random_source random(7);
    std::size_t earlier = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(20); ++i) {
      const stated s(tiny_steps::random_model(random));
      const auto by = [&](double tolerance) {
        return sw::step_bound(s.problem, s.work, sw::exhaustive{},
                              {.rounds = 60, .tolerance = tolerance, .placement_gap = 0});
      };
      const sw::step_bounds exact = by(1e-6), near = by(0.2);
      CHECK(near.bound <= exact.bound * (1 + 1e-6) + 1e-9);
      CHECK(near.bound >= (1 - 0.2) * near.limit - 1e-9);
      earlier += near.rounds < exact.rounds ? 1U : 0U;
    }
    CHECK(earlier > 0);
  }

  TEST_CASE("a problem of more table entries than are meant gets four rounds, whose bound holds all the same") {
    sw::random_source random(11);
    std::size_t fewer = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(40); ++i) {
      const stated s(tiny_steps::random_model(random));
      const sw::step_bounds whole = s.bound();
      const sw::step_bounds brief =
          sw::step_bound(s.problem, s.work, sw::branch_and_bound{}, {.rounds = 60, .tolerance = 1e-6, .entries = 1});
      CHECK(brief.rounds <= 4);
      CHECK(brief.bound <= whole.bound * (1 + 1e-5) + 1e-6);
      fewer += brief.rounds < whole.rounds ? 1U : 0U;
    }
    CHECK(fewer > 0);
  }

  TEST_CASE("paths that turn at no vertex are refused") {
    sw::random_source random(5);
    const stated s(tiny_steps::random_model(random));
    const auto vertices = static_cast<std::uint32_t>(s.work.vertex_count());
    const auto refusal = [&](std::uint32_t turn) {
      return shardweave_test::refusal_of(
          [&] { return sw::step_bound(s.problem, s.work, sw::exhaustive{}, {.rounds = 4, .turn = turn}); },
          sw::error_category::input);
    };
    CHECK(refusal(vertices - 1).empty());
    for (const std::uint32_t none : {vertices, std::numeric_limits<std::uint32_t>::max()})
      CHECK(refusal(none) == "paths are to turn at vertex " + std::to_string(none) + ", but there are only " +
                                 std::to_string(vertices) + " vertices");
  }
}

}  // namespace step_search_options_tests
