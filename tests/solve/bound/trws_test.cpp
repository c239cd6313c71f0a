#include "solve/long_intervals.hpp"
#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/search/detail/repair.hpp>
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

TEST_SUITE("budgeted") {
  TEST_CASE("bounds hold under timed rows and lower limits, and assignments keep them") {
    std::size_t feasible = 0, answered = 0, proven = 0;
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 6, .density = 0.2, .rows = 8, .lower_limits = 0.3});
      const auto optimum = brute_optimum_of(p);
      const auto answer = sw::budgeted{}.solve(sw::placement_problem<double>(p),
                                               {.iterations = shardweave_test::sized<std::size_t>(400, 200)});
      if (!optimum) {
        CHECK_FALSE(answer.has_assignment());
        continue;
      }
      ++feasible;
      CHECK(answer.lower_bound <= *optimum + 1e-8);
      if (!answer.has_assignment()) continue;
      ++answered;
      CHECK(answer.objective >= *optimum - 1e-9);
      const auto labels = sw::placement_problem<double>(p).labels_of(answer.choice);
      REQUIRE(labels);
      CHECK(shardweave_test::naive_rows(p, std::span<const sw::strategy>(*labels)));
      proven += answer.status == sw::solve_status::optimal;
    }
    CHECK(feasible > shardweave_test::at_scale(80));
    CHECK(answered * 10 > feasible * 7);
    CHECK(proven > shardweave_test::at_scale(20));
  }
  TEST_CASE("usage of 1e9 over eighty rows is priced as well") {
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(25); ++seed) {
      const auto p = shardweave_test::long_intervals(seed);
      const auto optimum = brute_optimum_of(p);
      const auto answer = sw::budgeted{}.solve(sw::placement_problem<double>(p),
                                               {.iterations = shardweave_test::sized<std::size_t>(300, 100)});
      if (optimum) CHECK(answer.lower_bound <= *optimum + 1e-6);
      if (answer.has_assignment()) CHECK(optimum);
    }
  }
  TEST_CASE("without rows it is the solver inside") {
    const auto answer = sw::budgeted{}.solve(frustrated());
    CHECK(answer.statistics.solver == "trws");
  }
  TEST_CASE("broken rows are mended by what costs least for what it mends") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{0, 10});
    builder.add_variable(std::vector<double>{0, 3});
    builder.add_variable(std::vector<double>{0, 1});  // cheap, but mends a tenth
    for (std::uint32_t x = 0; x < 3; ++x) builder.add_segment(x, {0, 1, {5, x == 2 ? 4.5 : 0.0}});
    builder.add_row({-infinite, 10, 0, 0});
    const auto p = builder.build();
    const sw::solve_control unlimited;
    label_list labels(3, 0);
    CHECK(sw::detail::repair(p, std::span<sw::strategy>(labels), 5, sw::deadline(unlimited)));
    CHECK(labels == label_list{0, 1, 0});
    labels = {0, 0, 0};
    CHECK_FALSE(sw::detail::repair(p, std::span<sw::strategy>(labels), 0, sw::deadline(unlimited)));
    CHECK(labels == label_list{0, 0, 0});
  }
  TEST_CASE("repair raises usage to a lower limit, and gives up where pairs forbid it") {
    const auto build = [](bool joined) {
      sw::compact_builder<double> builder;
      for (int x = 0; x < 2; ++x) builder.add_variable(std::vector<double>{0, 1});
      constexpr double no = sw::forbidden<double>;
      if (joined) builder.add_edge(0, 1, table_of<double>(2, 2, {0, no, no, 0}));
      for (std::uint32_t x = 0; x < 2; ++x) builder.add_segment(x, {0, 1, {0, 2}});
      builder.add_row({3, infinite, 0, 0});
      return builder.build();
    };
    const sw::solve_control unlimited;
    label_list labels(2, 0);
    CHECK(sw::detail::repair(build(false), std::span<sw::strategy>(labels), 5, sw::deadline(unlimited)));
    CHECK(labels == label_list{1, 1});
    labels = {0, 0};
    CHECK_FALSE(sw::detail::repair(build(true), std::span<sw::strategy>(labels), 5, sw::deadline(unlimited)));
  }
}

