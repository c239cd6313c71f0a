#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/detail/knapsack_factor.hpp>
#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/bound/row_prices.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/cut_front.hpp>
#include <shardweave/solve/search/detail/remainder.hpp>
#include <shardweave/solve/search/detail/split.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace details_of_bounds_tests {
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

/// Equal up to rounding, infinite ones too.
bool is_near(double a, double b) { return a == b || std::abs(a - b) <= 1e-9 * (1 + std::abs(a) + std::abs(b)); }

// --- rows as knapsacks --------------------------------------------------------------------------------------------

/// The costs of a knapsack's members, and the least of their sum by trying all classes.
struct knapsack_by_trial {
  std::vector<std::vector<std::uint32_t>> weight;
  std::vector<std::vector<double>> cost;

  explicit knapsack_by_trial(const sw::detail::knapsack_factor& factor) {
    for (const auto& m : factor.members()) {
      weight.push_back(m.weight);
      cost.push_back(m.cost);
    }
  }
  /// \param left_out  a member that does not count, if there is one of that number
  [[nodiscard]] double least(std::uint64_t room, std::size_t left_out, std::size_t i = 0) const {
    if (i == weight.size()) return 0;
    if (i == left_out) return least(room, left_out, i + 1);
    double best = infinite;
    for (std::size_t j = 0; j < weight[i].size(); ++j)
      if (weight[i][j] <= room) best = std::min(best, cost[i][j] + least(room - weight[i][j], left_out, i + 1));
    return best;
  }
};

/// Usage of one row by a few variables, `unit` at a time.
template <class Cost = double>
sw::compact_problem<Cost> one_knapsack(sw::random_source& random, std::size_t variables, double unit, double room) {
  sw::compact_builder<Cost> builder;
  std::vector<std::size_t> labels(variables);
  for (std::size_t& k : labels) {
    k = 1 + random.below(4);
    std::vector<Cost> unary(k);
    for (Cost& c : unary) c = static_cast<Cost>(random.below(20));
    builder.add_variable(unary);
  }
  for (std::uint32_t x = 0; x < variables; ++x)
    for (std::size_t parts = random.below(3); parts-- > 0;) {
      sw::usage_segment s{static_cast<std::uint32_t>(random.below(2)), 2, {}};
      for (std::size_t l = 0; l < labels[x]; ++l) s.usage.push_back(unit * static_cast<double>(random.below(7)));
      builder.add_segment(x, std::move(s));
    }
  builder.add_row({-infinite, infinite, 0, 0});
  builder.add_row({-infinite, room, 0, 1});
  return builder.build();
}

/// What a labeling weighs in a factor.
std::uint64_t weight_of(const sw::detail::knapsack_factor& factor, const label_list& labels) {
  std::uint64_t total = 0;
  for (const auto& m : factor.members()) total += m.weight[m.class_of[labels[m.variable]]];
  return total;
}

// --- chains -------------------------------------------------------------------------------------------------------

/// Variables in a row, each joined to the next; some pairs forbidden, but none of the first labels.
template <class Cost>
sw::compact_problem<Cost> draw_chain(std::uint64_t seed, std::size_t variables) {
  sw::random_source random(seed);
  sw::compact_builder<Cost> builder;
  std::vector<std::size_t> labels(variables);
  for (std::size_t& k : labels) {
    k = 2 + random.below(3);
    std::vector<Cost> unary(k);
    for (Cost& c : unary) c = static_cast<Cost>(random.below(30));
    builder.add_variable(unary);
  }
  for (std::uint32_t x = 0; x + 1 < variables; ++x) {
    std::vector<Cost> entries;
    for (std::size_t a = 0; a < labels[x]; ++a)
      for (std::size_t b = 0; b < labels[x + 1]; ++b)
        entries.push_back(a > 0 && b > 0 && random.chance(0.25) ? sw::forbidden<Cost>
                                                                : static_cast<Cost>(random.below(40)));
    builder.add_edge(x, x + 1, shardweave_test::table_of<Cost>(labels[x], labels[x + 1], entries));
  }
  return builder.build();
}

// --- savings ------------------------------------------------------------------------------------------------------

