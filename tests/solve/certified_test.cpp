#include "solve/composed_solvers.hpp"
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/local_search.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace certified_tests {
namespace {

using namespace composed_solvers;

static_assert(sw::solver<sw::certified<all_first, sw::exhaustive>, std::int64_t>);
static_assert(!sw::certified<all_first, sw::exhaustive>::abilities.budgets);

}  // namespace

TEST_SUITE("certified") {
  TEST_CASE("the bound is the bounder's alone") {
    const auto answer = sw::certified{sw::exhaustive{}, all_first{.bound = 2}}.solve(small());
    CHECK(answer.objective == 3);
    CHECK(answer.lower_bound == 2);
    CHECK(answer.status == sw::solve_status::feasible);
    REQUIRE(answer.statistics.counters.size() == 1);
    CHECK(answer.statistics.counters[0].first == "own_bound");
    CHECK(answer.statistics.counters[0].second == 3);
  }
  TEST_CASE("a bound that meets the assignment proves it") {
    const auto answer = sw::certified{sw::local_search{}, sw::exhaustive{}}.solve(small());
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(answer.statistics.solver == "local_search");
    CHECK(answer.statistics.bound_by == "exhaustive");
  }
  TEST_CASE("a bounder that denies an assignment at hand is not believed") {
    const auto answer = sw::certified{sw::exhaustive{}, all_first{.bound = infinite, .gives_up = true}}.solve(small());
    CHECK(answer.objective == 3);
    CHECK(answer.lower_bound == -infinite);
    CHECK(answer.statistics.note == "the bounder calls the problem infeasible, but here is an assignment.");
  }

  TEST_CASE("a finder that calls a problem infeasible is not believed against a bounder that does not") {
    const auto answer =
        sw::certified{all_first{.bound = infinite, .gives_up = true}, all_first{.bound = 2}}.solve(small());
    CHECK(answer.status == sw::solve_status::stopped);
    CHECK(answer.lower_bound == 2);
    CHECK(answer.statistics.note == "the finder calls the problem infeasible, the bounder does not.");
    const auto both =
        sw::certified{all_first{.bound = infinite, .gives_up = true}, all_first{.bound = infinite, .gives_up = true}}
            .solve(small());
    CHECK(both.status == sw::solve_status::infeasible);
  }
  TEST_CASE("with a time limit the finder gets its share, and the bounder what is left") {
    const auto answer = sw::certified{waits{}, sw::exhaustive{}, 0.5}.solve(small(), {.seconds = 0.2});
    CHECK_FALSE(answer.has_assignment());
    CHECK(answer.lower_bound == 3);
    CHECK(answer.statistics.seconds < 2);
  }
}

}  // namespace certified_tests
