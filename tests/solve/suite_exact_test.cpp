#include "suite.hpp"
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/reduced.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::run_suite;
using shardweave_test::sized;
using shardweave_test::to_text;

TEST_SUITE("solver suite") {
  TEST_CASE("exhaustive search proves every optimum") {
    const auto figures = run_suite(
        sw::exhaustive{},
        {.problems = 1200, .first_seed = sized(1U, 401U), .exact = true});  // few are infeasible; some of these are
    MESSAGE(to_text(figures));
    CHECK(figures.feasible > at_scale(700));
    CHECK(figures.infeasible > at_scale(15));
    CHECK(figures.contradictory > at_scale(100));
  }
  TEST_CASE("exhaustive search proves every optimum of whole numbers") {
    MESSAGE(to_text(run_suite<std::int64_t>(sw::exhaustive{}, {.problems = 600, .first_seed = 10000, .exact = true})));
  }
  TEST_CASE("elimination proves every optimum without budgets") {
    const auto figures = run_suite(sw::elimination{}, {.problems = 1000, .first_seed = 20000, .exact = true});
    MESSAGE(to_text(figures));
    CHECK(figures.optimal > at_scale(500));
    MESSAGE(to_text(run_suite<std::int64_t>(sw::elimination{}, {.problems = 500, .first_seed = 30000, .exact = true})));
  }
  TEST_CASE("elimination that is too narrow gives up honestly") {
    sw::elimination narrow;
    narrow.width = 1;
    const auto figures = run_suite(narrow, {.problems = 300, .first_seed = 40000});
    MESSAGE(to_text(figures));
    CHECK(figures.unanswered > at_scale(20));
  }
  TEST_CASE("what is left after reduction has the same optimum") {
    const auto figures = run_suite(sw::reduced{sw::exhaustive{}},
                                   {.problems = sized<std::size_t>(1500, 500), .first_seed = 50000, .exact = true});
    MESSAGE(to_text(figures));
    CHECK(figures.feasible > at_scale(sized<std::size_t>(900, 300)));
    MESSAGE(to_text(
        run_suite<std::int64_t>(sw::reduced{sw::exhaustive{}},
                                {.problems = sized<std::size_t>(700, 250), .first_seed = 60000, .exact = true})));
    MESSAGE(to_text(run_suite(sw::reduced{sw::elimination{}},
                              {.problems = sized<std::size_t>(500, 200), .first_seed = 70000, .exact = true})));
  }
}
