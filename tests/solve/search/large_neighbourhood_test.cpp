#include "solve/small_problems.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace large_neighbourhood_tests {
namespace {

using namespace shardweave_test;

/// Small windows, so that one does not hold the whole problem.
sw::large_neighbourhood<sw::exhaustive> narrow() {
  sw::large_neighbourhood searching(sw::exhaustive{});
  searching.largest = 3;
  searching.windows = 40;
  return searching;
}

}  // namespace

TEST_SUITE("large_neighbourhood") {
  TEST_CASE("a window never makes labels dearer, keeps rows, and says whether they are cheaper") {
    const sw::solve_control unlimited;
    int cheaper = 0, unchanged = 0;
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
      CAPTURE(seed);
      const auto p =
          draw_small<double>(seed, {.variables = 7, .forbidden = 0.1, .rows = static_cast<std::uint32_t>(seed % 3)});
      std::vector<sw::strategy> labels(p.size(), 0);
      REQUIRE(naive_rows<double>(p, labels));
      double cost = p.cost(labels);
      sw::random_source random(seed);
      const sw::deadline limit{unlimited};
      const auto least = brute_optimum_of(p);
      REQUIRE(least.has_value());
      for (int step = 0; step < 10; ++step) {
        const double before = cost;
        const bool gained = narrow().once(p, labels, cost, limit, random);
        CHECK(cost <= before);
        CHECK(gained == (cost < before));
        CHECK(naive_cost<double>(p, labels) == std::optional(cost));
        CHECK(naive_rows<double>(p, labels));
        CHECK(cost >= *least);
        ++(gained ? cheaper : unchanged);
      }
    }
    CHECK(cheaper > 0);
    CHECK(unchanged > 0);
  }

  TEST_CASE("a window of all variables, solved exactly, gives the optimum at once") {
    const sw::solve_control unlimited;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      const auto p =
          draw_small<double>(seed, {.variables = 5, .density = 1, .rows = static_cast<std::uint32_t>(seed % 2)});
      std::vector<sw::strategy> labels(p.size(), 0);
      double cost = p.cost(labels);
      sw::random_source random(seed);
      sw::large_neighbourhood whole(sw::exhaustive{});
      whole.largest = p.size();
      for (int step = 0; step < 20; ++step) whole.once(p, labels, cost, sw::deadline(unlimited), random);
      CHECK(cost == *brute_optimum_of(p));
    }
  }

  TEST_CASE("no answer is dearer than the start, none cheaper than the optimum, and most are the optimum") {
    int optimal = 0, rounds = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 7, .rows = static_cast<std::uint32_t>(seed % 3)});
      const auto least = brute_optimum_of(p);
      REQUIRE(least.has_value());
      const sw::placement_problem<double> problem(p);
      const std::vector<sw::strategy> zero(p.size(), 0);
      const auto found = narrow().solve(problem, {.seed = seed, .start = zero});
      REQUIRE(found.has_assignment());
      CHECK(naive_cost<double>(p, found.choice) == std::optional(found.objective));
      CHECK(naive_rows<double>(p, found.choice));
      CHECK(found.objective <= p.cost(zero));
      CHECK(found.objective >= *least);
      CHECK(found.lower_bound <= *least);
      const auto again = narrow().solve(problem, {.seed = seed, .start = zero});
      CHECK(again.choice == found.choice);
      optimal += found.objective == *least;
      ++rounds;
    }
    CHECK(optimal * 10 >= rounds * 8);
  }
}

}  // namespace large_neighbourhood_tests
