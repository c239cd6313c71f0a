#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/bound/row_prices.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;
using shardweave_test::label_list;

namespace dual_ascent_tests {
namespace {

/// The least of costs with other unary costs, rows ignored, by trying everything.
template <class Cost>
double least_with(const sw::compact_problem<Cost>& p, std::span<const double> unary) {
  double best = std::numeric_limits<double>::infinity();
  shardweave_test::for_all_labelings<Cost>(p, [&](const label_list& labels) {
    const auto cost = shardweave_test::naive_cost(p, labels);
    if (!cost) return;
    auto total = static_cast<double>(*cost);
    for (std::size_t x = 0; x < p.size(); ++x)
      total += unary[p.label_start(x) + labels[x]] - static_cast<double>(p.unary(x)[labels[x]]);
    best = std::min(best, total);
  });
  return best;
}

/// The same problem with large costs moved between the ends of edges and the pairs, where they cancel.
sw::compact_problem<std::int64_t> with_large_costs(const sw::compact_problem<std::int64_t>& p, std::int64_t large,
                                                   std::uint64_t seed) {
  sw::random_source random(seed * 2 + 1);
  std::vector<std::vector<std::int64_t>> unary, tables;
  for (std::size_t x = 0; x < p.size(); ++x) unary.emplace_back(p.unary(x).begin(), p.unary(x).end());
  for (const sw::compact_edge& e : p.edges()) {
    const auto& t = p.table(e);
    const auto moved_from = [&](std::vector<std::int64_t>& costs) {
      std::vector<std::int64_t> moved;
      for (std::int64_t& c : costs) {
        moved.push_back(random.chance(0.5) ? large + static_cast<std::int64_t>(random.below(9)) : 0);
        c -= moved.back();
      }
      return moved;
    };
    const auto of_row = moved_from(unary[e.first]), of_column = moved_from(unary[e.second]);
    auto& entries = tables.emplace_back();
    for (std::size_t a = 0; a < t.rows(); ++a)
      for (std::size_t b = 0; b < t.columns(); ++b)
        entries.push_back(sw::is_forbidden(t(a, b)) ? t(a, b) : t(a, b) + of_row[a] + of_column[b]);
  }
  sw::compact_builder<std::int64_t> builder;
  builder.add_constant(p.constant());
  for (const auto& of : unary) builder.add_variable(of);
  for (std::size_t i = 0; i < p.edges().size(); ++i) {
    const sw::compact_edge& e = p.edges()[i];
    builder.add_edge(e.first, e.second,
                     shardweave_test::table_of<std::int64_t>(p.table(e).rows(), p.table(e).columns(), tables[i]));
  }
  return builder.build();
}

template <class Cost>
void check_any_messages() {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const auto p = draw_small<Cost>(seed, {.variables = 4, .density = 0.7, .forbidden = seed % 3 == 0 ? 0.3 : 0.0});
    sw::dual_ascent<Cost> ascent(p);
    sw::random_source random(seed);
    for (int trial = 0; trial < 4; ++trial) {
      auto messages = ascent.messages();
      for (double& m : messages) m = std::isfinite(m) ? 60 * random.unit() - 30 : m;
      ascent.restore(messages);
      for (double& u : ascent.unary()) u += trial < 2 ? 0 : 20 * random.unit() - 10;
      const double optimum = least_with(p, ascent.unary());
      CHECK(ascent.forward() <= optimum + 1e-9);
      ascent.restore(messages);
      CHECK(ascent.backward() <= optimum + 1e-9);
    }
  }
}

}  // namespace

