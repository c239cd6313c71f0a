#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/solution.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

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

  TEST_CASE("a bound proves no more than it says, however large whole objectives are") {
    constexpr std::int64_t large = std::int64_t{1} << 53;
    CHECK_FALSE(sw::proves<std::int64_t>(0x1p53, large + 1));
    CHECK(sw::proves<std::int64_t>(0x1p53, large));
    CHECK(sw::proves<std::int64_t>(4.5, 5));
    CHECK_FALSE(sw::proves<std::int64_t>(4.0, 5));
    CHECK(sw::proves<std::int64_t>(-4.5, -4));
    CHECK_FALSE(sw::proves<std::int64_t>(-std::numeric_limits<double>::infinity(), -4));
    CHECK(sw::proves<std::int64_t>(std::numeric_limits<double>::infinity(), 4));
  }

  TEST_CASE("bounds on whole objectives that floating-point numbers do not hold are rounded down") {
    constexpr std::int64_t large = std::int64_t{1} << 53;
    sw::placement_description<std::int64_t> d;
    d.vertices.push_back({.compute = {large + 3, large + 100}});  // 2^53 + 3 is next to 2^53 + 4 as a double
    const auto problem = sw::compile(d);
    const auto check = [&](const sw::solution<std::int64_t>& s) {
      CHECK(s.objective == large + 3);
      CHECK(static_cast<std::int64_t>(s.lower_bound) <= large + 3);
    };
    check(sw::exhaustive{}.solve(problem));
    check(sw::elimination{}.solve(problem));
    check(sw::branch_and_bound{}.solve(problem));
    check(sw::auto_solver{}.solve(problem));
  }

  TEST_CASE("a gap above 1 leaves a finite bound below 0, too") {
    using table = sw::cost_table<double>;
    std::mt19937_64 random(1);
    sw::placement_description<double> d;
    for (int v = 0; v < 6; ++v) d.vertices.push_back({.compute = {-5, -6, -7.5}});
    for (std::uint32_t v = 0; v < 6; ++v)
      for (std::uint32_t w = v + 1; w < 6; ++w) {
        std::vector<double> entries;
        for (int i = 0; i < 9; ++i) entries.push_back(static_cast<double>(random() % 100) / 100);
        d.edges.push_back({.from = v, .to = w, .communication = static_cast<std::uint32_t>(d.tables.size())});
        d.tables.push_back(std::make_shared<const table>(table::from_entries(3, 3, entries)));
      }
    const auto problem = sw::compile(d);
    for (const double gap : {0.5, 1.0, 2.0}) {
      const auto check = [&](const sw::solution<double>& s) {
        CHECK(s.gap() <= gap);
        CHECK(s.lower_bound <= s.objective);
      };
      check(sw::exhaustive{}.solve(problem, {.gap = gap}));
      check(sw::branch_and_bound{}.solve(problem, {.gap = gap}));
      check(sw::auto_solver{}.solve(problem, {.gap = gap}));
    }
  }
}

}  // namespace solution_tests
