#include "suite.hpp"
#include <shardweave/solve/backend/glpk.hpp>
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
#include <shardweave/solve/reduced.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace sw = shardweave;
using shardweave_test::run_suite;
using shardweave_test::to_text;

TEST_SUITE("solver suite") {
  TEST_CASE("the integer program proves every optimum") {
    const auto figures = run_suite(sw::ilp{sw::glpk{}}, {.problems = 300, .first_seed = 200000, .exact = true});
    MESSAGE(to_text(figures));
    CHECK(figures.feasible > shardweave_test::at_scale(150));
    MESSAGE(
        to_text(run_suite<std::int64_t>(sw::ilp{sw::glpk{}}, {.problems = 150, .first_seed = 210000, .exact = true})));
    MESSAGE(
        to_text(run_suite(sw::reduced{sw::ilp{sw::glpk{}}}, {.problems = 300, .first_seed = 220000, .exact = true})));
  }
  TEST_CASE("the linear relaxation keeps its promises") {
    const auto figures = run_suite(sw::lp_relaxation{sw::glpk{}}, {.problems = 300, .first_seed = 230000});
    MESSAGE(to_text(figures));
    CHECK(figures.optimal > shardweave_test::at_scale(100));
    MESSAGE(to_text(run_suite<std::int64_t>(sw::lp_relaxation{sw::glpk{}}, {.problems = 150, .first_seed = 240000})));
  }
}
