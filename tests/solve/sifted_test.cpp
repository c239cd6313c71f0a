#include "solve/composed_solvers.hpp"
#include "solve/small_problems.hpp"
#include "solve/suite.hpp"
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/sifted.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace sifted_tests {
namespace {

namespace sw = shardweave;

using composed_solvers::all_first;
using shardweave_test::run_suite;
using shardweave_test::to_text;

}  // namespace

TEST_SUITE("sifted") {
  TEST_CASE("what is sifted out is not missed") {
    for (const double width : {0.0, 0.01, 0.3}) {
      sw::sifted all(sw::exhaustive{});
      all.width = width;
      all.least_labels = 0;
      MESSAGE(to_text(run_suite(all, {.problems = 200, .first_seed = 330000, .exact = true})));
      sw::sifted some(all_first{});
      some.width = width;
      some.least_labels = 0;
      run_suite(some, {.problems = 200, .first_seed = 340000});
    }
  }
  TEST_CASE("where the core is small few labels are tried, and the optimum of it is that of the whole") {
    // one label of each variable is far better than the others
    sw::compact_builder<double> builder;
    for (int x = 0; x < 4; ++x) {
      std::vector<double> unary(9, 1000);
      unary[static_cast<std::size_t>(2 * x)] = 10;
      builder.add_variable(unary);
    }
    builder.add_edge(0, 1, shardweave_test::table_of<double>(9, 9, std::vector<double>(81, 5)));
    const sw::placement_problem<double> problem(builder.build());
    sw::sifted all(sw::exhaustive{});
    all.least_labels = 0;
    all.width = 0.5;
    const auto answer = all.solve(problem);
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(answer.objective == 45);
    REQUIRE_FALSE(answer.statistics.counters.empty());
    CHECK(answer.statistics.counters.back().first == "labels sifted out");
    CHECK(answer.statistics.counters.back().second == 4 * 8);
  }
  TEST_CASE("small problems and those with rows go to the solver inside as they are") {
    const sw::placement_problem<double> small(shardweave_test::draw_small<double>(1));
    const sw::placement_problem<double> with_rows(shardweave_test::draw_small<double>(1, {.rows = 1}));
    sw::sifted by_default(all_first{.bound = 1});
    sw::sifted always(all_first{.bound = 1});
    always.least_labels = 0;
    for (const auto& answer : {by_default.solve(small), always.solve(with_rows)}) {
      CHECK(answer.statistics.solver == "all_first");
      CHECK(answer.lower_bound == 1);  // as the solver inside says
    }
  }
}

}  // namespace sifted_tests
