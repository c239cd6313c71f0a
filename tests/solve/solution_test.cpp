#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/solution.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace solution_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using labels = std::vector<sw::strategy>;

/// Costs 1, 2 and 10, 20; both second strategies together are too much for the budget.
sw::placement_problem<double> two_variables() {
  sw::placement_description<double> d;
  d.vertices.resize(2);
  d.vertices[0].compute = {2, 1};
  d.vertices[1].compute = {20, 10};
  d.constraints.budgets.push_back({"memory", -infinity, 3, {{0, {1, 2}, {}}, {1, {1, 2}, {}}}});
  return sw::compile(d);
}

sw::solution<double> conclude(const labels& l, double bound, bool stopped = false) {
  return sw::conclude<double>(two_variables(), l, bound, stopped, {.solver = "test", .note = "so it was."});
}

}  // namespace

TEST_SUITE("solution") {
  TEST_CASE("an answer that a bound meets is optimal") {
    const auto s = conclude({0, 1}, 12);
    CHECK(s.status == sw::solve_status::optimal);
    CHECK(s.choice == sw::assignment{0, 1});
    CHECK(s.objective == 12);
    CHECK(s.lower_bound == 12);
    CHECK(s.gap() == 0);
    CHECK(s.statistics.solver == "test");
    CHECK(s.statistics.note == "so it was.");
    CHECK(conclude({0, 1}, 12 - 1e-9).status == sw::solve_status::optimal);
    CHECK(conclude({0, 1}, 12, true).status == sw::solve_status::optimal);
    CHECK(conclude({0, 1}, 12.5).lower_bound == 12);  // no more than what is proven by an assignment
  }
  TEST_CASE("an answer that no bound meets is feasible, or stopped") {
    const auto s = conclude({0, 1}, 10);
    CHECK(s.status == sw::solve_status::feasible);
    CHECK(s.gap() == doctest::Approx(0.2));
    CHECK(conclude({0, 1}, 10, true).status == sw::solve_status::stopped);
    CHECK(conclude({0, 0}, -infinity).gap() == infinity);
    CHECK(conclude({0, 1}, 0).gap() > 1e100);
  }
  TEST_CASE("an assignment that breaks a constraint does not come back") {
    const auto s = conclude({1, 1}, 11);
    CHECK(s.choice.empty());
    CHECK_FALSE(s.has_assignment());
    CHECK(s.objective == infinity);
    CHECK(s.lower_bound == 11);
    CHECK(s.status == sw::solve_status::stopped);
    CHECK(s.gap() == infinity);
    CHECK(s.statistics.note ==
          "so it was. an assignment was dropped: budget 'memory' uses 4, more than its "
          "limit 3.");
  }
  TEST_CASE("without an assignment an infinite bound says infeasible, any other stopped") {
    CHECK(conclude({}, infinity).status == sw::solve_status::infeasible);
    CHECK(conclude({}, 11).status == sw::solve_status::stopped);
    CHECK(conclude({}, -infinity, true).status == sw::solve_status::stopped);
  }
  TEST_CASE("nothing to decide has an assignment: the empty one") {
    const auto problem = sw::compile(sw::placement_description<double>{});
    const auto s = sw::exhaustive{}.solve(problem);
    CHECK(s.status == sw::solve_status::optimal);
    CHECK(s.has_assignment());
    CHECK(s.choice.empty());
    CHECK(s.objective == 0);
  }
  TEST_CASE("whole costs are proven by a bound above the next better one") {
    CHECK(sw::proves<std::int64_t>(9.5, 10));
    CHECK_FALSE(sw::proves<std::int64_t>(9, 10));
    CHECK(sw::proves<std::int64_t>(-10.25, -10));
    CHECK_FALSE(sw::proves<double>(9.5, 10));
    CHECK(sw::proves<double>(1e9 - 0.5, 1e9));
    CHECK_FALSE(sw::proves<double>(1e9 - 2, 1e9));
    CHECK_FALSE(sw::proves<double>(-infinity, 0));
  }
  TEST_CASE(
      "of two answers the better bound stays, and of equal assignments the earlier one, or the one that is proven") {
    const auto of = [](sw::strategy s, double objective, double bound, sw::solve_status status) {
      sw::solution<double> one;
      one.choice = {s};
      one.objective = objective;
      one.lower_bound = bound;
      one.status = status;
      return one;
    };
    using enum sw::solve_status;
    const auto first = of(0, 5, 1, feasible), second = of(1, 5, 3, feasible), better = of(2, 4, 2, feasible),
               proven = of(3, 5, 5, optimal);
    CHECK(sw::merged(first, second).choice == first.choice);
    CHECK(sw::merged(second, first).choice == second.choice);
    for (const auto& both : {sw::merged(first, second), sw::merged(second, first)}) CHECK(both.lower_bound == 3);
    CHECK(sw::merged(first, better).choice == better.choice);
    CHECK(sw::merged(better, first).choice == better.choice);
    CHECK(sw::merged(first, proven).choice == proven.choice);
    CHECK(sw::merged(proven, first).choice == proven.choice);
    CHECK(sw::merged(first, proven).status == optimal);
  }

  TEST_CASE("states have names") {
    CHECK(sw::name_of(sw::solve_status::optimal) == "optimal");
    CHECK(sw::name_of(sw::solve_status::feasible) == "feasible");
    CHECK(sw::name_of(sw::solve_status::infeasible) == "infeasible");
    CHECK(sw::name_of(sw::solve_status::stopped) == "stopped");
  }
}

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
}

}  // namespace solution_tests
