#include "suite.hpp"

#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace sw = shardweave;
using shardweave_test::run_suite;
using shardweave_test::sized;
using shardweave_test::to_text;

TEST_SUITE("solver suite") {
  TEST_CASE("message passing keeps its promises") {
    const auto figures = run_suite(sw::trws{}, {.problems = 1000, .first_seed = 100000});
    MESSAGE(to_text(figures));
    CHECK(figures.optimal > shardweave_test::at_scale(500));
    MESSAGE(to_text(run_suite<std::int64_t>(sw::trws{}, {.problems = 400, .first_seed = 110000})));
    MESSAGE(to_text(run_suite(sw::reduced{sw::trws{}}, {.problems = 500, .first_seed = 120000})));
  }
  TEST_CASE("local search keeps its promises") {
    const auto figures =
        run_suite(sw::local_search{}, {.problems = sized<std::size_t>(700, 250), .first_seed = 130000});
    MESSAGE(to_text(figures));
    CHECK(figures.unanswered * 20 < figures.feasible);
    MESSAGE(to_text(
        run_suite<std::int64_t>(sw::local_search{}, {.problems = sized<std::size_t>(300, 100), .first_seed = 140000})));
    MESSAGE(to_text(
        run_suite(sw::reduced{sw::local_search{}}, {.problems = sized<std::size_t>(300, 100), .first_seed = 150000})));
  }
  TEST_CASE("prices on budgets keep their promises") {
    const auto figures = run_suite(sw::budgeted{}, {.problems = 250, .first_seed = 160000});
    MESSAGE(to_text(figures));
    CHECK(figures.unanswered * 10 < figures.feasible);
    MESSAGE(to_text(
        run_suite<std::int64_t>(sw::budgeted{}, {.problems = sized<std::size_t>(150, 50), .first_seed = 170000})));
    MESSAGE(to_text(
        run_suite(sw::reduced{sw::budgeted{}}, {.problems = sized<std::size_t>(250, 100), .first_seed = 180000})));
  }
}
