#include "solve/long_intervals.hpp"
#include "solve/small_problems.hpp"
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/search/detail/repair.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace budgeted_tests {
namespace {

namespace sw = shardweave;

using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;
using shardweave_test::label_list;
using shardweave_test::table_of;

constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

TEST_SUITE("budgeted") {
  TEST_CASE("bounds hold under timed rows and lower limits, and assignments keep them") {
    std::size_t feasible = 0, answered = 0, proven = 0;
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 6, .density = 0.2, .rows = 8, .lower_limits = 0.3});
      const auto optimum = brute_optimum_of(p);
      const auto answer = sw::budgeted{}.solve(sw::placement_problem<double>(p),
                                               {.iterations = shardweave_test::sized<std::size_t>(400, 200)});
      if (!optimum) {
        CHECK_FALSE(answer.has_assignment());
        continue;
      }
      ++feasible;
      CHECK(answer.lower_bound <= *optimum + 1e-8);
      if (!answer.has_assignment()) continue;
      ++answered;
      CHECK(answer.objective >= *optimum - 1e-9);
      const auto labels = sw::placement_problem<double>(p).labels_of(answer.choice);
      REQUIRE(labels);
      CHECK(shardweave_test::naive_rows(p, std::span<const sw::strategy>(*labels)));
      proven += answer.status == sw::solve_status::optimal;
    }
    CHECK(feasible > shardweave_test::at_scale(80));
    CHECK(answered * 10 > feasible * 7);
    CHECK(proven > shardweave_test::at_scale(20));
  }
  TEST_CASE("usage of 1e9 over eighty rows is priced as well") {
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(25); ++seed) {
      const auto p = shardweave_test::long_intervals(seed);
      const auto optimum = brute_optimum_of(p);
      const auto answer = sw::budgeted{}.solve(sw::placement_problem<double>(p),
                                               {.iterations = shardweave_test::sized<std::size_t>(300, 100)});
      if (optimum) CHECK(answer.lower_bound <= *optimum + 1e-6);
      if (answer.has_assignment()) CHECK(optimum);
    }
  }
  TEST_CASE("without rows it is the solver inside") {
    const auto answer = sw::budgeted{}.solve(sw::placement_problem<double>(draw_small<double>(1)));
    CHECK(answer.statistics.solver == "trws");
  }
  TEST_CASE("broken rows are mended by what costs least for what it mends") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{0, 10});
    builder.add_variable(std::vector<double>{0, 3});
    builder.add_variable(std::vector<double>{0, 1});  // cheap, but mends a tenth
    for (std::uint32_t x = 0; x < 3; ++x) builder.add_segment(x, {0, 1, {5, x == 2 ? 4.5 : 0.0}});
    builder.add_row({-infinite, 10, 0, 0});
    const auto p = builder.build();
    const sw::solve_control unlimited;
    label_list labels(3, 0);
    CHECK(sw::detail::repair(p, std::span<sw::strategy>(labels), sw::deadline(unlimited)));
    CHECK(labels == label_list{0, 1, 0});
    labels = {0, 0, 0};
    const sw::solve_control over{.seconds = 0};
    CHECK_FALSE(sw::detail::repair(p, std::span<sw::strategy>(labels), sw::deadline(over)));
    CHECK(labels == label_list{0, 0, 0});
  }
  TEST_CASE("a repair ends where two rows send a label back and forth") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{0, 0});
    builder.add_segment(0, {0, 1, {9, 0}});
    builder.add_segment(0, {1, 2, {0, 9}});
    for (int row = 0; row < 2; ++row) builder.add_row({-infinite, 5, 0, 0});
    const sw::solve_control unlimited;
    label_list labels(1, 0);
    CHECK_FALSE(sw::detail::repair(builder.build(), std::span<sw::strategy>(labels), sw::deadline(unlimited)));
  }
  TEST_CASE("repair raises usage to a lower limit, and gives up where pairs forbid it") {
    const auto build = [](bool joined) {
      sw::compact_builder<double> builder;
      for (int x = 0; x < 2; ++x) builder.add_variable(std::vector<double>{0, 1});
      constexpr double no = sw::forbidden<double>;
      if (joined) builder.add_edge(0, 1, table_of<double>(2, 2, {0, no, no, 0}));
      for (std::uint32_t x = 0; x < 2; ++x) builder.add_segment(x, {0, 1, {0, 2}});
      builder.add_row({3, infinite, 0, 0});
      return builder.build();
    };
    const sw::solve_control unlimited;
    label_list labels(2, 0);
    CHECK(sw::detail::repair(build(false), std::span<sw::strategy>(labels), sw::deadline(unlimited)));
    CHECK(labels == label_list{1, 1});
    labels = {0, 0};
    CHECK_FALSE(sw::detail::repair(build(true), std::span<sw::strategy>(labels), sw::deadline(unlimited)));
  }
}

}  // namespace budgeted_tests
