#include "solve/composed_solvers.hpp"
#include "support/random_problem.hpp"
#include "support/scale.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/race.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <vector>

namespace combinators_tests {
namespace {

using namespace composed_solvers;

static_assert(sw::solver<all_first, double> && sw::solver<all_first, std::int64_t>);
static_assert(sw::solver<sw::local_search, double> && sw::solver<sw::local_search, std::int64_t>);
static_assert(sw::solver<sw::polished<all_first, sw::local_search>, double>);
static_assert(sw::solver<sw::first_proven<all_first, sw::exhaustive>, double>);
static_assert(sw::solver<sw::certified<all_first, sw::exhaustive>, std::int64_t>);
static_assert(!sw::first_proven<all_first, throws>::abilities.budgets);
static_assert(sw::first_proven<all_first, sw::exhaustive>::abilities.budgets);
static_assert(sw::polished<all_first, sw::local_search>::abilities.budgets);
static_assert(!sw::certified<all_first, sw::exhaustive>::abilities.budgets);
// braces alone name the types
static_assert(std::is_same_v<decltype(sw::first_proven{all_first{}, sw::exhaustive{}}),
                             sw::first_proven<all_first, sw::exhaustive>>);
static_assert(std::is_same_v<decltype(sw::polished{sw::first_proven{all_first{}}, sw::local_search{}}),
                             sw::polished<sw::first_proven<all_first>, sw::local_search>>);

template <class Solver>
void check_against_brute_force(const Solver& solver, bool exact) {
  for (unsigned seed = 0; seed < shardweave_test::at_scale(256); ++seed) {
    auto features = shardweave_test::problem_features::combination(seed * 5 % 128);
    features.max_vertices = shardweave_test::sized<std::size_t>(features.max_vertices, 5);
    const auto problem = shardweave_test::draw_problem<double>(seed, features);
    std::optional<sw::placement_problem<double>> compact;
    try {
      compact = sw::compile(problem.description);
    } catch (const sw::error&) {
      continue;
    }
    const auto brute = shardweave_test::brute_force(problem);
    const auto answer = solver.solve(*compact, sw::solve_control{.seed = seed});
    CAPTURE(seed);
    if (answer.has_assignment()) {
      const auto priced = shardweave_test::price_of(problem, answer.choice);
      REQUIRE(priced);
      CHECK(*priced == doctest::Approx(answer.objective));
    }
    if (brute.objective) {
      CHECK(answer.lower_bound <= *brute.objective + 1e-9);
      CHECK(answer.status != sw::solve_status::infeasible);
      if (answer.status == sw::solve_status::optimal) CHECK(answer.objective == doctest::Approx(*brute.objective));
      if (exact) CHECK(answer.status == sw::solve_status::optimal);
    } else {
      CHECK_FALSE(answer.has_assignment());
      if (exact) CHECK(answer.status == sw::solve_status::infeasible);
    }
  }
}

}  // namespace

TEST_SUITE("combinators") {
  TEST_CASE("every composition keeps bound <= optimum <= objective") {
    check_against_brute_force(sw::polished{all_first{}, sw::local_search{}}, false);
    check_against_brute_force(sw::polished{sw::exhaustive{}, sw::local_search{}}, true);
    check_against_brute_force(sw::first_proven{all_first{}, sw::local_search{}, sw::exhaustive{}}, true);
    check_against_brute_force(sw::certified{sw::local_search{}, all_first{}}, false);
    check_against_brute_force(sw::first_proven{sw::polished{all_first{}, sw::local_search{}},
                                               sw::certified{sw::exhaustive{}, sw::exhaustive{}}},
                              true);
  }
  TEST_CASE("a race of exact and inexact solvers is exact") {
    check_against_brute_force(sw::race{all_first{}, sw::exhaustive{}}, true);
  }
}

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
}

}  // namespace combinators_tests