/// Random savings of a problem: windows over a few slots, some over all of them but one.
template <class Cost>
sw::savings_terms<Cost> draw_terms(std::uint64_t seed, const sw::compact_problem<Cost>& p) {
  sw::random_source random(seed * 3 + 77);
  sw::savings_terms<Cost> terms;
  const std::size_t slots = 1 + random.below(6);
  const auto amount = [&] { return static_cast<Cost>(random.chance(0.3) ? 0 : random.below(9)); };
  terms.channels = 1 + static_cast<std::uint32_t>(random.below(2));
  for (std::size_t q = 0; q < slots; ++q) terms.computation.push_back(amount());
  const std::size_t demands = 1 + random.below(4);
  for (std::size_t d = 0; d < demands; ++d) {
    sw::savings_demand demand;
    demand.channel = static_cast<std::uint32_t>(random.below(terms.channels));
    if (slots > 1 && random.chance(0.3)) {
      demand.where = {0, slots - 1, random.below(slots)};
    } else {
      demand.where.first = random.below(slots);
      demand.where.last = demand.where.first + random.below(slots - demand.where.first);
    }
    terms.demands.push_back(demand);
    terms.amount.push_back(amount());
  }
  const auto per_label = [&](std::uint32_t at, std::uint32_t x) {
    sw::label_amount<Cost> t{at, x, {}};
    for (std::size_t l = 0; l < p.label_count(x); ++l) t.amount.push_back(amount());
    return t;
  };
  for (std::uint32_t x = 0; x < p.size(); ++x) {
    if (random.chance(0.7)) terms.offers.push_back(per_label(static_cast<std::uint32_t>(random.below(slots)), x));
    if (random.chance(0.4)) terms.own.push_back(per_label(static_cast<std::uint32_t>(random.below(demands)), x));
  }
  for (int i = 0; i < 3; ++i) {  // between neighbours and others
    const auto a = static_cast<std::uint32_t>(random.below(p.size()));
    const auto b = static_cast<std::uint32_t>(random.below(p.size()));
    if (a >= b) continue;
    std::vector<Cost> entries(p.label_count(a) * p.label_count(b));
    for (Cost& c : entries) c = amount();
    const auto table = shardweave_test::table_of<Cost>(p.label_count(a), p.label_count(b), entries);
    if (table->row_classes() == 1 || table->column_classes() == 1) continue;  // what one variable decides is its own
    terms.tables.push_back(table);
    terms.joint.push_back({static_cast<std::uint32_t>(random.below(demands)), a, b,
                           static_cast<std::uint32_t>(terms.tables.size() - 1),
                           1 + static_cast<std::uint32_t>(random.below(2))});
  }
  return terms;
}

/// Prices in eighths, so that sums of products are exact.
std::vector<double> draw_prices(std::size_t count, sw::random_source& random) {
  std::vector<double> prices(count);
  for (double& v : prices) v = static_cast<double>(random.below(9)) / 8;
  return prices;
}

/// What a unit of a demand saves at prices, slot by slot.
template <class Cost>
double relief_of(const sw::savings_terms<Cost>& terms, const std::vector<double>& prices, std::size_t d) {
  double most = 0;
  for (std::size_t q = 0; q < terms.slots(); ++q)
    if (terms.demands[d].where.contains(q))
      most = std::max(most, 1 - prices[terms.demands[d].channel * terms.slots() + q]);
  return most;
}

/// What prices say that a labeling saves: no less than it does.
template <class Cost>
double priced_savings(const sw::savings_terms<Cost>& terms, const std::vector<double>& prices,
                      const label_list& labels) {
  std::vector<Cost> offered, wanted;
  terms.measure(labels, offered, wanted);
  double total = 0;
  for (std::size_t i = 0; i < prices.size(); ++i) total += prices[i] * static_cast<double>(offered[i % terms.slots()]);
  for (std::size_t d = 0; d < wanted.size(); ++d) total += relief_of(terms, prices, d) * static_cast<double>(wanted[d]);
  return total;
}

sw::compact_problem<double> three_usages(double low, double high) {
  sw::compact_builder<double> builder;
  builder.add_variable(std::vector<double>{1, 2, 3});
  builder.add_segment(0, {0, 1, {0, 5, 10}});
  builder.add_row({low, high, 0, 0});
  return builder.build();
}

}  // namespace

