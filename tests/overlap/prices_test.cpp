#include "overlap/random_demands.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/prices.hpp>
#include <shardweave/overlap/savings.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace prices_tests {
namespace {

namespace sw = shardweave;
using overlap_test::draw_demands;
using overlap_test::kind;
using ticks = std::int64_t;

constexpr kind all_kinds[] = {kind::any, kind::chains, kind::chains_and_holes, kind::any_and_holes};

}  // namespace

TEST_SUITE("hiding_prices") {
  TEST_CASE("the best prices prove the savings, and no prices promise less") {
    sw::random_source random(23);
    std::size_t some = 0;
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(4000); ++trial) {
      const std::size_t channels = 1 + trial % 3;
      const auto [computation, demands] = draw_demands(random, all_kinds[trial % 4], 10, 10, channels);
      const auto value = static_cast<double>(sw::hide(computation, demands).total);
      const sw::hiding_prices best = sw::best_prices(computation, demands);
      REQUIRE(sw::savings_bound(best, computation, demands) == value);
      for (const double p : best.all()) REQUIRE((p == 0 || p == 1));

      std::vector<double> prices(best.all().begin(), best.all().end());
      for (double& p : prices)
        if (random.chance(0.3)) p = random.unit();
      const double bound = sw::savings_bound(sw::hiding_prices(prices, computation.size()), computation, demands);
      REQUIRE(bound >= value - 1e-9);
      some += bound > value + 1e-3 ? 1U : 0U;
    }
    CHECK(some > shardweave_test::at_scale(1000));
  }

  TEST_CASE("relief is one less the least price of the window") {
    const sw::hiding_prices prices({0.5, 0.25, 1, 0.75, /**/ 0, 0, 1, 1}, 4);
    CHECK(prices.positions() == 4);
    CHECK(prices.channels() == 2);
    CHECK(prices.relief({0, 3}) == 0.75);
    CHECK(prices.relief({0, 9}) == 0.75);
    CHECK(prices.relief({0, 3, 1}) == 0.5);  // not there
    CHECK(prices.relief({2, 3}) == 0.25);
    CHECK(prices.relief({2, 2}) == 0);
    CHECK(prices.relief({2, 3}, 1) == 0);
    CHECK(prices.relief({1, 2}, 1) == 1);
    CHECK(prices.relief({3, 2}) == 0);  // nothing can hide it, at any price
    CHECK(prices.price(3) == 0.75);
    CHECK(prices.price(2, 1) == 1);
    CHECK(prices.total_price(2) == 2);
    sw::random_source random(3);
    std::vector<double> many(37);
    for (double& p : many) p = random.unit();
    const sw::hiding_prices table(many, many.size());
    for (std::size_t first = 0; first < many.size(); ++first) {
      double least = 1;
      for (std::size_t last = first; last < many.size(); ++last) {
        least = std::min(least, many[last]);
        REQUIRE(table.relief({first, last}) == 1 - least);
      }
    }
  }

  TEST_CASE("computation that is not used up is worth nothing") {
    const std::vector<sw::hideable<ticks>> demands{{{0, 1}, 12}, {{3, 3}, 9}};
    const sw::hiding_prices prices = sw::best_prices(std::vector<ticks>{5, 10, 7, 4}, demands);
    CHECK(std::vector<double>(prices.all().begin(), prices.all().end()) == std::vector<double>{0, 0, 0, 1});
    CHECK(prices.relief(demands[0].where) == 1);  // all of it is hidden
    CHECK(prices.relief(demands[1].where) == 0);
  }

  TEST_CASE("prices that are none are refused by name") {
    CHECK_THROWS_WITH_AS(sw::hiding_prices({0, 1.5}, 2), "price 1 is 1.5, expected a number from 0 to 1", sw::error);
    CHECK_THROWS_WITH_AS(sw::hiding_prices({std::numeric_limits<double>::quiet_NaN()}, 1),
                         "price 0 is nan, expected a number from 0 to 1", sw::error);
    CHECK_THROWS_WITH_AS(sw::hiding_prices({0, 1, 0}, 2), "3 prices, expected a multiple of the 2 positions",
                         sw::error);
    CHECK_THROWS_WITH_AS(sw::hiding_prices({0}, 0), "1 prices, expected a multiple of the 0 positions", sw::error);
    const sw::hiding_prices none({}, 0);
    CHECK(none.channels() == 0);
    CHECK(none.relief({0, 3}) == 0);
  }
}

}  // namespace prices_tests
