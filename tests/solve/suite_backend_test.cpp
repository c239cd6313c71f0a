#include "suite.hpp"
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
#include <shardweave/solve/reduced.hpp>

#include <doctest/doctest.h>
#include <support/tried_backends.hpp>

#include <cstdint>

namespace sw = shardweave;
using shardweave_test::run_suite;
using shardweave_test::to_text;

TEST_SUITE("solver suite") {
  TEST_CASE("the integer program proves every optimum, whichever backend works") {
    for (const sw::any_backend& backend : shardweave_test::tried_backends(true)) {
      CAPTURE(backend.name);
      const auto figures = run_suite(sw::ilp{backend}, {.problems = 200, .first_seed = 200000, .exact = true});
      MESSAGE(backend.name << ": " << to_text(figures));
      CHECK(figures.feasible > shardweave_test::at_scale(100));
      MESSAGE(backend.name << ": "
                           << to_text(run_suite<std::int64_t>(sw::ilp{backend, 0, 0},
                                                              {.problems = 150, .first_seed = 210000, .exact = true})));
      MESSAGE(backend.name << ": "
                           << to_text(run_suite(sw::reduced{sw::ilp{backend, 0, 0}},
                                                {.problems = 200, .first_seed = 220000, .exact = true})));
    }
  }
  TEST_CASE("the linear relaxation keeps its promises, whichever backend works") {
    for (const sw::any_backend& backend : shardweave_test::tried_backends()) {
      CAPTURE(backend.name);
      const auto figures = run_suite(sw::lp_relaxation{backend}, {.problems = 200, .first_seed = 230000});
      MESSAGE(backend.name << ": " << to_text(figures));
      CHECK(figures.optimal > shardweave_test::at_scale(60));
      MESSAGE(backend.name << ": "
                           << to_text(run_suite<std::int64_t>(sw::lp_relaxation{backend, 0},
                                                              {.problems = 150, .first_seed = 240000})));
    }
  }
}