TEST_SUITE("detail::knapsack_factor") {
  TEST_CASE("what keeps the row keeps the factor, and in whole cells nothing else does") {
    std::size_t exact = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < at_scale(150); ++seed) {
      sw::random_source random(seed);
      const double units[] = {1, 2, 3, 0.37};
      const std::size_t kind = seed % 4;
      const double room = units[kind] * static_cast<double>(random.below(14)) + (kind == 1 ? 1 : 0);
      const auto p = one_knapsack(random, 5, units[kind], room);
      const std::size_t most_cells = random.chance(0.5) ? 1000 : 4 + random.below(6);
      const sw::detail::knapsack_factor factor(p, 1, 0.5, most_cells);
      CHECK(factor.row() == 1);
      const bool is_exact = kind < 3 && most_cells == 1000;
      for_all_labelings<double>(p, [&](const label_list& labels) {
        const bool kept = naive_rows(p, labels);
        const bool fits = weight_of(factor, labels) < factor.cells();
        if (kept) CHECK(fits);
        if (is_exact) CHECK(fits == kept);
        exact += is_exact ? 1U : 0U;
        refused += fits ? 0U : 1U;
      });
    }
    CHECK(exact > at_scale(1000));
    CHECK(refused > at_scale(500));
  }

  TEST_CASE("members are the variables that use the row, and labels of one usage share a class") {
    sw::compact_builder<double> builder;
    for (int x = 0; x < 4; ++x) builder.add_variable(std::vector<double>(4));
    builder.add_row({-infinite, 20, 0, 0});
    builder.add_row({-infinite, 20, 0, 1});
    builder.add_segment(0, {0, 1, {1, 2, 3, 4}});  // the other row
    builder.add_segment(1, {0, 2, {6, 0, 6, 3}});
    builder.add_segment(2, {1, 2, {0, 0, 0, 0}});  // nothing
    builder.add_segment(3, {1, 2, {3, 0, 0, 0}});
    builder.add_segment(3, {0, 2, {3, 9, 6, 6}});  // twice: sums count
    const sw::detail::knapsack_factor factor(builder.build(), 1, 2.0, 100);
    REQUIRE(factor.members().size() == 2);
    const auto& first = factor.members()[0];
    const auto& second = factor.members()[1];
    CHECK(first.variable == 1);
    CHECK(second.variable == 3);
    CHECK(first.class_of == std::vector<std::uint32_t>{0, 1, 0, 2});
    CHECK(second.class_of == std::vector<std::uint32_t>{0, 1, 0, 0});
    CHECK(first.weight == std::vector<std::uint32_t>{2, 0, 1});  // cells of three, which divides all usage
    CHECK(second.weight == std::vector<std::uint32_t>{2, 3});
    CHECK(factor.cells() == 7);
    CHECK(first.cost == std::vector<double>{-12, 0, -6});  // the price comes back through the factor
    CHECK(second.cost == std::vector<double>{-12, -18});
  }

  TEST_CASE("a visit learns the least of the others in the room that is left, and a pass the least of all") {
    std::size_t hopeless = 0;
    for (std::uint64_t seed = 0; seed < at_scale(120); ++seed) {
      sw::random_source random(seed);
      const auto p = one_knapsack(random, 5, 1, static_cast<double>(random.below(16)));
      sw::detail::knapsack_factor factor(p, 1, static_cast<double>(random.below(4)) / 4, 1000);
      const std::size_t n = factor.members().size();
      for (int pass = 0; pass < 4; ++pass) {
        const bool ascending = pass < 2 ? pass == 0 : random.chance(0.5);  // there, back, then anyhow
        factor.begin(ascending);
        for (std::size_t step = 0; step < n; ++step) {
          const std::size_t i = ascending ? step : n - 1 - step;
          const knapsack_by_trial trial(factor);
          const auto received = factor.receive(i);
          REQUIRE(received.size() == trial.weight[i].size());
          std::vector<double> least(received.size());
          for (std::size_t j = 0; j < received.size(); ++j) {
            const bool has_room = trial.weight[i][j] < factor.cells();
            const double expected = has_room ? trial.least(factor.cells() - 1 - trial.weight[i][j], i) : infinite;
            CHECK(is_near(received[j], expected));
            hopeless += expected == infinite ? 1U : 0U;
            least[j] = static_cast<double>(random.below(9));
          }
          const double share = static_cast<double>(1 + random.below(4)) / 4;
          factor.send(i, least, share);
          const auto& m = factor.members()[i];
          for (std::size_t j = 0; j < least.size(); ++j)  // what was received and what is there are the share
            if (std::isfinite(m.received[j])) CHECK(m.cost[j] + m.received[j] == doctest::Approx(share * least[j]));
        }
        const knapsack_by_trial trial(factor);
        CHECK(is_near(factor.finish(ascending), trial.least(factor.cells() - 1, n)));
        double magnitude = 0;
        for (const auto& costs : trial.cost) {
          double most = 0;
          for (const double c : costs) most = std::max(most, std::abs(c));
          magnitude += most;
        }
        CHECK(factor.magnitude() == doctest::Approx(magnitude));
      }
    }
    CHECK(hopeless > at_scale(20));
  }

  TEST_CASE("saved costs come back, and costs that are set count in the next pass") {
    sw::random_source random(8);
    const auto p = one_knapsack(random, 6, 1, 9);
    sw::detail::knapsack_factor factor(p, 1, 0.5, 100);
    const auto least_now = [&] {
      factor.begin(true);
      for (std::size_t i = 0; i < factor.members().size(); ++i) {
        std::vector<double> least;  // what leaves the costs as they are
        const auto received = factor.receive(i);
        for (std::size_t j = 0; j < received.size(); ++j) least.push_back(received[j] + factor.members()[i].cost[j]);
        factor.send(i, least, 1);
      }
      return factor.finish(true);
    };
    REQUIRE(factor.members().size() > 1);
    const double at_first = least_now();
    CHECK(at_first == doctest::Approx(knapsack_by_trial(factor).least(factor.cells() - 1, 99)));
    std::vector<double> kept{-1};  // others may have saved before
    factor.save(kept);
    for (std::size_t i = 0; i < factor.members().size(); ++i)
      for (std::size_t j = 0; j < factor.members()[i].cost.size(); ++j)
        factor.set_cost(i, j, 3 + static_cast<double>(i * 5 + j));
    CHECK(least_now() == doctest::Approx(knapsack_by_trial(factor).least(factor.cells() - 1, 99)));
    CHECK(least_now() > at_first);
    CHECK(factor.restore(kept.data() + 1) == kept.data() + kept.size());
    CHECK(least_now() == doctest::Approx(at_first));
  }

  TEST_CASE_TEMPLATE("with the price in both, unary costs and factor bound every labeling that keeps the row", Cost,
                     double, std::int64_t) {
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      sw::random_source random(seed);
      const auto p = one_knapsack<Cost>(random, 5, 1, static_cast<double>(random.below(14)));
      const double price = static_cast<double>(random.below(12)) / 4;
      const sw::detail::knapsack_factor factor(p, 1, price, 500);
      double bound = knapsack_by_trial(factor).least(factor.cells() - 1, 99);
      const std::vector<double> prices{0, price};
      sw::row_prices<Cost> rows(p);
      rows.values() = prices;
      std::vector<double> unary(p.total_labels());
      rows.add_to(unary);
      for (std::size_t x = 0; x < p.size(); ++x) {
        const auto from = unary.begin() + static_cast<std::ptrdiff_t>(p.label_start(x));
        bound += *std::min_element(from, from + static_cast<std::ptrdiff_t>(p.label_count(x)));
      }
      const auto optimum = brute_optimum_of(p);
      CHECK((optimum.has_value() ? bound <= static_cast<double>(*optimum) + 1e-9 : bound == infinite));
    }
  }
}

