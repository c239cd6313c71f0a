#include "solve/bound/priced_terms.hpp"
#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/detail/knapsack_factor.hpp>
#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
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
using priced_terms::draw_prices;
using priced_terms::draw_terms;
using priced_terms::priced_savings;
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
