#include "solve/small_problems.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/exhaustive.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stop_token>
#include <vector>

namespace exhaustive_tests {
namespace {

namespace sw = shardweave;

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_SUITE("exhaustive") {
  /// Twenty vertices in a frustrated circle of many strategies: more than anyone waits for.
  sw::placement_problem<double> endless() {
    sw::placement_description<double> d;
    sw::random_source random(3);
    d.vertices.resize(20);
    for (auto& v : d.vertices) v.compute.assign(10, 0);
    for (std::uint32_t v = 0; v < 20; ++v)
      for (std::uint32_t u = 0; u < v; ++u) {
        std::vector<double> entries(100);
        for (double& c : entries) c = random.unit();
        d.edges.push_back({u, v, 0, static_cast<std::uint32_t>(d.tables.size()), sw::no_table});
        d.tables.push_back(
            std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(10, 10, entries)));
      }
    return sw::compile(d);
  }

  TEST_CASE("a limit ends the search with the best assignment so far") {
    const auto problem = endless();
    const auto by_nodes = sw::exhaustive{}.solve(problem, {.iterations = 5000});
    CHECK(by_nodes.status == sw::solve_status::stopped);
    CHECK(by_nodes.statistics.iterations == 5000);
    CHECK(by_nodes.choice.size() == 20);
    CHECK(by_nodes.lower_bound == -infinity);
    CHECK(by_nodes.statistics.note == "stopped before all labelings were tried.");

    const auto by_time = sw::exhaustive{}.solve(problem, {.seconds = 0.05});
    CHECK(by_time.status == sw::solve_status::stopped);
    CHECK(by_time.has_assignment());
    CHECK(by_time.objective <= by_nodes.objective);
    CHECK(by_time.statistics.seconds < 5);

    std::stop_source source;
    source.request_stop();
    sw::solve_control control;
    control.stop = source.get_token();
    CHECK(sw::exhaustive{}.solve(problem, control).status == sw::solve_status::stopped);
  }
  TEST_CASE("a problem without a feasible assignment is called infeasible, with a reason") {
    sw::placement_description<double> d;
    d.vertices.resize(3);
    for (auto& v : d.vertices) v.compute = {0, 0};
    d.constraints.budgets.push_back({"odd sum of even numbers", 3, 3, {}});
    for (std::uint32_t v = 0; v < 3; ++v) d.constraints.budgets[0].terms.push_back({v, {0, 2}, {}});
    const auto s = sw::exhaustive{}.solve(sw::compile(d));
    CHECK(s.status == sw::solve_status::infeasible);
    CHECK(s.lower_bound == infinity);
    CHECK(s.statistics.note == "every labeling breaks a constraint.");
  }
  TEST_CASE("more variables than a stack of calls has room for") {
    sw::compact_builder<double> builder;
    const int n = shardweave_test::sized(300'000, 100'000);  // frames of sanitized builds are larger
    for (int x = 0; x < n; ++x) builder.add_variable(std::vector<double>{1});
    const auto answer = sw::exhaustive{}.solve(sw::placement_problem<double>(builder.build()));
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(answer.objective == n);
  }
  TEST_CASE_TEMPLATE("every optimum with rows is found and proven, and nothing better than it is claimed", Cost, double,
                     std::int64_t) {
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(60); ++seed) {
      const auto p = shardweave_test::draw_small<Cost>(
          seed, {.variables = 5, .density = 0.5, .forbidden = 0.3, .rows = 2, .lower_limits = 0.5});
      const auto optimum = shardweave_test::brute_optimum_of(p);
      const auto answer = sw::exhaustive{}.solve(sw::placement_problem<Cost>(p));
      REQUIRE(answer.has_assignment() == optimum.has_value());
      CHECK(answer.status == (optimum ? sw::solve_status::optimal : sw::solve_status::infeasible));
      if (optimum) CHECK(answer.objective == *optimum);
    }
  }
}

}  // namespace exhaustive_tests