TEST_SUITE("multipliers of message passing") {
  TEST_CASE_TEMPLATE("they prove what the ascent proves, and never more than the optimum", Cost, double, std::int64_t) {
    std::size_t raised = 0;
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      const auto p = draw_small<Cost>(
          seed, {.variables = 5, .density = 0.6, .forbidden = 0.3, .rows = static_cast<std::uint32_t>(seed % 3)});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      const double at_first = sw::dual_bound(p, sw::dual_values{});
      sw::price_ascent<Cost> ascent(p);
      for (int i = 0; i < 40 && ascent.step(static_cast<double>(*optimum)); ++i) {
        if (i % 9 != 0) continue;
        const double proved = sw::dual_bound(p, ascent.multipliers());
        CHECK(proved <= static_cast<double>(*optimum) + 1e-9);
        CHECK(proved >= ascent.bound() - 1e-6 * std::max(1.0, std::abs(ascent.bound())));
      }
      raised += sw::dual_bound(p, ascent.multipliers()) > at_first + 0.5 ? 1U : 0U;
    }
    CHECK(raised > at_scale(60));
  }

  TEST_CASE("on a chain a pass there and back is exact, and the decoded labeling optimal") {
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      const auto p = draw_chain<double>(seed, 6);
      sw::dual_ascent<double> messages(p);
      messages.forward();
      messages.backward();
      const auto optimum = brute_optimum_of(p);
      REQUIRE(optimum);
      CHECK(sw::dual_bound(p, {messages.multipliers(), {}}) == doctest::Approx(*optimum));
      std::vector<sw::strategy> labels(p.size());
      messages.decode(labels);
      CHECK(naive_cost(p, labels) == optimum);
    }
  }
}

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
}

