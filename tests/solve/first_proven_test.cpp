#include "solve/composed_solvers.hpp"
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/local_search.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <stop_token>
#include <type_traits>
#include <vector>

namespace first_proven_tests {
namespace {

using namespace composed_solvers;

static_assert(sw::solver<sw::first_proven<all_first, sw::exhaustive>, double>);
static_assert(!sw::first_proven<all_first, throws>::abilities.budgets);
static_assert(sw::first_proven<all_first, sw::exhaustive>::abilities.budgets);
// braces alone name the types
static_assert(std::is_same_v<decltype(sw::first_proven{all_first{}, sw::exhaustive{}}),
                             sw::first_proven<all_first, sw::exhaustive>>);

}  // namespace

TEST_SUITE("first_proven") {
  TEST_CASE("solvers after the one that proves are not asked") {
    std::atomic<int> asked = 0;
    const auto answer = sw::first_proven{sw::exhaustive{}, waits{&asked}}.solve(small());
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(asked == 0);
  }
  TEST_CASE("the best assignment and the best bound come from different solvers") {
    const auto answer =
        sw::first_proven{sw::local_search{}, all_first{.bound = 2.5}, all_first{.bound = 1, .gives_up = true}}.solve(
            small());
    CHECK(answer.objective == 3);
    CHECK(answer.lower_bound == 2.5);
    CHECK(answer.statistics.solver == "local_search");
    CHECK(answer.status == sw::solve_status::feasible);
  }
  TEST_CASE("a bound that meets an earlier assignment ends the search") {
    std::atomic<int> asked = 0;
    const auto answer = sw::first_proven{sw::local_search{}, all_first{.bound = 3}, waits{&asked}}.solve(small());
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(asked == 0);
  }
  TEST_CASE("progress tells the best of all so far") {
    std::vector<sw::progress_report> reports;
    const auto answer = sw::first_proven{all_first{.bound = 2.5}, sw::local_search{}}.solve(
        small(), {.progress = [&](const sw::progress_report& r) { reports.push_back(r); }});
    CHECK(answer.objective == 3);
    REQUIRE_FALSE(reports.empty());
    for (const sw::progress_report& r : reports) {
      CHECK(r.stage == "local_search");
      CHECK(r.objective <= 9);  // what the first solver found
      CHECK(r.lower_bound == 2.5);
    }
    CHECK(reports.back().objective == 3);
  }
  TEST_CASE("every solver gets a share of the time that is left") {
    const auto answer = sw::first_proven{waits{}, waits{}, sw::exhaustive{}}.solve(small(), {.seconds = 0.3});
    CHECK(answer.status == sw::solve_status::optimal);
  }
  TEST_CASE("a stop request ends all of them") {
    std::stop_source source;
    source.request_stop();
    std::atomic<int> asked = 0;
    const auto answer = sw::first_proven{waits{&asked}, waits{&asked}}.solve(small(), {.stop = source.get_token()});
    CHECK(answer.status == sw::solve_status::stopped);
    CHECK(asked == 1);
  }
}

}  // namespace first_proven_tests
