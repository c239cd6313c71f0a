#include "solve/small_problems.hpp"
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/bound/row_prices.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace price_ascent_tests {
namespace {

using namespace shardweave_test;

constexpr double rounding = 1e-6;
constexpr double unbounded = std::numeric_limits<double>::infinity();

}  // namespace

TEST_SUITE("price_ascent") {
  TEST_CASE("no bound exceeds what any labeling that keeps the rows costs, of the problem or of one label") {
    int with_rows = 0, above_plain = 0;
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(
          seed, {.variables = 5, .forbidden = 0.1, .rows = static_cast<std::uint32_t>(seed % 4), .lower_limits = 0.3});
      const std::vector<double> least = least_by_label(p);
      const double optimum = *std::ranges::min_element(least);
      REQUIRE(optimum < unbounded);
      sw::price_ascent<double> ascent(p);
      double last = -unbounded;
      for (int step = 0; step < 60; ++step) {
        const bool goes_on = ascent.step(optimum);
        CHECK(ascent.bound() <= optimum + rounding);
        CHECK(ascent.bound() >= last);
        last = ascent.bound();
        if (!goes_on) break;
      }
      const sw::dual_guide guide = ascent.guide();
      CHECK(guide.bound <= optimum + rounding);
      CHECK(guide.prices.size() == p.rows().size());
      REQUIRE(guide.label_bounds.size() == least.size());
      for (std::size_t i = 0; i < least.size(); ++i) CHECK(guide.label_bounds[i] <= least[i] + rounding);
      if (p.rows().empty()) continue;
      ++with_rows;
      above_plain += ascent.bound() > *brute_optimum_of(p, false) + rounding;
    }
    CHECK(with_rows > 0);
    CHECK(above_plain > 0);  // prices see what the costs alone do not
  }

  TEST_CASE("multipliers and what is in knapsacks prove the best bound, of rows that became knapsacks, too") {
    int strengthened = 0;
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 5, .forbidden = 0.1, .rows = 3, .usage = 1});
      const auto optimum = brute_optimum_of(p);
      REQUIRE(optimum);
      sw::price_ascent<double> ascent(p);
      const auto prove = [&] {
        const sw::dual_values dual = ascent.multipliers();
        REQUIRE(dual.of_row.size() == p.rows().size());
        sw::row_prices<double> prices(p);
        prices.values() = dual.of_row;
        std::vector<double> unary(p.total_labels());
        prices.add_to(unary);
        const double proven = naive_bound(p, dual.of_class, unary, ascent.amounts()) - prices.earned();
        CHECK(proven >= ascent.bound() - rounding * std::max(1.0, std::abs(ascent.bound())));
        CHECK(proven <= *optimum + rounding);
      };
      for (int step = 0; step < 100; ++step)
        if (!ascent.step(*optimum)) break;
      prove();
      CHECK(ascent.amounts().empty());
      if (!ascent.strengthen(std::size_t{1} << 20)) continue;
      ++strengthened;
      CHECK(ascent.bound() == -unbounded);
      prove();
      for (int step = 0; step < 30; ++step)
        if (!ascent.step(*optimum)) break;
      prove();
      CHECK(!ascent.amounts().empty());
      for (const sw::row_amounts& row : ascent.amounts())
        CHECK(ascent.multipliers().of_row[row.row] == 0);  // a price and a knapsack would count it twice
    }
    CHECK(strengthened > 20);
  }

  TEST_CASE("steps that got too short get longer again, so that the bound is reached all the same") {
    int reached = 0, longer = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 6, .rows = 3, .usage = 1});
      const double optimum = *brute_optimum_of(p);
      sw::price_ascent<double> slow(p), fair(p);
      for (int step = 0; step < 31; ++step) slow.step(optimum);  // messages alone
      const double before = slow.bound();
      sw::detail::ascent_position at = slow.position();
      at.step = 1e-4;
      slow.go_to(at, {}, 0);
      for (int step = 0; step < 600; ++step) {
        slow.step(optimum);
        fair.step(optimum);
      }
      if (fair.bound() < before + 0.01 * std::abs(before)) continue;  // prices gain nothing
      longer += slow.position().step > 1e-4;
      CHECK(slow.bound() <= optimum + rounding);
      reached += slow.bound() > before + 0.9 * (fair.bound() - before);
    }
    CHECK(longer > 10);
    CHECK(reached > 10);
  }

  TEST_CASE("without rows and cycles the bound is the optimum") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 6, .density = 0});
      const double optimum = *brute_optimum_of(p);
      sw::price_ascent<double> ascent(p);
      for (int step = 0; step < 40; ++step)
        if (!ascent.step(optimum)) break;
      CHECK(ascent.bound() == doctest::Approx(optimum).epsilon(1e-9));
    }
  }
}

}  // namespace price_ascent_tests