TEST_SUITE("chain_prices") {
  TEST_CASE_TEMPLATE("worth is summed over channels, and relief is what the cheapest slot of a window leaves", Cost,
                     double, std::int64_t) {
    for (std::uint64_t seed = 0; seed < at_scale(120); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 3});
      const auto terms = draw_terms(seed, p);
      sw::random_source random(seed);
      sw::chain_prices<Cost> chain(terms);
      REQUIRE(chain.values().size() == terms.channels * terms.slots());
      for (int round = 0; round < 2; ++round) {  // nothing of the first prices may stay
        chain.values() = draw_prices(chain.values().size(), random);
        chain.update();
        for (std::size_t q = 0; q < terms.slots(); ++q) {
          double worth = 0;
          for (std::size_t c = 0; c < terms.channels; ++c) worth += chain.values()[c * terms.slots() + q];
          CHECK(chain.worth(q) == worth);
        }
        for (std::size_t d = 0; d < terms.demands.size(); ++d) {
          CHECK(chain.saved(d) == relief_of(terms, chain.values(), d));
          CHECK(chain.saved()[d] == chain.saved(d));
        }
      }
    }
  }

  TEST_CASE("no labeling saves more than any prices say, and all free saves what is wanted") {
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 4, .most_labels = 3});
      const auto terms = draw_terms(seed, p);
      sw::random_source random(seed);
      const std::vector<double> prices = draw_prices(terms.channels * terms.slots(), random);
      const std::vector<double> free(prices.size()), full(prices.size(), 1.0);
      for_all_labelings<std::int64_t>(p, [&](const label_list& labels) {
        const auto saved = static_cast<double>(sw::savings_of(terms, std::span<const sw::strategy>(labels)));
        CHECK(saved <= priced_savings(terms, prices, labels));
        std::vector<std::int64_t> offered, wanted;
        terms.measure(labels, offered, wanted);
        std::int64_t all_offered = 0, all_wanted = 0;
        for (const auto c : offered) all_offered += c;
        for (std::size_t d = 0; d < wanted.size(); ++d)
          if (terms.demands[d].where != sw::window{0, 0, 0}) all_wanted += wanted[d];
        CHECK(priced_savings(terms, free, labels) == static_cast<double>(all_wanted));
        CHECK(priced_savings(terms, full, labels) ==
              static_cast<double>(all_offered) * static_cast<double>(terms.channels));
        CHECK(saved <= static_cast<double>(terms.most()));
      });
    }
  }
}

TEST_SUITE("priced_problem") {
  TEST_CASE_TEMPLATE("every labeling costs its costs less what the prices say that it saves", Cost, double,
                     std::int64_t) {
    std::size_t forbidden = 0;
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p =
          draw_small<Cost>(seed, {.variables = 4, .most_labels = 3, .density = 0.3, .forbidden = 0.2, .rows = 2});
      const auto terms = draw_terms(seed, p);
      sw::priced_problem<Cost> priced(p, terms);
      CHECK(priced.shape().size() == p.size());
      CHECK(priced.shape().rows().size() == p.rows().size());
      sw::random_source random(seed);
      sw::chain_prices<Cost> chain(terms);
      for (int round = 0; round < 2; ++round) {
        chain.values() = draw_prices(chain.values().size(), random);
        chain.update();
        const auto merged = priced.with_prices(chain);
        const auto apart = priced.with_prices(chain, false);
        CHECK(apart.edges().size() == priced.shape().edges().size());
        for_all_labelings<Cost>(p, [&](const label_list& labels) {
          const auto cost = naive_cost(p, labels);
          const auto shape = naive_cost(priced.shape(), labels);
          REQUIRE(shape.has_value() == cost.has_value());
          CHECK(naive_cost(merged, labels).has_value() == cost.has_value());
          CHECK(naive_rows(merged, labels) == naive_rows(p, labels));
          if (!cost) {
            ++forbidden;
            return;
          }
          CHECK(*shape == static_cast<double>(*cost));
          const double expected = static_cast<double>(*cost) - priced_savings(terms, chain.values(), labels);
          CHECK(*naive_cost(merged, labels) == expected);
          CHECK(*naive_cost(apart, labels) == expected);
        });
      }
    }
    CHECK(forbidden > at_scale(50));
  }
}