TEST_SUITE("by_size") {
  TEST_CASE(
      "without another solver, a problem that is too large is declined with a note, one that is not is passed on") {
    const auto problem = sw::placement_problem<double>(draw_small<double>(2, {.variables = 6, .rows = 3}));
    const std::size_t labels = problem.compact().total_labels();
    const auto passed = sw::by_size(sw::exhaustive{}, {.labels = labels, .rows = 3}).solve(problem);
    CHECK(passed.status == sw::solve_status::optimal);
    CHECK(passed.statistics.solver == "exhaustive");
    const auto declined = sw::by_size(sw::exhaustive{}, {.labels = labels - 1, .rows = 3}).solve(problem);
    CHECK(declined.status == sw::solve_status::stopped);
    CHECK_FALSE(declined.has_assignment());
    CHECK(declined.lower_bound == -infinite);
    CHECK(declined.statistics.note == "exhaustive was not asked: " + std::to_string(labels) +
                                          " labels and 3 rows are "
                                          "more than " +
                                          std::to_string(labels - 1) + " and 3.");
    CHECK_FALSE(sw::by_size(sw::exhaustive{}, {.labels = labels, .rows = 2}).solve(problem).has_assignment());
  }

  TEST_CASE("each size goes to its solver") {
    const auto problem = sw::placement_problem<double>(draw_small<double>(2, {.variables = 6, .rows = 3}));
    const std::size_t labels = problem.compact().total_labels();
    const auto asked = [&](sw::small_size most) {
      return sw::by_size(sw::exhaustive{}, sw::local_search{}, most).solve(problem).statistics.solver;
    };
    CHECK(asked({.labels = labels, .rows = 3}) == "exhaustive");
    CHECK(asked({.labels = labels - 1, .rows = 3}) == "local_search");
    CHECK(asked({.labels = labels, .rows = 2}) == "local_search");
  }
}

TEST_SUITE("auto_solver") {
  TEST_CASE("bounds and assignments are right with rows and without") {
    std::size_t proven = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<std::int64_t>(
          seed, {.variables = 6, .density = 0.4, .forbidden = 0.2, .rows = static_cast<std::uint32_t>(seed % 5)});
      const auto answer = sw::auto_solver{}.solve(sw::placement_problem<std::int64_t>(p));
      const auto optimum = brute_optimum_of(p);
      REQUIRE(optimum);
      REQUIRE(answer.has_assignment());
      CHECK(answer.objective >= *optimum);
      CHECK(answer.lower_bound <= static_cast<double>(*optimum));
      if (answer.status == sw::solve_status::optimal) CHECK(answer.objective == *optimum);
      proven += answer.status == sw::solve_status::optimal;
    }
    CHECK(proven > 45);
  }

  TEST_CASE("where there are many labels a first assignment is there before they are reduced") {
    std::size_t first = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<std::int64_t>(
          seed, {.variables = 6, .density = 0.4, .forbidden = 0.2, .rows = static_cast<std::uint32_t>(seed % 5)});
      const sw::placement_problem<std::int64_t> problem(p);
      std::vector<sw::progress_report> reports;
      std::stop_source stop;
      const auto stopped = sw::auto_solver{.many_labels = 1}.solve(
          problem, {.stop = stop.get_token(), .progress = [&](const sw::progress_report& r) {
                      reports.push_back(r);
                      stop.request_stop();
                    }});
      if (!reports.empty() && reports.front().stage == "local_search") {
        ++first;
        CHECK(static_cast<double>(stopped.objective) == reports.front().objective);
      }
      const auto answer = sw::auto_solver{.many_labels = 1}.solve(problem);
      CHECK(answer.objective == sw::auto_solver{}.solve(problem).objective);
      CHECK(answer.lower_bound <= static_cast<double>(answer.objective));
    }
    CHECK(first > 15);
  }
}

TEST_SUITE("exhaustive") {
  TEST_CASE("more variables than a stack of calls has room for") {
    sw::compact_builder<double> builder;
    const int n = shardweave_test::sized(300'000, 100'000);  // frames of sanitized builds are larger
    for (int x = 0; x < n; ++x) builder.add_variable(std::vector<double>{1});
    const auto answer = sw::exhaustive{}.solve(sw::placement_problem<double>(builder.build()));
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(answer.objective == n);
  }
}

}  // namespace trws_tests
