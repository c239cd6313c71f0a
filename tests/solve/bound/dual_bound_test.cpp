#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace dual_bound_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;
using shardweave_test::for_all_labelings;
using shardweave_test::label_list;
using shardweave_test::naive_cost;
using shardweave_test::naive_rows;

constexpr double infinite = std::numeric_limits<double>::infinity();

template <class Cost>
sw::dual_values draw_duals(const sw::compact_problem<Cost>& p, sw::random_source& random) {
  sw::dual_values dual;
  dual.of_class.resize(sw::dual_offsets(p).back());
  dual.of_row.resize(p.rows().size());
  for (double& a : dual.of_class) a = static_cast<double>(random.below(21)) - 10;
  for (double& a : dual.of_row) a = static_cast<double>(random.below(9)) / 4 - 1;
  return dual;
}

/// Two variables of two labels with costs 1, 2 and 0, 4; the edge costs 0, 5 or 7, 1.
sw::compact_problem<double> two_by_two() {
  sw::compact_builder<double> builder;
  builder.add_constant(100);
  builder.add_variable(std::vector<double>{1, 2});
  builder.add_variable(std::vector<double>{0, 4});
  builder.add_edge(0, 1, shardweave_test::table_of<double>(2, 2, {0, 5, 7, 1}));
  return builder.build();
}

}  // namespace

TEST_SUITE("dual_bound") {
  TEST_CASE_TEMPLATE("whatever the multipliers, no labeling that keeps the rows costs less", Cost, double,
                     std::int64_t) {
    std::size_t near = 0;
    for (std::uint64_t seed = 0; seed < at_scale(200); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 4,
                                             .density = 0.6,
                                             .forbidden = 0.3,
                                             .rows = static_cast<std::uint32_t>(seed % 3),
                                             .lower_limits = 0.5});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      sw::random_source random(seed);
      for (int round = 0; round < 4; ++round) {
        const double bound = sw::dual_bound(p, draw_duals(p, random));
        CHECK(bound <= static_cast<double>(*optimum));
        near += bound > static_cast<double>(*optimum) - 40 ? 1U : 0U;
      }
    }
    CHECK(near > at_scale(200));
  }

  TEST_CASE("without multipliers it is the sum of all minima") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{4, 3});
    builder.add_variable(std::vector<double>{10, 20});
    builder.add_edge(0, 1,
                     std::make_shared<const sw::cost_table<double>>(
                         sw::cost_table<double>::from_entries(2, 2, std::vector<double>{5, 9, 7, 6})));
    builder.add_constant(100);
    const auto p = builder.build();
    CHECK(sw::dual_bound(p, {}) == doctest::Approx(118).epsilon(1e-12));
    CHECK(sw::dual_bound(p, {}) <= 118);
    // moving 2 from the pairs of the second variable's first label to that label: 3 + 12 + 3 is worse,
    // moving 2 of the first variable's second label onto its pairs: 5 + 10 + 5 is better
    CHECK(sw::dual_bound(p, {{0, 0, -2, 0}, {}}) == doctest::Approx(100 + 3 + 12 + 3));
    CHECK(sw::dual_bound(p, {{0, -1, 0, 0}, {}}) == doctest::Approx(100 + 4 + 10 + 5));
  }

  TEST_CASE("multipliers that are no numbers, or push against no limit, count as zero") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{4, 3});
    builder.add_row({-std::numeric_limits<double>::infinity(), 1, 0, 0});
    builder.add_segment(0, {0, 1, {0, 5}});
    const auto p = builder.build();
    CHECK(sw::dual_bound(p, {{}, {-1}}) == doctest::Approx(3));
    CHECK(sw::dual_bound(p, {{}, {std::nan("")}}) == doctest::Approx(3));
    CHECK(sw::dual_bound(p, {{}, {0.25}}) == doctest::Approx(3.75));
  }

  TEST_CASE("a price earns its limit and charges usage; one against a limit that is missing counts as none") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{0, 10});
    builder.add_segment(0, {0, 1, {6, 1}});
    builder.add_row({-infinite, 4, 0, 0});
    const auto p = builder.build();
    CHECK(sw::dual_bound(p, {{}, {1}}) == doctest::Approx(6 - 4));
    CHECK(sw::dual_bound(p, {{}, {2}}) == doctest::Approx(12 - 8));  // 10 + 2 - 8 as well: the best price
    CHECK(sw::dual_bound(p, {{}, {3}}) == doctest::Approx(13 - 12));
    CHECK(sw::dual_bound(p, {{}, {-1}}) == doctest::Approx(0));
    CHECK(sw::dual_bound(p, {{}, {infinite}}) == doctest::Approx(0));
  }

  TEST_CASE("labels and pairs that are excluded count no more; with nothing left the bound is infinite") {
    const auto p = two_by_two();
    sw::presence left(p);
    CHECK(left.labels() == 4);
    CHECK(left.pairs() == 4);
    left.drop_label(0);  // the first of the first variable
    CHECK(sw::dual_bound(p, {}, left) == doctest::Approx(102));
    left.drop_pair(0, 0);
    left.drop_pair(0, 3);
    CHECK(left.pairs() == 2);
    CHECK_FALSE(left.has_pair(0, 3));
    CHECK(sw::dual_bound(p, {}, left) == doctest::Approx(102 + 5));
    left.drop_label(1);
    CHECK(left.labels() == 2);
    CHECK(sw::dual_bound(p, {}, left) == infinite);
  }

  TEST_CASE("removing what has no partner, or costs too much, keeps every labeling below the limit") {
    std::size_t dropped = 0, tightened = 0;
    for (std::uint64_t seed = 0; seed < at_scale(150); ++seed) {
      const auto p =
          draw_small<double>(seed, {.variables = 4, .density = 0.6, .forbidden = 0.3, .rows = 1, .lonely = 0.3});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      sw::random_source random(seed);
      sw::presence left(p);
      const std::size_t before = left.labels();
      REQUIRE(sw::detail::tighten(p, left));
      tightened += left.labels() < before ? 1U : 0U;
      const double limit = *optimum;
      sw::dual_values dual = draw_duals(p, random);
      for (double& v : dual.of_class) v /= 8;
      const sw::presence now = left;
      dropped += sw::detail::reparametrization<double>(p, dual, now).drop_above(limit, left);
      for_all_labelings<double>(p, [&](const label_list& labels) {
        const auto cost = naive_cost(p, labels);
        if (!cost || !naive_rows(p, labels) || *cost > limit) return;
        for (std::size_t x = 0; x < p.size(); ++x) CHECK(left.has_label(p.label_start(x) + labels[x]));
        for (std::size_t e = 0; e < p.edges().size(); ++e) {
          const auto& t = p.table(p.edges()[e]);
          CHECK(left.has_pair(e, t.row_class(labels[p.edges()[e].first]) * t.column_classes() +
                                     t.column_class(labels[p.edges()[e].second])));
        }
      });
    }
    CHECK(dropped > at_scale(30));
    CHECK(tightened > at_scale(20));
  }
}

}  // namespace dual_bound_tests
