#include "solve/limited_chain.hpp"
#include "solve/small_problems.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/search/dive.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace dive_tests {
namespace {

using namespace shardweave_test;

/// What is small is left to branch and bound, which would leave nothing to a dive here.
sw::dive diving() {
  sw::dive solver;
  solver.small_labels = 4;
  solver.root_steps = 60;
  solver.steps = 15;
  return solver;
}

sw::compact_problem<double> drawn(std::uint64_t seed) {
  return draw_small<double>(
      seed, {.variables = 7, .forbidden = 0.1, .rows = static_cast<std::uint32_t>(seed % 3), .lower_limits = 0.2});
}

}  // namespace

TEST_SUITE("dive") {
  TEST_CASE("assignments keep the rows, bounds hold, and most assignments are the best") {
    int optimal = 0, found_any = 0;
    constexpr int rounds = 50;
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
      CAPTURE(seed);
      const auto p = drawn(seed);
      const auto least = brute_optimum_of(p);
      REQUIRE(least.has_value());
      const sw::placement_problem<double> problem(p);
      const auto found = diving().solve(problem, {.seed = seed});
      CHECK(found.lower_bound <= *least + 1e-6);
      CHECK(diving().solve(problem, {.seed = seed}).choice == found.choice);
      if (!found.has_assignment()) continue;
      ++found_any;
      CHECK(naive_cost<double>(p, found.choice) == std::optional(found.objective));
      CHECK(naive_rows<double>(p, found.choice));
      CHECK(found.objective >= *least);
      optimal += found.objective == *least;
    }
    CHECK(found_any * 10 >= rounds * 9);
    CHECK(optimal * 10 >= rounds * 7);
  }

  TEST_CASE("where a round fixes one variable, dives end after some rounds, with what they found on the way") {
    std::size_t found_any = 0;
    for (std::uint64_t seed = 0; seed < at_scale(10); ++seed) {
      CAPTURE(seed);
      const limited_chain c(700 + seed, 80, 1.2);
      const auto p = c.problem();
      sw::dive solver = diving();
      solver.small_labels = 0;
      solver.least_share = solver.most_share = 1;
      solver.effort = 0;
      const auto found = solver.solve(sw::placement_problem<std::int64_t>(p), {.seed = seed});
      const std::int64_t optimum = c.optimum();
      CHECK(found.lower_bound <= static_cast<double>(optimum) + 1e-6);
      if (!found.has_assignment()) continue;
      ++found_any;
      CHECK(p.keeps_rows(found.choice));
      CHECK(p.cost(found.choice) == found.objective);
      CHECK(found.objective >= optimum);
    }
    CHECK(found_any > 0);
  }

  TEST_CASE("told of a start it answers with nothing worse") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      CAPTURE(seed);
      const auto p = drawn(seed);
      const std::vector<sw::strategy> zero(p.size(), 0);
      REQUIRE(naive_rows<double>(p, zero));
      const auto found = diving().solve(sw::placement_problem<double>(p), {.seed = seed, .start = zero});
      REQUIRE(found.has_assignment());
      CHECK(found.objective <= p.cost(zero));
    }
  }

  TEST_CASE("shares and efforts that are none count as the nearest that is one") {
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const auto found = [](std::uint64_t seed, double least, double most, double effort) {
      sw::dive solver = diving();
      solver.least_share = least;
      solver.most_share = most;
      solver.effort = effort;
      const auto p = drawn(seed);
      const auto answer = solver.solve(sw::placement_problem<double>(p), {.seed = seed});
      if (answer.has_assignment()) CHECK(naive_rows<double>(p, answer.choice));
      CHECK(answer.lower_bound <= *brute_optimum_of(p) + 1e-6);
      return answer.choice;
    };
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      CHECK(found(seed, 7, 7, 0.5) == found(seed, 1, 1, 0.5));
      CHECK(found(seed, 1e30, 1e30, 0.5) == found(seed, 1, 1, 0.5));
      for (const double low : {-3.0, -inf, nan}) CHECK(found(seed, low, low, 0.5) == found(seed, 0, 0, 0.5));
      for (const double none : {-1.0, -inf, nan}) CHECK(found(seed, 0.6, 0.88, none) == found(seed, 0.6, 0.88, 0));
    }
  }

  TEST_CASE("a merge of parents stays among their labels") {
    const sw::solve_control unlimited;
    int merged = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 7});
      sw::price_ascent<double> ascent(p);
      for (int step = 0; step < 40; ++step)
        if (!ascent.step(sw::forbidden<double>)) break;
      sw::random_source random(seed);
      std::vector<std::vector<sw::strategy>> parents(2);
      for (auto& labels : parents)
        for (std::size_t x = 0; x < p.size(); ++x)
          labels.push_back(static_cast<sw::strategy>(random.below(p.label_count(x))));
      const auto child =
          diving().merge(p, ascent.guide(), 0.7, parents, sw::forbidden<double>, sw::deadline(unlimited), random);
      if (!child) continue;
      ++merged;
      REQUIRE(child->size() == p.size());
      for (std::size_t x = 0; x < p.size(); ++x) CHECK(((*child)[x] == parents[0][x] || (*child)[x] == parents[1][x]));
      CHECK(naive_cost<double>(p, *child).has_value());
    }
    CHECK(merged > 0);
  }
}

}  // namespace dive_tests