TEST_SUITE("detail::cut_front") {
  TEST_CASE_TEMPLATE("the first labeling has the least of the greatest of all priced costs, and that is the bound",
                     Cost, double, std::int64_t) {
    std::size_t found = 0, none = 0;
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 5, .most_labels = 3, .density = 0.3, .forbidden = 0.2});
      const auto terms = draw_terms(seed, p);
      sw::random_source random(seed);
      std::vector<std::vector<double>> prices;
      for (std::size_t k = 1 + random.below(3); k-- > 0;)
        prices.push_back(draw_prices(terms.channels * terms.slots(), random));
      double least = infinite, dearest = -infinite, cheapest = infinite;
      const auto value_of = [&](const label_list& labels) {
        const auto cost = naive_cost(p, labels);
        if (!cost) return infinite;
        double most = -infinite;
        for (const auto& v : prices)
          most = std::max(most, static_cast<double>(*cost) - priced_savings(terms, v, labels));
        return most;
      };
      for_all_labelings<Cost>(p, [&](const label_list& labels) {
        const double value = value_of(labels);
        least = std::min(least, value);
        if (value < infinite) dearest = std::max(dearest, value);
        if (const auto cost = naive_cost(p, labels))
          cheapest =
              std::min(cheapest, static_cast<double>(*cost) -
                                     static_cast<double>(sw::savings_of(terms, std::span<const sw::strategy>(labels))));
      });
      const sw::solve_control control;
      const sw::deadline limit(control);
      sw::detail::cut_front<Cost> front(p, terms);
      REQUIRE(front.prepare());
      for (const double target : {dearest + 1, least + 2.5, least - 1}) {
        const auto result = front.find(prices, target, limit);
        REQUIRE(result.is_complete);
        CHECK(result.bound == doctest::Approx(std::min(least, target)));
        CHECK(result.bound <= cheapest + 1e-9);  // prices never say more than the objective
        CHECK(result.labelings.empty() == (target <= least));
        if (result.labelings.empty()) {
          ++none;
          continue;
        }
        ++found;
        CHECK(value_of(result.labelings.front()) == doctest::Approx(least));
        double last = -infinite;
        for (const auto& labels : result.labelings) {
          const double value = value_of(labels);
          CHECK(value < target);
          CHECK(value >= last - 1e-9);
          last = value;
        }
      }
    }
    CHECK(found > at_scale(150));
    CHECK(none == at_scale(100));
  }

  TEST_CASE("savings between variables that no edge joins count") {
    sw::compact_builder<double> builder;
    for (int x = 0; x < 3; ++x) builder.add_variable(std::vector<double>{0, 1});
    builder.add_edge(0, 1, shardweave_test::table_of<double>(2, 2, {0, 2, 2, 0}));
    const auto p = builder.build();
    sw::savings_terms<double> terms;
    terms.demands = {{{0, 0}, 0}};
    terms.computation = {100};
    terms.amount = {0};
    terms.tables = {shardweave_test::table_of<double>(2, 2, {0, 3, 5, 9})};
    terms.joint = {{0, 0, 2, 0, 1}};  // 0 and 2 have no edge
    const sw::solve_control control;
    sw::detail::cut_front<double> front(p, terms);
    REQUIRE(front.prepare());
    const auto result = front.find({{0.0}}, 100, sw::deadline(control));
    REQUIRE(result.is_complete);
    CHECK(result.bound == doctest::Approx(-6));  // all ones cost three and save nine
    REQUIRE(result.labelings.size() == 1);
    CHECK(result.labelings[0] == label_list{1, 1, 1});
  }

  TEST_CASE("of labelings that are as good at every cut one is enough, and each that is left is best somewhere") {
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 4, .most_labels = 3, .density = 0.3});
      const auto terms = draw_terms(seed, p);
      sw::random_source random(seed);
      const std::vector<std::vector<double>> prices{draw_prices(terms.channels * terms.slots(), random),
                                                    draw_prices(terms.channels * terms.slots(), random)};
      const sw::solve_control control;
      sw::detail::cut_front<double> front(p, terms);
      REQUIRE(front.prepare());
      const auto result = front.find(prices, 1e6, sw::deadline(control));
      REQUIRE(result.is_complete);
      const auto values = [&](const label_list& labels) {
        const double cost = *naive_cost(p, labels);
        return std::pair(cost - priced_savings(terms, prices[0], labels),
                         cost - priced_savings(terms, prices[1], labels));
      };
      const auto beats = [](std::pair<double, double> a, std::pair<double, double> b) {
        return a.first <= b.first && a.second <= b.second;
      };
      for (std::size_t i = 0; i < result.labelings.size(); ++i)
        for (std::size_t j = 0; j < result.labelings.size(); ++j)
          if (i != j) CHECK_FALSE(beats(values(result.labelings[i]), values(result.labelings[j])));
      for_all_labelings<double>(p, [&](const label_list& labels) {
        CHECK(std::any_of(result.labelings.begin(), result.labelings.end(),
                          [&](const label_list& kept) { return beats(values(kept), values(labels)); }));
      });
    }
  }

  TEST_CASE("too much work, and a stop, are said and claim nothing") {
    const auto p = draw_small<double>(5, {.variables = 6, .most_labels = 4, .density = 0.8});
    const auto terms = draw_terms(5, p);
    sw::detail::cut_front<double> front(p, terms);
    front.most_entries = 3;
    CHECK_FALSE(front.prepare());
    front.most_entries = 100000;
    REQUIRE(front.prepare());
    const std::vector<std::vector<double>> prices{std::vector<double>(terms.channels * terms.slots(), 0.5)};
    const sw::solve_control control;
    std::stop_source source;
    sw::solve_control stopped;
    stopped.stop = source.get_token();
    source.request_stop();
    const auto after_stop = front.find(prices, 1e6, sw::deadline(stopped));
    CHECK_FALSE(after_stop.is_complete);
    CHECK(after_stop.bound == -infinite);
    CHECK(after_stop.labelings.empty());
    front.most_partial = 0;
    CHECK_FALSE(front.find(prices, 1e6, sw::deadline(control)).is_complete);
    front.most_partial = 1000;
    CHECK(front.find(prices, 1e6, sw::deadline(control)).is_complete);
  }

  TEST_CASE("a coarser front keeps fewer labelings and a bound that is lower by a known amount") {
    for (std::uint64_t seed = 0; seed < at_scale(40); ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 5, .most_labels = 3, .density = 0.3});
      const auto terms = draw_terms(seed, p);
      sw::random_source random(seed);
      const std::vector<std::vector<double>> prices{draw_prices(terms.channels * terms.slots(), random),
                                                    draw_prices(terms.channels * terms.slots(), random)};
      const sw::solve_control control;
      sw::detail::cut_front<double> front(p, terms);
      REQUIRE(front.prepare());
      const auto fine = front.find(prices, 1e6, sw::deadline(control));
      front.coarseness = 2;
      const auto coarse = front.find(prices, 1e6, sw::deadline(control));
      REQUIRE(coarse.is_complete);
      CHECK(coarse.labelings.size() <= fine.labelings.size());
      CHECK_FALSE(coarse.labelings.empty());
      CHECK(coarse.bound <= fine.bound + 1e-9);
    }
  }
}