TEST_SUITE("dual_ascent") {
  TEST_CASE("whole costs of more bits than a double has make no bound above the optimum") {
    for (std::uint64_t seed = 0; seed < at_scale(600); ++seed) {
      CAPTURE(seed);
      const auto small = draw_small<std::int64_t>(
          seed, {.variables = 3 + seed % 4, .density = 0.6, .forbidden = seed % 3 == 0 ? 0.2 : 0});
      const auto best = brute_optimum_of(small);
      const auto large = with_large_costs(small, std::int64_t{1} << (52 + seed % 3), seed);
      REQUIRE(best);
      REQUIRE(brute_optimum_of(large) == best);
      const auto answer = sw::trws{}.solve(sw::placement_problem<std::int64_t>(large));
      CHECK(answer.lower_bound <= static_cast<double>(*best));
      if (answer.status == sw::solve_status::optimal) CHECK(answer.objective == *best);
    }
  }
  TEST_CASE("a pass bounds every labeling whatever the messages and the unary costs are") {
    check_any_messages<double>();
    check_any_messages<std::int64_t>();
  }
  TEST_CASE("labels that nothing goes with leave the bounds of all others valid") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::size_t feasible = 0, without_support = 0;
    for (std::uint64_t seed = 0; seed < at_scale(400); ++seed) {
      const auto p =
          draw_small<double>(seed, {.variables = 4, .most_labels = 8, .density = 0.8, .forbidden = 0.3, .lonely = 0.3});
      std::vector<double> with_label(p.total_labels(), infinity);
      shardweave_test::for_all_labelings<double>(p, [&](const label_list& labels) {
        const auto cost = shardweave_test::naive_cost(p, labels);
        for (std::size_t x = 0; cost && x < p.size(); ++x) {
          double& least = with_label[p.label_start(x) + labels[x]];
          least = std::min(least, *cost);
        }
      });
      const double optimum = *std::ranges::min_element(with_label);
      if (optimum == infinity) continue;
      ++feasible;
      sw::dual_ascent<double> ascent(p);
      for (int pass = 0; pass < 6; ++pass)
        CHECK((pass % 2 == 0 ? ascent.forward() : ascent.backward()) <= optimum + 1e-9);
      without_support += std::ranges::count(ascent.messages(), infinity) > 0 ? 1U : 0U;
      double bound = -infinity;
      const std::vector<double> bounds = ascent.label_bounds(0, bound);
      CHECK(bound <= optimum + 1e-9);
      for (std::size_t l = 0; l < bounds.size(); ++l) CHECK(bounds[l] <= with_label[l] + 1e-9);
    }
    CHECK(feasible > 10);
    CHECK(without_support > 5);
  }
  TEST_CASE("with any prices on rows the bound holds for every labeling that keeps them") {
    std::size_t feasible = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 4, .rows = 5, .lower_limits = 0.4});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      ++feasible;
      sw::dual_ascent<double> ascent(p);
      sw::row_prices<double> prices(p);
      sw::random_source random(seed);
      for (int trial = 0; trial < 4; ++trial) {
        for (double& price : prices.values()) price += 6 * random.unit() - 3;
        prices.confine();
        prices.add_to(ascent.unary());
        CHECK(ascent.forward() - prices.earned() <= *optimum + 1e-9);
        CHECK(ascent.backward() - prices.earned() <= *optimum + 1e-9);
      }
    }
    CHECK(feasible > 120);
  }
  TEST_CASE_TEMPLATE("rows that take part as knapsacks keep the bound valid, whatever was put into them", Cost, double,
                     std::int64_t) {
    std::size_t feasible = 0;
    for (std::uint64_t seed = 0; seed < at_scale(200); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 5, .forbidden = seed % 3 == 0 ? 0.2 : 0.0, .rows = 4});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      ++feasible;
      sw::dual_ascent<Cost> ascent(p);
      sw::row_prices<Cost> prices(p);
      sw::random_source random(seed);
      for (double& price : prices.values()) price = 3 * random.unit();
      const std::size_t cells = seed % 2 == 0 ? 64 : 4;  // exact, and rounded
      for (std::uint32_t r = 0; r < 4; r += 1 + static_cast<std::uint32_t>(seed % 2)) {
        ascent.add_row(r, prices.values()[r], cells);
        prices.values()[r] = 0;
      }
      prices.add_to(ascent.unary());
      for (int trial = 0; trial < 4; ++trial) {
        CHECK(ascent.forward() - prices.earned() <= static_cast<double>(*optimum) + 1e-9);
        if (trial % 2 == 1) CHECK(ascent.backward() - prices.earned() <= static_cast<double>(*optimum) + 1e-9);
        auto messages = ascent.messages();
        for (double& m : messages) m = std::isfinite(m) && trial > 0 ? 60 * random.unit() - 30 : m;
        ascent.restore(messages);
      }
    }
    CHECK(feasible > at_scale(150));
  }
  TEST_CASE("with knapsacks the bound never falls, and sees that usage comes in lumps") {
    double with = 0, without = 0, optima = 0;
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 6, .rows = 2, .usage = 1});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      sw::dual_ascent<double> plain(p), ascent(p);
      for (int sweep = 0; sweep < 40; ++sweep) {
        plain.forward();
        plain.backward();
      }
      ascent.add_row(0, 0.0, 64);
      ascent.add_row(1, 0.0, 64);
      double bound = ascent.forward();
      for (int pass = 0; pass < 80; ++pass) {
        const double next = pass % 2 == 0 ? ascent.backward() : ascent.forward();
        CHECK(next >= bound - 1e-8 * std::max(1.0, std::abs(bound)));
        bound = std::max(bound, next);
      }
      CHECK(bound <= *optimum + 1e-9);
      with += bound;
      without += plain.backward();
      optima += *optimum;
    }
    CHECK(optima - with < 0.5 * (optima - without));
  }
  TEST_CASE("multipliers, and what is in knapsacks, prove the bound of the pass") {
    std::size_t lumpy = 0;
    for (std::uint64_t seed = 0; seed < at_scale(150); ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 5, .forbidden = 0.1, .rows = 2, .usage = 1});
      const auto optimum = brute_optimum_of(p);
      REQUIRE(optimum);
      sw::dual_ascent<double> ascent(p);
      CHECK(ascent.amounts().empty());
      sw::dual_ascent<double> plain(p);
      ascent.add_row(0, 0.5, 64);
      ascent.add_row(1, 0.0, 64);
      for (std::uint64_t pass = 0; pass < 1 + seed % 20; ++pass) {
        for (sw::dual_ascent<double>* one : {&ascent, &plain}) {
          const double bound = one->settle();
          const auto of_class = one->multipliers();
          const auto amounts = one->amounts();
          const double proven = shardweave_test::naive_bound(p, of_class, one->unary(), amounts);
          CHECK(proven >= bound - 1e-8 * std::max(1.0, std::abs(bound)));
          CHECK(proven <= *optimum + 1e-9);
          lumpy += one == &ascent && proven > plain.backward() + 1e-6 ? 1U : 0U;
        }
        const auto amounts = ascent.amounts();
        REQUIRE(amounts.size() == 2);
        CHECK(amounts[0].row == 0);
        CHECK(amounts[1].row == 1);
      }
    }
    CHECK(lumpy > at_scale(150));
  }
  TEST_CASE("while costs stay the bound never falls") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 7, .density = 0.6, .forbidden = 0.2});
      sw::dual_ascent<double> ascent(p);
      double bound = ascent.forward();
      for (int pass = 0; pass < 12; ++pass) {
        const double next = pass % 2 == 0 ? ascent.backward() : ascent.forward();
        CHECK(next >= bound - 1e-8 * std::max(1.0, std::abs(bound)));
        bound = std::max(bound, next);
      }
      CHECK(bound <= *brute_optimum_of(p) + 1e-9);
    }
  }
  TEST_CASE("on trees one sweep is exact and the decoded labeling optimal") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 6, .density = 0, .forbidden = 0.25});
      const auto optimum = static_cast<double>(*brute_optimum_of(p));
      sw::dual_ascent<std::int64_t> ascent(p);
      double bound = ascent.forward();
      for (int pass = 0; pass < 20; ++pass) bound = std::max({bound, ascent.backward(), ascent.forward()});
      CHECK(bound == doctest::Approx(optimum));
      ascent.backward();
      label_list labels(p.size());
      ascent.decode(labels);
      const auto cost = shardweave_test::naive_cost(p, labels);
      REQUIRE(cost);
      CHECK(static_cast<double>(*cost) == optimum);
    }
  }
  TEST_CASE("decoding takes what is best given what is decided, costs with messages of zero") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 5, .density = 0.8, .forbidden = 0.3, .classes = 3});
      sw::dual_ascent<std::int64_t> ascent(p);
      ascent.restore(std::vector<double>(ascent.messages().size(), 0.0));
      label_list labels(p.size()), expected(p.size());
      ascent.decode(labels);
      for (std::size_t x = 0; x < p.size(); ++x) {
        double least = std::numeric_limits<double>::infinity();
        for (sw::strategy l = 0; l < p.label_count(x); ++l) {
          auto cost = static_cast<double>(p.unary(x)[l]);
          for (const sw::compact_edge& e : p.edges())
            if (e.second == x) {
              const auto c = p.table(e)(expected[e.first], l);
              cost += sw::is_forbidden(c) ? std::numeric_limits<double>::infinity() : static_cast<double>(c);
            }
          if (cost < least) {
            least = cost;
            expected[x] = l;
          }
        }
      }
      CHECK(labels == expected);
    }
  }
  TEST_CASE("messages that are put back give the same pass again") {
    const auto p = draw_small<double>(5, {.variables = 7, .density = 0.8});
    sw::dual_ascent<double> ascent(p);
    ascent.forward();
    const auto kept = ascent.messages();
    const double bound = ascent.backward();
    CHECK(ascent.last_change() > 0);
    ascent.restore(kept);
    CHECK(ascent.backward() == bound);
    label_list alone(p.size());
    ascent.choose(alone);
    for (std::size_t x = 0; x < p.size(); ++x) CHECK(alone[x] < p.label_count(x));
  }
}

