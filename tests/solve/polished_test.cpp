#include "solve/composed_solvers.hpp"
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/polished.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace polished_tests {
namespace {

using namespace composed_solvers;

static_assert(sw::solver<sw::polished<all_first, sw::local_search>, double>);
static_assert(sw::polished<all_first, sw::local_search>::abilities.budgets);
// braces alone name the types
static_assert(std::is_same_v<decltype(sw::polished{sw::first_proven{all_first{}}, sw::local_search{}}),
                             sw::polished<sw::first_proven<all_first>, sw::local_search>>);

}  // namespace

TEST_SUITE("polished") {
  TEST_CASE("an assignment is improved, its bound kept") {
    const auto answer = sw::polished{all_first{.bound = 2}, sw::local_search{}}.solve(small());
    CHECK(answer.objective == 3);
    CHECK(answer.lower_bound == 2);
    CHECK(answer.status == sw::solve_status::feasible);
    CHECK(answer.statistics.solver == "local_search");
  }
  TEST_CASE("the bound of the one may prove the assignment of the other") {
    const auto answer = sw::polished{all_first{.bound = 3}, sw::local_search{}}.solve(small());
    CHECK(answer.objective == 3);
    CHECK(answer.status == sw::solve_status::optimal);
  }
  TEST_CASE("a proven assignment is left alone") {
    const auto answer = sw::polished{sw::exhaustive{}, sw::local_search{}}.solve(small());
    CHECK(answer.statistics.solver == "exhaustive");
    CHECK(answer.status == sw::solve_status::optimal);
  }
  TEST_CASE("without an assignment to improve the second solver starts from nothing") {
    const auto answer = sw::polished{all_first{.gives_up = true}, sw::local_search{}}.solve(small());
    CHECK(answer.objective == 3);
    CHECK(answer.status == sw::solve_status::feasible);  // no limit ended anything
  }
  TEST_CASE("the second solver gets its share of the time") {
    const auto answer = sw::polished{waits{}, sw::local_search{}, 0.5}.solve(small(), {.seconds = 0.2});
    CHECK(answer.objective == 3);
    CHECK(answer.statistics.seconds < 2);
  }
}

}  // namespace polished_tests
