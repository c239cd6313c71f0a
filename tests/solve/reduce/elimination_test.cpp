#include "solve/small_problems.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/elimination.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;
using shardweave_test::table_of;

namespace elimination_tests {
namespace {

template <class Cost>
double counter(const sw::solution<Cost>& s, std::string_view name) {
  const auto at = std::find_if(s.statistics.counters.begin(), s.statistics.counters.end(),
                               [&](const auto& c) { return c.first == name; });
  REQUIRE(at != s.statistics.counters.end());
  return at->second;
}

/// n variables of k labels, every two joined by the same table of random costs.
sw::placement_problem<double> clique(std::uint32_t n, std::size_t k) {
  sw::random_source random(9);
  std::vector<double> entries(k * k);
  for (double& c : entries) c = random.unit();
  const auto t = table_of<double>(k, k, entries);
  sw::compact_builder<double> builder;
  for (std::uint32_t x = 0; x < n; ++x) builder.add_variable(std::vector<double>(k));
  for (std::uint32_t y = 1; y < n; ++y)
    for (std::uint32_t x = 0; x < y; ++x) builder.add_edge(x, y, t);
  return sw::placement_problem<double>(builder.build());
}

/// A chain of hubs, each with the same branch of two variables.
sw::compact_problem<std::int64_t> branches(std::uint32_t count) {
  sw::compact_builder<std::int64_t> builder;
  const auto inner = table_of<std::int64_t>(3, 3, {4, 1, 7, 2, 5, 3, 8, 6, 0});
  const auto onward = table_of<std::int64_t>(3, 3, {1, 9, 4, 3, 3, 8, 5, 2, 6});
  for (std::uint32_t hub = 0; hub < 3 * count; hub += 3) {
    builder.add_variable(std::vector<std::int64_t>{3, 0, 2});
    builder.add_variable(std::vector<std::int64_t>{1, 4, 1});
    builder.add_variable(std::vector<std::int64_t>{0, 2, 5});
    builder.add_edge(hub, hub + 1, inner);
    builder.add_edge(hub + 1, hub + 2, onward);
    if (hub > 0) builder.add_edge(hub - 3, hub, onward);
  }
  return builder.build();
}

}  // namespace

TEST_SUITE("elimination") {
  TEST_CASE("it is exact on tables of many and of few classes") {
    for (const std::size_t classes : {1U, 2U, 3U, 6U})
      for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(classes);
        CAPTURE(seed);
        const auto p = draw_small<std::int64_t>(
            seed, {.variables = 6, .most_labels = 4, .density = 0.5, .forbidden = 0.2, .classes = classes});
        const auto optimum = brute_optimum_of(p);
        const auto answer = sw::elimination{}.solve(sw::placement_problem<std::int64_t>(p));
        REQUIRE(optimum);
        CHECK(answer.status == sw::solve_status::optimal);
        CHECK(answer.objective == *optimum);
        CHECK(counter(answer, "eliminations") == 6);
      }
  }
  TEST_CASE("equal branches are eliminated once") {
    const std::uint32_t count = shardweave_test::sized(300U, 60U);
    const auto p = branches(count);
    const auto small = branches(shardweave_test::sized(4U, 3U));  // as many labelings as 3^9 under sanitizers
    const auto few = sw::elimination{}.solve(sw::placement_problem<std::int64_t>(small));
    const auto many = sw::elimination{}.solve(sw::placement_problem<std::int64_t>(p));
    CHECK(few.objective == *brute_optimum_of(small));
    CHECK(many.status == sw::solve_status::optimal);
    CHECK(counter(many, "eliminations") == 3 * count);
    CHECK(counter(many, "distinct eliminations") <=
          count + 10);  // each hub differs from those before it, no branch does
    CHECK(shardweave_test::naive_cost(p, std::span<const sw::strategy>(many.choice)) == many.objective);
  }
  TEST_CASE("a factor that is too wide or too large ends it with a note, and no bound") {
    sw::elimination narrow;
    narrow.width = 3;
    auto answer = narrow.solve(clique(6, 4));
    CHECK(answer.status == sw::solve_status::stopped);
    CHECK_FALSE(answer.has_assignment());
    CHECK(answer.lower_bound == -std::numeric_limits<double>::infinity());
    CHECK(answer.statistics.note == "a factor on 5 variables is above the limits.");
    sw::elimination small;
    small.entries = 1000;
    CHECK(small.solve(clique(6, 4)).statistics.note == "a factor on 5 variables is above the limits.");
    sw::elimination forgetful;
    forgetful.all_entries = 1100;  // 4^5 + 4^4
    CHECK(forgetful.solve(clique(6, 4)).statistics.note == "a factor on 4 variables is above the limits.");
    sw::elimination lazy;
    lazy.work = 10;
    CHECK(lazy.solve(clique(6, 4)).status == sw::solve_status::stopped);
    CHECK(sw::elimination{}.solve(clique(6, 4)).status == sw::solve_status::optimal);
  }
  TEST_CASE("a stop and a limit on steps end it, and are not called limits of size") {
    std::stop_source source;
    source.request_stop();
    sw::solve_control control;
    control.stop = source.get_token();
    auto answer = sw::elimination{}.solve(clique(5, 3), control);
    CHECK(answer.status == sw::solve_status::stopped);
    CHECK(answer.statistics.note == "stopped before every variable was eliminated.");
    CHECK(sw::elimination{}.solve(clique(5, 3), {.iterations = 2}).statistics.note == answer.statistics.note);
    CHECK(sw::elimination{}.solve(clique(5, 3), {.iterations = 2}).statistics.iterations == 2);
    CHECK(sw::elimination{}.solve(clique(5, 3), {.iterations = 5}).status == sw::solve_status::optimal);
    const auto start = std::chrono::steady_clock::now();
    answer = sw::elimination{}.solve(clique(8, 10), {.seconds = 0.02});  // ten million cells in the first factor
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    CHECK(answer.statistics.note == "stopped before every variable was eliminated.");
    CHECK(took.count() < 2);
  }
  TEST_CASE("rows are not seen, but never broken: the bound is that without them") {
    std::size_t kept = 0, broken = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 5, .density = 0.3, .rows = 3});
      const auto answer = sw::elimination{}.solve(sw::placement_problem<std::int64_t>(p));
      CHECK(answer.lower_bound == static_cast<double>(*brute_optimum_of(p, false)));
      if (answer.has_assignment()) {
        CHECK(answer.objective == *brute_optimum_of(p));
        ++kept;
      } else {
        CHECK(answer.statistics.note == "the best labeling breaks a row.");
        ++broken;
      }
    }
    CHECK(kept > 10);
    CHECK(broken > 10);
  }
  TEST_CASE("an odd cycle of forbidden pairs is infeasible, with a reason") {
    constexpr double no = sw::forbidden<double>;
    sw::compact_builder<double> builder;
    for (int x = 0; x < 3; ++x) builder.add_variable(std::vector<double>{0, 0});
    const auto differ = table_of<double>(2, 2, {no, 0, 0, no});
    for (const auto& [x, y] : {std::pair(0U, 1U), std::pair(0U, 2U), std::pair(1U, 2U)}) builder.add_edge(x, y, differ);
    const auto answer = sw::elimination{}.solve(sw::placement_problem<double>(builder.build()));
    CHECK(answer.status == sw::solve_status::infeasible);
    CHECK(answer.statistics.note == "every labeling uses a forbidden pair.");
  }
}

}  // namespace elimination_tests
