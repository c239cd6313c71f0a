#include "solve/small_problems.hpp"
#include <shardweave/solve/auto_solver.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

namespace auto_solver_tests {
namespace {

namespace sw = shardweave;

using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;

}  // namespace

TEST_SUITE("auto_solver") {
  TEST_CASE("bounds and assignments are right with rows and without") {
    std::size_t proven = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<std::int64_t>(
          seed, {.variables = 6, .density = 0.4, .forbidden = 0.2, .rows = static_cast<std::uint32_t>(seed % 5)});
      const auto answer = sw::auto_solver{}.solve(sw::placement_problem<std::int64_t>(p));
      const auto optimum = brute_optimum_of(p);
      REQUIRE(optimum);
      REQUIRE(answer.has_assignment());
      CHECK(answer.objective >= *optimum);
      CHECK(answer.lower_bound <= static_cast<double>(*optimum));
      if (answer.status == sw::solve_status::optimal) CHECK(answer.objective == *optimum);
      const auto of_costs = sw::auto_solver{}.solve_costs(sw::placement_problem<std::int64_t>(p));
      CHECK(of_costs.choice == answer.choice);
      CHECK(of_costs.lower_bound == answer.lower_bound);
      proven += answer.status == sw::solve_status::optimal;
    }
    CHECK(proven > 45);
  }

  TEST_CASE("where there are many labels a first assignment is there before they are reduced") {
    std::size_t first = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<std::int64_t>(
          seed, {.variables = 6, .density = 0.4, .forbidden = 0.2, .rows = static_cast<std::uint32_t>(seed % 5)});
      const sw::placement_problem<std::int64_t> problem(p);
      std::vector<sw::progress_report> reports;
      std::stop_source stop;
      const auto stopped = sw::auto_solver{.many_labels = 1}.solve(
          problem, {.stop = stop.get_token(), .progress = [&](const sw::progress_report& r) {
                      reports.push_back(r);
                      stop.request_stop();
                    }});
      if (!reports.empty() && reports.front().stage == "local_search") {
        ++first;
        CHECK(static_cast<double>(stopped.objective) == reports.front().objective);
      }
      const auto answer = sw::auto_solver{.many_labels = 1}.solve(problem);
      CHECK(answer.objective == sw::auto_solver{}.solve(problem).objective);
      CHECK(answer.lower_bound <= static_cast<double>(answer.objective));
    }
    CHECK(first > 15);
  }
}

}  // namespace auto_solver_tests