TEST_SUITE("price_ascent") {
  TEST_CASE_TEMPLATE("with rows as knapsacks bounds hold for the problem and for every label, and are better", Cost,
                     double, std::int64_t) {
    std::size_t strengthened = 0, better = 0;
    const std::uint64_t first = shardweave_test::sized(0U, 20U);  // of the first few too few are strengthened
    for (std::uint64_t seed = first; seed < first + at_scale(250); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 5, .forbidden = 0.1, .rows = 3, .usage = 1});
      if (!brute_optimum_of(p)) continue;
      sw::price_ascent<Cost> ascent(p);
      for (int i = 0; i < 150; ++i)
        if (!ascent.step(std::numeric_limits<double>::infinity())) break;
      const double before = ascent.bound();
      if (!ascent.strengthen(std::size_t{1} << 20)) continue;
      ++strengthened;
      for (std::uint64_t i = 0; i < seed % 5 * 10; ++i)
        if (!ascent.step(std::numeric_limits<double>::infinity())) break;
      const std::vector<double> bounds = ascent.label_bounds();
      better += ascent.bound() > before + 0.01 ? 1U : 0U;
      shardweave_test::for_all_labelings<Cost>(p, [&](const label_list& labels) {
        const auto cost = shardweave_test::naive_cost(p, labels);
        if (!cost || !shardweave_test::naive_rows(p, labels)) return;
        CHECK(ascent.bound() <= static_cast<double>(*cost) + 1e-9);
        for (std::size_t x = 0; x < p.size(); ++x)
          CHECK(bounds[p.label_start(x) + labels[x]] <= static_cast<double>(*cost) + 1e-9);
      });
    }
    CHECK(strengthened > at_scale(80));
    CHECK(better > at_scale(40));
  }
}

}  // namespace dual_ascent_tests