TEST_SUITE("detail::rival_labels") {
  TEST_CASE("rivals are the two labels of most weight among those that may still be better") {
    // three variables: a doubt, an agreement, and one whose second label is closed
    sw::compact_builder<double> builder;
    for (int x = 0; x < 3; ++x) builder.add_variable(std::vector<double>(3));
    const auto p = builder.build();
    const std::vector<double> share{0.2, 0.5, 0.3, 0, 1, 0, 0.4, 0.6, 0};
    const std::vector<double> least{10, 10, 11, 14, 10, 12, 10, 20, 20};
    sw::detail::incumbent<double> best;
    const auto open = sw::detail::rivals_in(p, std::span<const double>(share), std::span<const double>(least), best);
    REQUIRE(open.size() == 3);
    CHECK(open[0].first == 1);
    CHECK(open[0].second == 2);
    CHECK(open[0].doubt == doctest::Approx(0.3 + 0.5e-4));
    CHECK(open[1].first == 1);
    CHECK(open[1].second == 2);  // of equal weight the one with the lower bound
    CHECK(open[1].doubt == doctest::Approx(0.5e-4));
    CHECK(open[2].doubt == doctest::Approx(0.4 + 0.5e-4));
    best.offer(20.0, {0, 0, 0}, 0);
    const auto closed = sw::detail::rivals_in(p, std::span<const double>(share), std::span<const double>(least), best);
    CHECK(closed[0].doubt == doctest::Approx(0.3 + 0.9e-4));  // of what is open, how far the rival is from closed
    CHECK(closed[1].doubt == doctest::Approx(0.8e-4));
    CHECK(closed[2].doubt < 0);  // one label is left
  }

  TEST_CASE_TEMPLATE("impact is what the choice changes, term by term", Cost, double, std::int64_t) {
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 5});
      const auto terms = draw_terms(seed, p);
      sw::random_source random(seed);
      std::vector<sw::detail::rival_labels> rivals(p.size());
      label_list labels(p.size());
      for (std::size_t x = 0; x < p.size(); ++x) {
        rivals[x].first = static_cast<sw::strategy>(random.below(p.label_count(x)));
        rivals[x].second = static_cast<sw::strategy>(random.below(p.label_count(x)));
        labels[x] = static_cast<sw::strategy>(random.below(p.label_count(x)));
      }
      // each term alone, measured with either rival in place
      std::vector<sw::savings_terms<Cost>> alone;
      const auto empty = [&] {
        auto& t = alone.emplace_back();
        t.demands = terms.demands;
        t.computation.resize(terms.slots());
        t.amount.resize(terms.demands.size());
        t.tables = terms.tables;
        return &t;
      };
      for (const auto& t : terms.offers) empty()->offers.push_back(t);
      for (const auto& t : terms.own) empty()->own.push_back(t);
      for (const auto& t : terms.joint) empty()->joint.push_back(t);
      const auto impact = sw::detail::impact_of(rivals, terms, std::span<const sw::strategy>(labels));
      REQUIRE(impact.size() == p.size());
      for (std::size_t x = 0; x < p.size(); ++x) {
        double expected = 0;
        for (const auto& t : alone) {
          const auto sum_with = [&](sw::strategy l) {
            label_list with = labels;
            with[x] = l;
            std::vector<Cost> offered, wanted;
            t.measure(with, offered, wanted);
            Cost sum{};
            for (const Cost c : offered) sum += c;
            for (const Cost c : wanted) sum += c;
            return static_cast<double>(sum);
          };
          expected += std::abs(sum_with(rivals[x].first) - sum_with(rivals[x].second));
        }
        CHECK(impact[x] == expected);
      }
    }
  }
}

