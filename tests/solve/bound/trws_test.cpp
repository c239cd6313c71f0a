#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;
using shardweave_test::label_list;
using shardweave_test::table_of;

namespace trws_tests {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// A frustrated cycle: unequal neighbours cost nothing, and three cannot all differ. The relaxation's bound is 0, the
/// optimum 1, so message passing alone never proves it.
sw::placement_problem<double> frustrated() {
  sw::compact_builder<double> builder;
  for (int x = 0; x < 3; ++x) builder.add_variable(std::vector<double>{0, 0});
  const auto differ = table_of<double>(2, 2, {1, 0, 0, 1});
  for (const auto& [x, y] : {std::pair(0U, 1U), std::pair(0U, 2U), std::pair(1U, 2U)}) builder.add_edge(x, y, differ);
  return sw::placement_problem<double>(builder.build());
}

/// Large, loopy and random: not proven within a few sweeps.
sw::placement_problem<double> hard() {
  return sw::placement_problem<double>(draw_small<double>(1, {.variables = 60, .most_labels = 6, .density = 0.3}));
}

}  // namespace

TEST_SUITE("trws") {
  TEST_CASE("a limit on iterations is kept, and said") {
    const auto answer = sw::trws{}.solve(hard(), {.iterations = 3});
    CHECK(answer.statistics.iterations == 3);
    CHECK(answer.status == sw::solve_status::stopped);
    CHECK(answer.statistics.note == "stopped after 3 sweeps.");
    CHECK(answer.has_assignment());
    CHECK(answer.lower_bound <= answer.objective);
    sw::trws few;
    few.sweeps = 2;
    const auto own = few.solve(hard());
    CHECK(own.statistics.iterations == 2);
    CHECK(own.status == sw::solve_status::feasible);
    CHECK(own.statistics.note == "gave up after 2 sweeps.");
  }
  TEST_CASE("a stop before the first sweep leaves no bound and no assignment") {
    std::stop_source source;
    source.request_stop();
    sw::solve_control control;
    control.stop = source.get_token();
    const auto answer = sw::trws{}.solve(hard(), control);
    CHECK(answer.status == sw::solve_status::stopped);
    CHECK(answer.lower_bound == -infinite);
    CHECK(answer.statistics.note == "stopped after 0 sweeps.");
  }
  TEST_CASE("more sweeps never lower the bound nor raise the objective") {
    double bound = -infinite, objective = infinite;
    for (const std::size_t sweeps : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
      if (shardweave_test::is_small_scale && sweeps > 16) break;
      const auto answer = sw::trws{}.solve(hard(), {.iterations = sweeps});
      CHECK(answer.lower_bound >= bound);
      CHECK(answer.objective <= objective);
      bound = answer.lower_bound;
      objective = answer.objective;
    }
  }
  TEST_CASE("a gap of the relaxation stays a gap") {
    const auto answer = sw::trws{}.solve(frustrated());
    CHECK(answer.objective == 1);
    CHECK(answer.lower_bound <= 1e-9);
    CHECK(answer.status == sw::solve_status::feasible);
  }
  TEST_CASE("trees are proven") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 7, .most_labels = 3, .density = 0, .forbidden = 0.3});
      const auto answer = sw::trws{}.solve(sw::placement_problem<double>(p));
      CHECK(answer.status == sw::solve_status::optimal);
      CHECK(answer.objective == *brute_optimum_of(p));
    }
  }
  TEST_CASE("progress is reported with every sweep") {
    std::size_t reports = 0;
    double last = -infinite;
    sw::solve_control control{.iterations = 5};
    control.progress = [&](const sw::progress_report& r) {
      ++reports;
      CHECK(r.stage == "trws");
      CHECK(r.lower_bound >= last);
      CHECK(r.done == doctest::Approx(static_cast<double>(reports) / 5));
      last = r.lower_bound;
    };
    (void)sw::trws{}.solve(hard(), control);
    CHECK(reports == 5);
  }
}

}  // namespace trws_tests
