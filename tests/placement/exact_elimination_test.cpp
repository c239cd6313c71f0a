#include <shardweave/core/control.hpp>
#include <shardweave/placement/exact_elimination.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sw = shardweave;

namespace exact_elimination_tests {
namespace {

using shardweave_test::at_scale;

/// Three vertices in a row, with a difference of 2^-60 that doubles lose beside the costs.
sw::placement_description<double> three_in_a_row() {
  sw::placement_description<double> d;
  for (const char* name : {"a", "b", "c"}) d.vertices.push_back({.name = name, .compute = {0, 0}});
  d.vertices[1].compute = {1, 1 + 0x1p-52};
  const auto table = [](std::vector<double> entries) {
    return std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(2, 2, entries));
  };
  d.tables = {table({0, 1e6, 1e6, 0}), table({5, 0x1p-20, 0, 5})};
  d.edges.push_back({.from = 0, .to = 1, .communication = 0});
  d.edges.push_back({.from = 1, .to = 2, .communication = 1});
  return d;
}

}  // namespace

TEST_SUITE("exact_elimination") {
  TEST_CASE("call by call the problem gets smaller, and costs move to the vertices that a step names") {
    const auto d = three_in_a_row();
    const sw::stated_form<double> form(d);
    const sw::solve_control no_limit;
    const sw::deadline never{no_limit};
    sw::exact_elimination<double> eliminate(d, form, never);
    sw::strategies_left left = form.all_left();
    const auto two = eliminate({.steps = {{1, 0, 2}}}, left);
    REQUIRE(two);
    CHECK(two->names() == std::vector<std::uint32_t>{0, 2});
    REQUIRE(two->pairs().size() == 1);
    CHECK(two->pair_between(0, 1) == 0);
    CHECK(two->cost_of_pair(0, 0, 1) == 1 + 0x1p-20);  // b as a: its own cost, and the edge to c
    CHECK(two->cost_of_pair(0, 1, 0) == 1 + 0x1p-52);
    const auto one = eliminate({.steps = {{2, 0}}}, left, &*two);
    REQUIRE(one);
    CHECK(one->names() == std::vector<std::uint32_t>{0});
    CHECK(one->cost(0, 0) == 1 + 0x1p-20);
    CHECK(left == sw::strategies_left{{1, 1}});
    const auto none = eliminate({.steps = {{0}}}, left, &*one);
    REQUIRE(none);
    CHECK(none->size() == 0);
    CHECK(none->apart() == 1 + 0x1p-52);  // no rounding told it from 1
    CHECK(left.empty());
  }
  TEST_CASE("an unknown that has no table with the one that goes gets nothing of it") {
    const auto d = three_in_a_row();
    const sw::stated_form<double> form(d);
    const sw::solve_control no_limit;
    const sw::deadline never{no_limit};
    const sw::exact_elimination<double> eliminate(d, form, never);
    sw::strategies_left left = form.all_left();
    const auto alone = eliminate({.steps = {{0, 2}}}, left);
    REQUIRE(alone);
    CHECK(alone->names() == std::vector<std::uint32_t>{1, 2});
    left = form.all_left();
    CHECK(alone->apart() == eliminate({.steps = {{0}}}, left)->apart());
    CHECK(alone->cost(0, 0) == eliminate({.steps = {{0}}}, left = form.all_left())->cost(0, 0));
  }
  TEST_CASE("a step of what is not there is none, and nothing is made once the time is up") {
    const auto d = three_in_a_row();
    const sw::stated_form<double> form(d);
    const sw::solve_control no_limit;
    const sw::deadline never{no_limit};
    for (const auto& steps : {std::vector<std::vector<std::uint32_t>>{{1, 0, 2}, {1}}, {{2}, {1, 0}, {0, 1}}}) {
      sw::exact_elimination<double> eliminate(d, form, never);
      sw::strategies_left left = form.all_left();
      CHECK(!eliminate({.steps = steps}, left));
    }
    const sw::solve_control none{.seconds = 0};
    const sw::deadline over{none};
    sw::exact_elimination<double> late(d, form, over);
    sw::strategies_left left = form.all_left();
    CHECK(!late({.steps = {{0}}}, left));
  }
  TEST_CASE_TEMPLATE("by all its neighbours a vertex loses nothing, so that the last one costs the optimum", Cost,
                     double, std::int64_t) {
    std::size_t compared = 0;
    for (std::uint64_t seed = 0; seed < at_scale(600); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_problem<Cost>(
          seed, {.budgets = false, .timed = false, .impossible = false, .max_assignments = 512});
      const auto best = shardweave_test::brute_force(stated);
      const auto& d = stated.description;
      const sw::stated_form<Cost> form(d);
      const sw::solve_control no_limit;
      const sw::deadline never{no_limit};
      sw::exact_elimination<Cost> eliminate(d, form, never);
      sw::strategies_left left = form.all_left();
      form.propagate(left);
      std::optional<sw::rounded_problem> rest = eliminate({}, left);
      bool is_exact = true;
      while (is_exact && rest && rest->size() > 0) {
        std::vector<std::vector<std::uint32_t>> with(rest->size());  // each with its neighbours
        for (std::uint32_t x = 0; x < rest->size(); ++x) with[x].push_back(form.first_vertex(rest->names()[x]));
        for (const auto& pair : rest->pairs()) {
          with[pair.first].push_back(form.first_vertex(rest->names()[pair.second]));
          with[pair.second].push_back(form.first_vertex(rest->names()[pair.first]));
        }
        const auto least = std::ranges::min_element(with, {}, &std::vector<std::uint32_t>::size);
        is_exact = least->size() <= 3;
        if (is_exact) rest = eliminate({.steps = {*least}}, left, &*rest);
        const bool is_empty =
            std::ranges::any_of(left, [](const auto& of) { return std::ranges::count(of, 0) == std::ssize(of); });
        if (is_empty) CHECK(!best.objective);
        if (is_empty) is_exact = false;
      }
      if (!is_exact) continue;
      REQUIRE(rest);
      REQUIRE(best.objective);
      ++compared;
      const auto optimum = static_cast<double>(*best.objective);
      CHECK(std::abs(rest->apart() - optimum) <= 1e-9 * (1 + std::abs(optimum)));
    }
    CHECK(compared > at_scale(200));
  }
}

}  // namespace exact_elimination_tests
