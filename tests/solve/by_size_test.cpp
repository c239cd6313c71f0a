#include "solve/small_problems.hpp"
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/local_search.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <string>

namespace by_size_tests {
namespace {

namespace sw = shardweave;

using shardweave_test::draw_small;

constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

TEST_SUITE("by_size") {
  TEST_CASE(
      "without another solver, a problem that is too large is declined with a note, one that is not is passed on") {
    const auto problem = sw::placement_problem<double>(draw_small<double>(2, {.variables = 6, .rows = 3}));
    const std::size_t labels = problem.compact().total_labels();
    const auto passed = sw::by_size(sw::exhaustive{}, {.labels = labels, .rows = 3}).solve(problem);
    CHECK(passed.status == sw::solve_status::optimal);
    CHECK(passed.statistics.solver == "exhaustive");
    const auto declined = sw::by_size(sw::exhaustive{}, {.labels = labels - 1, .rows = 3}).solve(problem);
    CHECK(declined.status == sw::solve_status::stopped);
    CHECK_FALSE(declined.has_assignment());
    CHECK(declined.lower_bound == -infinite);
    CHECK(declined.statistics.note == "exhaustive was not asked: " + std::to_string(labels) +
                                          " labels and 3 rows are "
                                          "more than " +
                                          std::to_string(labels - 1) + " and 3.");
    CHECK_FALSE(sw::by_size(sw::exhaustive{}, {.labels = labels, .rows = 2}).solve(problem).has_assignment());
  }

  TEST_CASE("each size goes to its solver") {
    const auto problem = sw::placement_problem<double>(draw_small<double>(2, {.variables = 6, .rows = 3}));
    const std::size_t labels = problem.compact().total_labels();
    const auto asked = [&](sw::small_size most) {
      return sw::by_size(sw::exhaustive{}, sw::local_search{}, most).solve(problem).statistics.solver;
    };
    CHECK(asked({.labels = labels, .rows = 3}) == "exhaustive");
    CHECK(asked({.labels = labels - 1, .rows = 3}) == "local_search");
    CHECK(asked({.labels = labels, .rows = 2}) == "local_search");
  }

  TEST_CASE("without rows more labels may be small, and that limit never lowers the other") {
    const auto problem = sw::placement_problem<double>(draw_small<double>(2, {.variables = 6}));
    const std::size_t labels = problem.compact().total_labels();
    const auto asked = [&](std::size_t most, std::size_t without_rows) {
      return sw::by_size(sw::exhaustive{}, sw::local_search{}, {.labels = most}, without_rows)
          .solve(problem)
          .statistics.solver;
    };
    CHECK(asked(labels - 1, labels) == "exhaustive");
    CHECK(asked(labels - 1, labels - 1) == "local_search");
    CHECK(asked(labels, 0) == "exhaustive");
    const auto with_row = sw::placement_problem<double>(draw_small<double>(2, {.variables = 6, .rows = 1}));
    CHECK(
        sw::by_size(sw::exhaustive{}, sw::local_search{}, {.labels = 1}, 1'000'000).solve(with_row).statistics.solver ==
        "local_search");
  }
}

}  // namespace by_size_tests
