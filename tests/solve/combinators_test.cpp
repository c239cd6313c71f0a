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

#include <cstdint>
#include <optional>

namespace combinators_tests {
namespace {

using namespace composed_solvers;

static_assert(sw::solver<all_first, double> && sw::solver<all_first, std::int64_t>);
static_assert(sw::solver<sw::local_search, double> && sw::solver<sw::local_search, std::int64_t>);

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

}  // namespace combinators_tests
