#include "solve/composed_solvers.hpp"
#include "solve/small_problems.hpp"
#include "solve/suite.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/sifted.hpp>

#include <doctest/doctest.h>
#include <support/sifted_with.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sifted_tests {
namespace {

namespace sw = shardweave;

using composed_solvers::all_first;
using shardweave_test::run_suite;
using shardweave_test::sifted_with;
using shardweave_test::to_text;

}  // namespace

TEST_SUITE("sifted") {
  TEST_CASE("what is sifted out is not missed") {
    for (const double width : {0.0, 0.01, 0.3}) {
      const sifted_with all(sw::exhaustive{}, {.width = width, .least_labels = 0});
      MESSAGE(to_text(run_suite(all, {.problems = 200, .first_seed = 330000, .exact = true})));
      const sifted_with some(all_first{}, {.width = width, .least_labels = 0});
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
    const auto answer = sifted_with(sw::exhaustive{}, {.width = 0.5, .least_labels = 0}).solve(problem);
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(answer.objective == 45);
    REQUIRE_FALSE(answer.statistics.counters.empty());
    CHECK(answer.statistics.counters.back().first == "labels sifted out");
    CHECK(answer.statistics.counters.back().second == 4 * 8);
  }
  TEST_CASE("of a chain of many labels the core is solved, and its optimum is that of the whole") {
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(20); ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      constexpr std::size_t n = 150, k = 8;
      sw::compact_builder<double> builder;
      std::vector<double> best(k, 0);  // of the chain so far, by its last label
      for (std::uint32_t x = 0; x < n; ++x) {
        std::vector<double> unary(k), pairs(k * k), next(k, std::numeric_limits<double>::infinity());
        for (double& c : unary) c = static_cast<double>(100 + random.below(1000));
        for (double& c : pairs) c = static_cast<double>(random.below(100));
        builder.add_variable(unary);
        if (x > 0) builder.add_edge(x - 1, x, shardweave_test::table_of<double>(k, k, pairs));
        for (std::size_t l = 0; l < k; ++l)
          for (std::size_t before = 0; before < k; ++before)
            next[l] = std::min(next[l], best[before] + (x > 0 ? pairs[before * k + l] : 0) + unary[l]);
        best = next;
      }
      const auto answer = sw::sifted(sw::elimination{}).solve(sw::placement_problem<double>(builder.build()));
      CHECK(answer.status == sw::solve_status::optimal);
      CHECK(answer.objective == *std::min_element(best.begin(), best.end()));
      REQUIRE_FALSE(answer.statistics.counters.empty());
      CHECK(answer.statistics.counters.back().first == "labels sifted out");
      CHECK(answer.statistics.counters.back().second > n * k / 2);
    }
  }
  TEST_CASE("small problems and those with rows go to the solver inside as they are") {
    const sw::placement_problem<double> small(shardweave_test::draw_small<double>(1));
    const sw::placement_problem<double> with_rows(shardweave_test::draw_small<double>(1, {.rows = 1}));
    const sw::sifted by_default(all_first{.bound = 1});
    const sifted_with always(all_first{.bound = 1}, {.least_labels = 0});
    for (const auto& answer : {by_default.solve(small), always.solve(with_rows)}) {
      CHECK(answer.statistics.solver == "all_first");
      CHECK(answer.lower_bound == 1);  // as the solver inside says
    }
  }
}

}  // namespace sifted_tests
