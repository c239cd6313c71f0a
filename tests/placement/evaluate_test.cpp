#include "small_problem.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sw = shardweave;
using small::pair_of_vertices;
using strings = std::vector<std::string>;

namespace evaluate_tests {
namespace {

using shardweave_test::at_scale;

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Cost>
void agree_on_random_assignments(std::uint64_t problems) {
  std::size_t feasible = 0, broken = 0;
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    CAPTURE(seed);
    const auto stated = shardweave_test::draw_problem<Cost>(seed);
    sw::random_source random(seed);
    std::vector<sw::assignment> tried{shardweave_test::brute_force(stated).choice};
    if (tried[0].empty()) tried.clear();
    for (int i = 0; i < 6; ++i) {
      sw::assignment choice;
      for (const auto& v : stated.description.vertices)
        choice.push_back(static_cast<sw::strategy>(random.below(v.compute.size())));
      tried.push_back(choice);
    }
    for (const auto& choice : tried) {
      const auto found = sw::evaluate(stated.description, choice);
      const auto expected = shardweave_test::price_of(stated, choice);
      CHECK(found.is_feasible() == expected.has_value());
      CHECK(found.budgets.size() == stated.description.constraints.budgets.size());
      if (expected) {
        CHECK(static_cast<double>(found.objective) == doctest::Approx(static_cast<double>(*expected)).epsilon(1e-12));
        CHECK(found.objective == found.parts.total());
        ++feasible;
      } else {
        ++broken;
      }
    }
  }
  CHECK(feasible > problems / 2);
  CHECK(broken > problems / 2);
}

}  // namespace

TEST_SUITE("evaluate") {
  TEST_CASE("an assignment is feasible and costs what a reader of the tables would say") {
    agree_on_random_assignments<double>(at_scale(600));
    agree_on_random_assignments<std::int64_t>(at_scale(300));
  }

  TEST_CASE("costs are told apart by where they come from") {
    auto d = pair_of_vertices();
    d.edges[0].transition = small::table<double>(d, 2, 3, {0.5, 0.5, 0.5, 0.25, 0.25, 0.25});
    const auto e = sw::evaluate(d, sw::assignment{1, 2});
    CHECK(e.parts == sw::cost_parts<double>{7, 50, 0.25});
    CHECK(e.objective == 57.25);
    CHECK(e.violations.empty());
    CHECK(e.is_feasible());
  }

  TEST_CASE("an assignment of the wrong length or range is refused") {
    const auto d = pair_of_vertices();
    small::check_refused([&] { return sw::evaluate(d, sw::assignment{1}); }, sw::error_category::input,
                         "the assignment has 1 strategy for 2 vertices");
    small::check_refused(
        [&] {
          return sw::evaluate(d, sw::assignment{1, 3});
        },
        sw::error_category::input, "the assignment gives strategy 3 to vertex 1 (b), which has only 3");
  }

  TEST_CASE("forbidden choices make the objective forbidden and are named") {
    auto d = pair_of_vertices();
    d.vertices[0].compute[0] = infinity;
    d.vertices[1].labels = {"R", "S(0)", "S(1)"};
    d.edges[0].communication = small::table<double>(d, 2, 3, {0, infinity, 0, 0, infinity, 0});
    const auto both = sw::evaluate(d, sw::assignment{0, 1});
    CHECK(both.objective == infinity);
    CHECK(both.parts == sw::cost_parts<double>{4, 0, 0});
    CHECK(both.violations == strings{"vertex 0 (a) takes strategy 0, whose cost is infinite",
                                     "edge 0 (a -> b) joins strategies 0 and S(0), whose cost is infinite"});
    CHECK_FALSE(both.is_feasible());
    CHECK(sw::evaluate(d, sw::assignment{1, 0}).is_feasible());
  }

  TEST_CASE("broken constraints are named, and do not change the price") {
    auto d = pair_of_vertices();
    small::vertex<double>(d, "c", {0, 0});
    d.constraints.fixed.push_back({0, {1}, "batch is sharded"});
    d.constraints.ties.push_back({{0, 2}, "layers"});
    d.constraints.pairs.push_back({0, 1, {{0, 0}, {1, 1}}, "gradient as its parameter"});
    const auto e = sw::evaluate(d, sw::assignment{0, 2, 1});
    CHECK(e.objective == 26);
    CHECK(e.violations == strings{"constraint 'batch is sharded': vertex 0 (a) takes strategy 0",
                                  "tie 'layers': vertex 2 (c) takes strategy 1, vertex 0 (a) takes 0",
                                  "pairing 'gradient as its parameter': vertex 0 (a) takes strategy 0 with vertex 1 "
                                  "(b) at 2"});
    CHECK(sw::evaluate(d, sw::assignment{1, 1, 1}).is_feasible());
  }

  TEST_CASE("a budget tells its use, and a limit that is not kept") {
    auto d = pair_of_vertices();
    d.constraints.budgets.push_back({"parameters", 2, 5, {{0, {1, 4}, {}}, {1, {0, 1, 2}, {}}}});
    const auto use = [&](sw::assignment a) { return sw::evaluate(d, a).budgets.at(0).used; };
    CHECK(use({0, 0}) == 1);
    CHECK(use({1, 2}) == 6);
    CHECK(sw::evaluate(d, sw::assignment{0, 0}).violations ==
          strings{"budget 'parameters' uses 1, less than its least 2"});
    CHECK(sw::evaluate(d, sw::assignment{1, 2}).violations ==
          strings{"budget 'parameters' uses 6, more than its limit 5"});
    CHECK(sw::evaluate(d, sw::assignment{1, 1}).is_feasible());
    const auto b = sw::evaluate(d, sw::assignment{1, 1}).budgets.at(0);
    CHECK(b.name == "parameters");
    CHECK(b.low == 2);
    CHECK(b.high == 5);
  }

  TEST_CASE("a budget over time counts what lives together, half open") {
    auto d = pair_of_vertices();
    d.constraints.budgets.push_back({"memory",
                                     -infinity,
                                     10,
                                     {{0, {6, 6}, sw::live_interval{0, 5}},
                                      {1, {5, 5, 5}, sw::live_interval{5, 9}},
                                      {1, {1, 9, 1}, sw::live_interval{8, 8}},
                                      {0, {1, 7}, std::nullopt}}});
    const auto fits = sw::evaluate(d, sw::assignment{0, 0});
    CHECK(fits.is_feasible());
    CHECK(fits.budgets.at(0).used == 7);
    CHECK(fits.budgets.at(0).time == 0);
    CHECK(sw::evaluate(d, sw::assignment{1, 0}).violations ==
          strings{"budget 'memory' uses 13 at time 0, more than its limit 10"});
    d.constraints.budgets[0].terms[0].live->end = 6;
    CHECK(sw::evaluate(d, sw::assignment{0, 0}).violations ==
          strings{"budget 'memory' uses 12 at time 5, more than its limit 10"});
  }

  TEST_CASE("limits are kept to within a millionth") {
    auto d = pair_of_vertices();
    d.constraints.budgets.push_back({"share", 0.3, 0.3, {{0, {0.1, 0.1}, {}}, {1, {0.2, 0.2 + 9e-7, 0.2 + 3e-6}, {}}}});
    CHECK(sw::evaluate(d, sw::assignment{0, 0}).is_feasible());
    CHECK(sw::evaluate(d, sw::assignment{0, 1}).is_feasible());
    CHECK_FALSE(sw::evaluate(d, sw::assignment{0, 2}).is_feasible());
  }
}

}  // namespace evaluate_tests
