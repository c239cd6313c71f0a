#include "solve/small_problems.hpp"
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace reduced_tests {
namespace {

namespace sw = shardweave;

using shardweave_test::draw_small;

}  // namespace

TEST_SUITE("reduced") {
  TEST_CASE("an infeasible problem is told with a reason") {
    sw::compact_builder<double> builder;
    for (int x = 0; x < 3; ++x) builder.add_variable(std::vector<double>{0, 0});
    builder.add_row({-std::numeric_limits<double>::infinity(), 5, 0, 0});
    for (std::uint32_t x = 0; x < 3; ++x) builder.add_segment(x, {0, 1, {2, 3}});
    const auto answer = sw::reduced{sw::trws{}}.solve(sw::placement_problem<double>(builder.build()));
    CHECK(answer.status == sw::solve_status::infeasible);
    CHECK(answer.statistics.note == "the reduction left a variable without a label or a row without room.");
  }
  TEST_CASE("what the reduction did is in the statistics") {
    const auto answer = sw::reduced{sw::trws{}}.solve(
        sw::placement_problem<double>(draw_small<double>(4, {.most_labels = 3, .density = 0.3, .forbidden = 0.3})));
    std::vector<std::string> names;
    for (const auto& [name, value] : answer.statistics.counters) names.push_back(name);
    for (const char* name : {"kernel variables", "kernel edges", "kernel labels", "kernel rows", "merged variables"})
      CHECK(std::count(names.begin(), names.end(), name) == 1);
  }
  TEST_CASE("the answer of the kernel is lifted: its objective and its bound are those of the problem") {
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(60); ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 6,
                                               .density = 0.3,
                                               .forbidden = 0.3,
                                               .rows = static_cast<std::uint32_t>(seed % 3),
                                               .lower_limits = 0.3});
      const auto optimum = shardweave_test::brute_optimum_of(p);
      const sw::placement_problem<double> problem(p);
      const auto sure = sw::reduced{sw::exhaustive{}}.solve(problem);
      REQUIRE(optimum);
      REQUIRE(sure.status == sw::solve_status::optimal);
      CHECK(sure.objective == *optimum);
      CHECK(problem.objective(*problem.labels_of(sure.choice)) == *optimum);
      const auto bounded = sw::reduced{sw::trws{}}.solve(problem);
      CHECK(bounded.lower_bound <= *optimum + 1e-9);
    }
  }
  TEST_CASE("a start is kept, whether the kernel has its labels or not") {
    std::size_t started = 0;
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(60); ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 6, .density = 0.6, .forbidden = 0.2});
      const sw::placement_problem<double> problem(p);
      sw::solve_control control;
      control.iterations = 0;
      control.start.assign(p.size(), 0);
      const double known = p.cost(std::vector<sw::strategy>(p.size(), 0));
      const auto answer = sw::reduced{sw::exhaustive{}}.solve(problem, control);
      REQUIRE(answer.has_assignment());
      CHECK(answer.objective <= known);
      started += answer.objective < known ? 1U : 0U;  // labels that the reduction removed are replaced by better ones
    }
    CHECK(started > 0);
  }
}

}  // namespace reduced_tests
