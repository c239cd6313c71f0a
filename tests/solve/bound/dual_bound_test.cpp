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

/// Labels and pairs that are left by the definition: again and again all that lacks a partner goes.
template <class Cost>
struct arc_consistency {
  std::vector<std::vector<char>> labels;                ///< per variable
  std::vector<std::vector<std::vector<char>>> allowed;  ///< per edge, label by label

  arc_consistency(const sw::compact_problem<Cost>& p, const sw::presence& present) {
    for (std::size_t x = 0; x < p.size(); ++x) {
      auto& own = labels.emplace_back();
      for (std::size_t l = 0; l < p.label_count(x); ++l) own.push_back(present.has_label(p.label_start(x) + l) ? 1 : 0);
    }
    for (std::size_t e = 0; e < p.edges().size(); ++e) {
      const auto& edge = p.edges()[e];
      const auto& t = p.table(edge);
      auto& own = allowed.emplace_back(t.rows(), std::vector<char>(t.columns()));
      for (std::size_t a = 0; a < t.rows(); ++a)
        for (std::size_t b = 0; b < t.columns(); ++b)
          own[a][b] = present.has_pair(e, t.row_class(a) * t.column_classes() + t.column_class(b)) ? 1 : 0;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t e = 0; e < p.edges().size(); ++e)
        for (const bool of_first : {true, false}) {
          auto& own = labels[of_first ? p.edges()[e].first : p.edges()[e].second];
          const auto& others = labels[of_first ? p.edges()[e].second : p.edges()[e].first];
          for (std::size_t l = 0; l < own.size(); ++l) {
            bool met = false;
            for (std::size_t k = 0; k < others.size(); ++k)
              met = met || (others[k] != 0 && (of_first ? allowed[e][l][k] : allowed[e][k][l]) != 0);
            if (own[l] != 0 && !met) {
              own[l] = 0;
              changed = true;
            }
          }
        }
    }
  }
  [[nodiscard]] bool has_all() const {
    return std::all_of(labels.begin(), labels.end(),
                       [](const auto& own) { return std::count(own.begin(), own.end(), char{1}) > 0; });
  }
};

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

TEST_SUITE("detail::tighten") {
  TEST_CASE_TEMPLATE("it leaves the labels and pairs that arc consistency leaves, and no others", Cost, double,
                     std::int64_t) {
    std::size_t emptied = 0, dropped = 0;
    for (std::uint64_t seed = 0; seed < at_scale(200); ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<Cost>(seed, {.variables = 5, .density = 0.4, .forbidden = 0.7, .paired = 0.3});
      sw::random_source random(seed);
      sw::presence present(p);
      for (std::size_t l = 0; l < p.total_labels(); ++l)
        if (random.chance(0.3)) present.drop_label(l);
      const arc_consistency<Cost> expected(p, present);
      const std::size_t before = present.labels();
      const bool has_all = sw::detail::tighten(p, present);
      CHECK(has_all == expected.has_all());
      for (std::size_t x = 0; x < p.size(); ++x)
        for (std::size_t l = 0; l < p.label_count(x); ++l)
          CHECK(present.has_label(p.label_start(x) + l) == (expected.labels[x][l] != 0));
      dropped += before - present.labels();
      if (!has_all) {
        ++emptied;
        continue;
      }
      for (std::size_t e = 0; e < p.edges().size(); ++e) {
        const auto& edge = p.edges()[e];
        const auto& t = p.table(edge);
        for (std::size_t i = 0; i < t.row_classes(); ++i)
          for (std::size_t j = 0; j < t.column_classes(); ++j) {
            bool used = false;  // by two labels that are left
            for (std::size_t a = 0; a < t.rows(); ++a)
              for (std::size_t b = 0; b < t.columns(); ++b)
                used = used || (t.row_class(a) == i && t.column_class(b) == j && expected.labels[edge.first][a] != 0 &&
                                expected.labels[edge.second][b] != 0);
            CHECK(present.has_pair(e, i * t.column_classes() + j) == (used && !sw::is_forbidden(t.class_cost(i, j))));
          }
      }
    }
    CHECK(emptied > at_scale(10));
    CHECK(dropped > at_scale(50));
  }

  TEST_CASE("a labeling whose labels and pairs were there is there afterwards") {
    for (std::uint64_t seed = 0; seed < at_scale(80); ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 4, .most_labels = 3, .density = 0.5, .forbidden = 0.5});
      sw::random_source random(seed);
      sw::presence present(p);
      for (std::size_t l = 0; l < p.total_labels(); ++l)
        if (random.chance(0.2)) present.drop_label(l);
      const sw::presence before = present;
      const bool has_all = sw::detail::tighten(p, present);
      for_all_labelings<double>(p, [&](const label_list& labels) {
        bool was = naive_cost(p, labels).has_value(), is = has_all;
        for (std::size_t x = 0; x < p.size(); ++x) {
          was = was && before.has_label(p.label_start(x) + labels[x]);
          is = is && present.has_label(p.label_start(x) + labels[x]);
        }
        if (was) CHECK(is);
      });
    }
  }
}

}  // namespace dual_bound_tests
