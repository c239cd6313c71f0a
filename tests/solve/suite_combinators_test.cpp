#include "suite.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/race.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace sw = shardweave;
using shardweave_test::run_suite;
using shardweave_test::sized;
using shardweave_test::to_text;

namespace suite_combinators_tests {
namespace {

/// A user's own solver, as docs/concepts.md shows it.
struct dice {
  static constexpr std::string_view name = "dice";
  static constexpr shardweave::solver_abilities abilities{.budgets = true};

  template <shardweave::cost_value Cost>
  [[nodiscard]] shardweave::solution<Cost> solve(const shardweave::placement_problem<Cost>& problem,
                                                 const shardweave::solve_control& control = {}) const {
    const auto& p = problem.compact();
    shardweave::random_source random(control.seed);
    std::vector<shardweave::strategy> labels(p.size());
    for (std::size_t x = 0; x < p.size(); ++x)
      labels[x] = static_cast<shardweave::strategy>(random.below(p.label_count(x)));
    constexpr double no_bound = -std::numeric_limits<double>::infinity();
    return shardweave::conclude<Cost>(problem, labels, no_bound, false, {.solver = "dice"}, control);
  }
};

}  // namespace

TEST_SUITE("solver suite") {
  TEST_CASE("a user's own solver composes with all combinators") {
    MESSAGE(to_text(run_suite(dice{}, {.problems = 200, .first_seed = 300000})));
    const auto figures = run_suite(
        sw::first_proven{sw::reduced{dice{}}, sw::certified{dice{}, sw::exhaustive{}}, sw::reduced{sw::exhaustive{}}},
        {.problems = 300, .first_seed = 310000, .exact = true});
    MESSAGE(to_text(figures));
    CHECK(figures.feasible > shardweave_test::at_scale(150));
  }
  TEST_CASE("polished solvers keep their promises") {
    const auto figures = run_suite(sw::polished{sw::budgeted{}, sw::local_search{}},
                                   {.problems = sized<std::size_t>(400, 80), .first_seed = 320000});
    MESSAGE(to_text(figures));
    CHECK(figures.unanswered * 20 < figures.feasible);
    MESSAGE(to_text(run_suite<std::int64_t>(sw::polished{sw::reduced{sw::trws{}}, sw::local_search{}},
                                            {.problems = sized<std::size_t>(300, 60), .first_seed = 330000})));
  }
  TEST_CASE("the first that proves ends the work") {
    sw::elimination narrow;
    narrow.width = 1;
    const auto figures = run_suite(sw::first_proven{sw::trws{}, narrow, sw::exhaustive{}},
                                   {.problems = sized<std::size_t>(400, 200),
                                    .first_seed = sized(340000U, 340060U),  // few are infeasible; some of these are
                                    .exact = true});
    MESSAGE(to_text(figures));
    CHECK(figures.infeasible > 0);
    MESSAGE(to_text(
        run_suite<std::int64_t>(sw::first_proven{sw::local_search{}, sw::exhaustive{}},
                                {.problems = sized<std::size_t>(300, 100), .first_seed = 350000, .exact = true})));
  }
  TEST_CASE("a bound from elsewhere certifies a search") {
    const auto figures = run_suite(sw::certified{sw::local_search{}, sw::reduced{sw::budgeted{}}},
                                   {.problems = sized<std::size_t>(300, 60), .first_seed = 360000});
    MESSAGE(to_text(figures));
    CHECK(figures.optimal * 3 > figures.problems);
    MESSAGE(to_text(run_suite(sw::certified{sw::local_search{}, sw::exhaustive{}},
                              {.problems = sized<std::size_t>(300, 60), .first_seed = 370000})));
  }
  TEST_CASE("a race keeps its promises, whoever wins") {
    MESSAGE(to_text(run_suite(sw::race{sw::reduced{sw::trws{}}, sw::exhaustive{}},
                              {.problems = 200, .first_seed = 380000, .exact = true, .deterministic = false})));
  }
}

}  // namespace suite_combinators_tests
