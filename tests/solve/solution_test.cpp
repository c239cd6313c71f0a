#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/solution.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace sw = shardweave;

namespace solution_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
}  // namespace

TEST_SUITE("solution") {
  TEST_CASE("nothing to decide has an assignment: the empty one") {
    const auto problem = sw::compile(sw::placement_description<double>{});
    const auto s = sw::exhaustive{}.solve(problem);
    CHECK(s.status == sw::solve_status::optimal);
    CHECK(s.has_assignment());
    CHECK(s.choice.empty());
    CHECK(s.objective == 0);
  }
  TEST_CASE("whole costs are proven by a bound above the next better one") {
    CHECK(sw::proves<std::int64_t>(9.5, 10));
    CHECK_FALSE(sw::proves<std::int64_t>(9, 10));
    CHECK(sw::proves<std::int64_t>(-10.25, -10));
    CHECK_FALSE(sw::proves<double>(9.5, 10));
    CHECK(sw::proves<double>(1e9 - 0.5, 1e9));
    CHECK_FALSE(sw::proves<double>(1e9 - 2, 1e9));
    CHECK_FALSE(sw::proves<double>(-infinity, 0));
  }
  TEST_CASE("states have names") {
    CHECK(sw::name_of(sw::solve_status::optimal) == "optimal");
    CHECK(sw::name_of(sw::solve_status::feasible) == "feasible");
    CHECK(sw::name_of(sw::solve_status::infeasible) == "infeasible");
    CHECK(sw::name_of(sw::solve_status::stopped) == "stopped");
  }
}

}  // namespace solution_tests
