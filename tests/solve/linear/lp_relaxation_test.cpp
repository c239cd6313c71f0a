#include "solve/linear/linear_problems.hpp"
#include "solve/suite.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/lp_relaxation.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tried_backends.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lp_relaxation_tests {
namespace {

namespace sw = shardweave;

using namespace linear_problems;
using shardweave_test::run_suite;
using shardweave_test::sized;
using shardweave_test::to_text;
using shardweave_test::tried_backends;

static_assert(sw::solver<sw::lp_relaxation<sw::any_backend>, double>);

}  // namespace

TEST_SUITE("lp_relaxation") {
  TEST_CASE("bounds and roundings hold on random problems") {
    for (const sw::any_backend& backend : tried_backends()) {
      CAPTURE(backend.name);
      const auto all = run_suite(sw::lp_relaxation{backend, 0}, {.problems = 250, .first_seed = 150000});
      MESSAGE(to_text(all));
      CHECK(all.optimal > shardweave_test::at_scale(75));
      CHECK(all.unanswered < all.feasible / 10);
      MESSAGE(to_text(
          run_suite(sw::lp_relaxation{backend}, {.problems = sized<std::size_t>(120, 50), .first_seed = 160000})));
      MESSAGE(to_text(run_suite<std::int64_t>(sw::lp_relaxation{backend, 0},
                                              {.problems = sized<std::size_t>(120, 50), .first_seed = 170000})));
    }
  }
  TEST_CASE("a tree is solved by its relaxation") {
    for (const sw::any_backend& backend : tried_backends()) {
      CAPTURE(backend.name);
      std::size_t trees = 0;
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        sw::random_source random(seed);
        sw::compact_builder<double> builder;
        for (int x = 0; x < 8; ++x) {
          std::vector<double> unary(4);
          for (double& c : unary) c = random.unit();
          builder.add_variable(unary);
        }
        for (std::uint32_t x = 1; x < 8; ++x) {
          std::vector<double> entries(16);
          for (double& c : entries) c = random.unit();
          builder.add_edge(static_cast<std::uint32_t>(random.below(x)), x,
                           std::make_shared<const table>(table::from_entries(4, 4, entries)));
        }
        const sw::placement_problem<double> problem(builder.build());
        const auto answer = sw::lp_relaxation{backend, 0}.solve(problem);
        CAPTURE(seed);
        CHECK(answer.status == sw::solve_status::optimal);
        CHECK(answer.objective == doctest::Approx(sw::exhaustive{}.solve(problem).objective).epsilon(1e-9));
        ++trees;
      }
      CHECK(trees == 20);
    }
  }
  TEST_CASE("a fractional optimum gives its bound and a rounded assignment") {
    for (const sw::any_backend& backend : tried_backends()) {
      CAPTURE(backend.name);
      const auto answer = sw::lp_relaxation{backend, 0}.solve(odd_cycle());
      CHECK(answer.status == sw::solve_status::feasible);
      CHECK(answer.objective == 1);
      CHECK(answer.lower_bound == doctest::Approx(0).epsilon(1e-9));
      CHECK(counter(answer.statistics, "fractional_variables") == 5);
    }
  }
  TEST_CASE("cheap multipliers before the program change columns, not answers") {
    for (const sw::any_backend& backend : tried_backends()) {
      CAPTURE(backend.name);
      const auto problem = grid(4, 6);
      const auto all = sw::lp_relaxation{backend, 0}.solve(problem);
      const auto few = sw::lp_relaxation{backend, 100}.solve(problem);
      CHECK(few.lower_bound >= all.lower_bound * (1 - 1e-7));
      if (few.status != sw::solve_status::optimal)
        CHECK(counter(few.statistics, "columns") < counter(all.statistics, "columns"));
    }
  }
}

}  // namespace lp_relaxation_tests