TEST_SUITE("detail::remainder") {
  TEST_CASE_TEMPLATE("ruling out labels loses no labeling that is better, and bounds hold for the whole", Cost, double,
                     std::int64_t) {
    std::size_t narrowed = 0, offered = 0, proven = 0;
    for (std::uint64_t seed = 0; seed < at_scale(80); ++seed) {
      const auto p =
          draw_small<Cost>(seed, {.variables = 5, .most_labels = 4, .density = 0.5, .forbidden = 0.2, .rows = 2});
      const auto optimum = brute_optimum_of(p);
      REQUIRE(optimum);
      sw::detail::remainder<Cost> rest(p);
      CHECK(rest.is_whole());
      CHECK(&rest.problem() == &p);
      rest.raise_without_ascent();
      CHECK(rest.bound() <= static_cast<double>(*optimum));
      sw::detail::incumbent<Cost> best;  // the first labels, or half as good again
      const label_list first(p.size(), 0);
      if (seed % 2 == 0) {
        best.offer(*naive_cost(p, first), first, 0);
      } else {
        best.set_cutoff(static_cast<Cost>(*optimum + *optimum / 8 + 1));
      }
      const sw::solve_control control;
      const auto offer = [&](const label_list& labels) {
        ++offered;
        REQUIRE(naive_rows(p, labels));
        const auto cost = naive_cost(p, labels);
        REQUIRE(cost);
        best.offer(*cost, labels, 0);
      };
      double bound = rest.bound();
      for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 5; ++i)
          if (rest.problem().size() == 0 || !rest.step(best)) break;
        if (rest.problem().size() == 0 || best.closes(rest.bound())) break;
        const bool is_open = *optimum < best.cost();
        narrowed += rest.rule_out(best, 0.0, control, offer) > 0 ? 1U : 0U;
        CHECK(rest.bound() >= bound);
        CHECK(rest.bound() <= static_cast<double>(*optimum) + 1e-9);
        bound = rest.bound();
        if (!is_open || best.cost() == *optimum) continue;
        // what is better is still there, at its cost
        std::optional<Cost> left;
        for_all_labelings<Cost>(rest.problem(), [&](const label_list& labels) {
          const auto cost = naive_cost(rest.problem(), labels);
          if (!cost || !naive_rows(rest.problem(), labels)) return;
          const label_list whole = rest.lift(labels);
          CHECK(naive_cost(p, whole) == cost);
          CHECK(naive_rows(p, whole));
          if (!left || *cost < *left) left = cost;
        });
        CHECK(left == optimum);
      }
      proven += best.closes(rest.bound()) ? 1U : 0U;
    }
    CHECK(narrowed > at_scale(40));
    CHECK(offered > at_scale(5));
    CHECK(proven > at_scale(20));
  }

  TEST_CASE("with nothing known nothing is ruled out, and with less than what is worth it neither") {
    const auto p = draw_small<double>(9, {.variables = 5});
    sw::detail::remainder<double> rest(p);
    const sw::solve_control control;
    const auto offer = [](const label_list&) { FAIL_CHECK("nothing was left"); };
    sw::detail::incumbent<double> best;
    rest.step(best);
    CHECK(rest.rule_out(best, 0.0, control, offer) == 0);
    CHECK(rest.is_whole());
    const label_list first(p.size(), 0);
    best.offer(*naive_cost(p, first), first, 0);
    CHECK(rest.rule_out(best, 1.1, control, offer) == 0);
    CHECK(rest.is_whole());
    CHECK(rest.lift(first) == first);
  }
}

}  // namespace details_of_bounds_tests
