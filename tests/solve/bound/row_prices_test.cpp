#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/bound/row_prices.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace row_prices_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::draw_small;
using shardweave_test::for_all_labelings;
using shardweave_test::label_list;
using shardweave_test::naive_rows;

constexpr double infinite = std::numeric_limits<double>::infinity();

sw::compact_problem<double> three_usages(double low, double high) {
  sw::compact_builder<double> builder;
  builder.add_variable(std::vector<double>{1, 2, 3});
  builder.add_segment(0, {0, 1, {0, 5, 10}});
  builder.add_row({low, high, 0, 0});
  return builder.build();
}

}  // namespace

TEST_SUITE("row_prices") {
  TEST_CASE_TEMPLATE("unary costs with prices are costs and every row's usage at its price", Cost, double,
                     std::int64_t) {
    for (std::uint64_t seed = 0; seed < at_scale(80); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 5, .rows = 5, .lower_limits = 0.5});
      sw::random_source random(seed);
      sw::row_prices<Cost> prices(p);
      for (double& v : prices.values()) v = random.chance(0.4) ? 0 : static_cast<double>(random.below(11)) - 5;
      std::vector<double> unary(p.total_labels(), -99);
      prices.add_to(unary);
      for (std::size_t x = 0; x < p.size(); ++x)
        for (sw::strategy l = 0; l < p.label_count(x); ++l) {
          auto expected = static_cast<double>(p.unary(x)[l]);
          for (std::size_t r = 0; r < 5; ++r)
            for (const sw::usage_segment& s : p.segments(x))
              if (s.begin <= r && r < s.end) expected += prices.values()[r] * s.usage[l];
          CHECK(unary[p.label_start(x) + l] == expected);
        }
    }
  }

  TEST_CASE("confined prices never charge a labeling that keeps all rows more than they earn") {
    std::size_t compared = 0, met = 0;
    for (std::uint64_t seed = 0; seed < at_scale(80); ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 5, .rows = 4, .lower_limits = 0.5});
      sw::random_source random(seed);
      sw::row_prices<double> prices(p);
      for (double& v : prices.values()) v = 10 * random.unit() - 5;
      prices.confine();
      for_all_labelings<double>(p, [&](const label_list& labels) {
        if (!naive_rows(p, labels)) return;
        const std::vector<double> usage = p.usage(labels);
        double charged = 0;
        for (std::size_t r = 0; r < usage.size(); ++r) charged += prices.values()[r] * usage[r];
        CHECK(charged <= prices.earned());
        ++compared;
        met += charged >= prices.earned() - 1e-3 ? 1U : 0U;
      });
    }
    CHECK(compared > at_scale(500));
    CHECK(met > 0);  // and there are those who pay all of it
  }

  TEST_CASE("a price stays where there is a limit that it stands for") {
    struct limit_case {
      double low, high, price, confined;
      bool held_down, held_up;  ///< a price of zero
    };
    const limit_case cases[] = {{-infinite, 8, 3, 3, true, false},
                                {-infinite, 8, -3, 0, true, false},
                                {2, infinite, 3, 0, false, true},
                                {2, infinite, -3, -3, false, true},
                                {2, 8, 3, 3, false, false},
                                {2, 8, -3, -3, false, false},
                                {-infinite, infinite, 3, 0, true, true},
                                {-infinite, infinite, -3, 0, true, true}};
    for (const limit_case& c : cases) {
      CAPTURE(c.low);
      CAPTURE(c.high);
      CAPTURE(c.price);
      const auto p = three_usages(c.low, c.high);
      sw::row_prices<double> prices(p);
      CHECK(prices.is_held(0, -1) == c.held_down);
      CHECK(prices.is_held(0, 1) == c.held_up);
      CHECK_FALSE(prices.is_held(0, 0));
      prices.follow(std::vector<double>{c.price}, 1, 2 * c.price * c.price);
      CHECK(prices.values()[0] == 2 * c.confined);
      if (c.confined != 0)
        for (const double direction : {-1.0, 1.0}) CHECK_FALSE(prices.is_held(0, direction));
      prices.values()[0] = c.price;
      prices.confine();
      CHECK(prices.values()[0] == c.confined);
    }
  }

  TEST_CASE("the slope is the distance to the limit that a price stands for, or to the one that is broken") {
    struct slope_case {
      double low, high, price;
      double of_label[3];  ///< labels use 0, 5 and 10
    };
    const slope_case cases[] = {{2, 8, 0, {-2, 0, 2}},        {2, 8, 1.5, {-8, -3, 2}},
                                {2, 8, -1.5, {-2, 3, 2}},  // the upper one is broken, whatever the price
                                {2, infinite, 0, {-2, 0, 0}}, {2, infinite, -1, {-2, 3, 8}},
                                {-infinite, 8, 0, {0, 0, 2}}, {-infinite, 8, 1, {-8, -3, 2}},
                                {5, 5, 0, {-5, 0, 5}}};
    for (const slope_case& c : cases) {
      const auto p = three_usages(c.low, c.high);
      sw::row_prices<double> prices(p);
      prices.values()[0] = c.price;
      for (sw::strategy l = 0; l < 3; ++l) {
        CAPTURE(c.price);
        CAPTURE(l);
        CHECK(prices.slope(label_list{l}) == std::vector<double>{c.of_label[l]});
      }
    }
  }

  TEST_CASE("prices of zero earn nothing, others their limits and a little for rounding") {
    const auto p = three_usages(2, 8);
    sw::row_prices<double> prices(p);
    CHECK(prices.earned() == 0);
    prices.values()[0] = 3;
    CHECK(prices.earned() == doctest::Approx(24));
    CHECK(prices.earned() > 24);
    prices.values()[0] = -3;
    CHECK(prices.earned() == doctest::Approx(-6));
    CHECK(prices.earned() > -6);
  }

  TEST_CASE("a step goes along the average of the slopes as far as would raise a linear bound by the distance") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{1, 2});
    builder.add_segment(0, {0, 2, {0, 5}});
    for (std::int64_t time = 0; time < 2; ++time) builder.add_row({-9, 9, 0, time});
    const auto p = builder.build();
    sw::row_prices<double> prices(p);
    prices.follow(std::vector<double>{3, 4}, 1, 50);  // 50 = 3 * 6 + 4 * 8
    CHECK(prices.values() == std::vector<double>{6, 8});
    prices.follow(std::vector<double>{1, -4}, 0.5, 8);  // along (2, 0)
    CHECK(prices.values() == std::vector<double>{10, 8});
    prices.forget_direction();
    prices.follow(std::vector<double>{0, -2}, 0.5, 1);
    CHECK(prices.values() == std::vector<double>{10, 7});
    prices.follow(std::vector<double>{0, 0}, 1, 1);  // no slope, no step
    CHECK(prices.values() == std::vector<double>{10, 7});
  }

  TEST_CASE("it approaches an aim by the step length, which falls and rises as it is told, up to the whole way") {
    const auto p = three_usages(-9, 9);
    sw::row_prices<double> prices(p);
    const std::vector<double> slope{2};
    prices.approach(110, 100, slope, 1);  // 10 = 2 * 5
    CHECK(prices.values().front() == 5);
    prices.lengthen_step();
    CHECK(prices.step() == 1);
    prices.shorten_step();
    prices.approach(110, 100, slope, 1);
    CHECK(prices.values().front() == 5 + 0.7 * 5);
    prices.set_step(0.5);
    prices.lengthen_step();
    CHECK(prices.step() == 0.55);
    prices.set_step(1);
    prices.values().front() = 0;
    prices.approach(100, 300, slope, 1);  // an aim that is reached: a little further
    CHECK(prices.values().front() == doctest::Approx(0.005));
  }
}

}  // namespace row_prices_tests
