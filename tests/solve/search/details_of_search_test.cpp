#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/composed.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/descent.hpp>
#include <shardweave/solve/search/detail/elite.hpp>
#include <shardweave/solve/search/detail/greedy_labels.hpp>
#include <shardweave/solve/search/detail/label_repair.hpp>
#include <shardweave/solve/search/detail/split.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace details_of_search_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::draw_small;
using shardweave_test::for_all_labelings;
using shardweave_test::label_list;
using shardweave_test::naive_cost;
using shardweave_test::naive_rows;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Two usages and two costs for each of some variables, under one row; no edges.
sw::compact_problem<double> one_row(std::size_t variables, std::pair<double, double> usage,
                                    std::pair<double, double> cost, double low, double high) {
  sw::compact_builder<double> builder;
  for (std::size_t x = 0; x < variables; ++x) builder.add_variable(std::vector<double>{cost.first, cost.second});
  for (std::uint32_t x = 0; x < variables; ++x) builder.add_segment(x, {0, 1, {usage.first, usage.second}});
  builder.add_row({low, high, 0, 0});
  return builder.build();
}

template <class Cost>
label_list any_labels(const sw::compact_problem<Cost>& p, sw::random_source& random) {
  label_list labels(p.size());
  for (std::size_t x = 0; x < p.size(); ++x) labels[x] = static_cast<sw::strategy>(random.below(p.label_count(x)));
  return labels;
}

template <class Cost>
bool is_feasible(const sw::compact_problem<Cost>& p, std::span<const sw::strategy> labels) {
  return naive_cost(p, labels).has_value() && naive_rows(p, labels);
}

/// A control whose stop was asked for before the work began.
sw::solve_control stopped_control() {
  std::stop_source source;
  source.request_stop();
  sw::solve_control control;
  control.stop = source.get_token();
  return control;
}

// --- greedy labels ------------------------------------------------------------------------------------------------

/// The rule without its bookkeeping, for problems in which nothing is forbidden and nothing limited.
template <class Cost>
label_list greedy_by_definition(const sw::compact_problem<Cost>& p) {
  label_list labels(p.size(), 0);
  for (std::uint32_t x = 0; x < p.size(); ++x) {
    std::optional<Cost> least;
    for (sw::strategy l = 0; l < p.label_count(x); ++l) {
      Cost score = p.unary(x)[l];
      for (const sw::compact_edge& e : p.edges()) {
        if (e.second == x) score += p.table(e)(labels[e.first], l);
        if (e.first != x) continue;
        Cost cheapest = p.table(e)(l, 0);
        for (sw::strategy b = 1; b < p.label_count(e.second); ++b) cheapest = std::min(cheapest, p.table(e)(l, b));
        score += cheapest;
      }
      if (!least || score < *least) {
        least = score;
        labels[x] = l;
      }
    }
  }
  return labels;
}

template <class Cost>
std::optional<label_list> greedy(const sw::compact_problem<Cost>& p, std::uint64_t seed = 1, double noise = 0) {
  const sw::solve_control control;
  sw::random_source random(seed);
  sw::detail::greedy_labels<Cost> first(p);
  return first(sw::deadline(control), random, noise);
}

// --- judges -------------------------------------------------------------------------------------------------------

/// Keeps labels of its own by the moves that it is asked about, and lets some of them pass.
class keeping_judge : public sw::detail::move_judge {
 public:
  keeping_judge(label_list labels, std::uint64_t every) : labels_(std::move(labels)), every_(every) {}
  bool accepts(std::span<const sw::relabel> moves) override {
    ++asked_;
    if (every_ == 0 || asked_ % every_ != 0) return false;
    for (const sw::relabel& m : moves) labels_[m.variable] = m.label;
    return true;
  }
  [[nodiscard]] const label_list& labels() const { return labels_; }
  [[nodiscard]] std::uint64_t asked() const { return asked_; }

 private:
  label_list labels_;
  std::uint64_t every_;
  std::uint64_t asked_ = 0;
};

// --- splits -------------------------------------------------------------------------------------------------------

/// Both halves together are the labels 0..n-1, each once, and neither is empty.
bool is_partition(const sw::detail::branching& split, std::size_t labels) {
  label_list all = split.parts[0];
  all.insert(all.end(), split.parts[1].begin(), split.parts[1].end());
  std::sort(all.begin(), all.end());
  for (std::size_t l = 0; l < all.size(); ++l)
    if (all[l] != l) return false;
  return all.size() == labels && !split.parts[0].empty() && !split.parts[1].empty();
}

double least_of(const label_list& half, std::span<const double> values) {
  double best = infinite;
  for (const sw::strategy l : half) best = std::min(best, values[l]);
  return best;
}
double most_of(const label_list& half, std::span<const double> values) {
  double best = -infinite;
  for (const sw::strategy l : half) best = std::max(best, values[l]);
  return best;
}
/// How far the halves are apart in a measure; negative if they overlap.
double distance_of(const sw::detail::branching& split, std::span<const double> measure) {
  return std::max(least_of(split.parts[0], measure) - most_of(split.parts[1], measure),
                  least_of(split.parts[1], measure) - most_of(split.parts[0], measure));
}
double widest_step(std::span<const double> measure) {
  std::vector<double> sorted(measure.begin(), measure.end());
  std::sort(sorted.begin(), sorted.end());
  double widest = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) widest = std::max(widest, sorted[i] - sorted[i - 1]);
  return widest;
}

/// Usage of a label at prices, row by row.
template <class Cost>
double priced_usage(const sw::compact_problem<Cost>& p, std::span<const double> prices, std::size_t x, sw::strategy l) {
  double total = 0;
  for (std::size_t r = 0; r < prices.size(); ++r)
    for (const sw::usage_segment& s : p.segments(x))
      if (s.begin <= r && r < s.end) total += prices[r] * s.usage[l];
  return total;
}

// --- solutions ----------------------------------------------------------------------------------------------------

template <class Cost = double>
sw::solution<Cost> answer(std::optional<Cost> objective, double bound, sw::solve_status status,
                          const std::string& solver = {}) {
  sw::solution<Cost> s;
  if (objective) {
    s.objective = *objective;
    s.choice = {static_cast<sw::strategy>(*objective)};
  }
  s.lower_bound = bound;
  s.status = status;
  s.statistics.solver = solver;
  return s;
}

}  // namespace

TEST_SUITE("detail::incumbent") {
  TEST_CASE_TEMPLATE("nothing is known at first, and only an infinite bound closes the search", Cost, double,
                     std::int64_t) {
    const sw::detail::incumbent<Cost> best;
    CHECK_FALSE(best.is_known());
    CHECK(best.labels().empty());
    CHECK(sw::is_forbidden(best.cost()));
    CHECK(best.upper() == infinite);
    CHECK(best.settled() == infinite);
    CHECK_FALSE(best.closes(1e300));
    CHECK(best.closes(infinite));
    CHECK(best.is_beaten_by(Cost{1000000}));
    CHECK_FALSE(best.is_beaten_by(sw::forbidden<Cost>));
  }

  TEST_CASE_TEMPLATE("the first of the cheapest labelings is kept, with the time of its coming", Cost, double,
                     std::int64_t) {
    sw::detail::incumbent<Cost> best;
    struct offer {
      Cost cost;
      double seconds;
      bool accepted;
    };
    const offer offers[] = {{sw::forbidden<Cost>, 0.5, false},
                            {Cost{12}, 1, true},
                            {Cost{12}, 2, false},
                            {Cost{13}, 3, false},
                            {Cost{-4}, 4, true},
                            {Cost{0}, 5, false}};
    Cost least = sw::forbidden<Cost>;
    double when = 0;
    sw::strategy number = 0, kept = 0;
    for (const offer& o : offers) {
      ++number;
      CHECK(best.is_beaten_by(o.cost) == o.accepted);
      CHECK(best.offer(o.cost, {number, 7}, o.seconds) == o.accepted);
      if (o.accepted) {
        least = o.cost;
        when = o.seconds;
        kept = number;
      }
      CHECK(best.is_known() == (kept > 0));
      CHECK(best.cost() == least);
      CHECK(best.found_at() == when);
      CHECK(best.labels() == (kept > 0 ? label_list{kept, 7} : label_list{}));
    }
  }

  TEST_CASE("another labeling of the same cost changes nothing but the labels") {
    sw::detail::incumbent<double> best;
    best.offer(3.5, {1, 2}, 9);
    best.replace({2, 1});
    CHECK(best.labels() == label_list{2, 1});
    CHECK(best.cost() == 3.5);
    CHECK(best.found_at() == 9);
    CHECK_FALSE(best.is_beaten_by(3.5));
  }

  TEST_CASE_TEMPLATE("a cutoff has a cost and no labels, and only less beats it", Cost, double, std::int64_t) {
    sw::detail::incumbent<Cost> best;
    best.offer(Cost{20}, {1}, 1);
    best.set_cutoff(Cost{10});
    CHECK(best.is_known());
    CHECK(best.labels().empty());
    CHECK(best.upper() == 10.0);
    CHECK(best.closes(10.0));
    CHECK_FALSE(best.closes(8.9));
    CHECK_FALSE(best.offer(Cost{10}, {3}, 2));
    CHECK(best.offer(Cost{9}, {3}, 2));
    CHECK(best.labels() == label_list{3});
    best.set_cutoff(sw::forbidden<Cost>);
    CHECK_FALSE(best.is_known());
    CHECK(best.upper() == infinite);
    CHECK(best.offer(Cost{1000}, {4}, 3));
  }

  TEST_CASE("whole numbers are closed by what is above one less, others by what counts as equal") {
    sw::detail::incumbent<std::int64_t> whole;
    whole.offer(10, {0}, 0);
    CHECK(whole.settled() == 10.0);
    CHECK_FALSE(whole.closes(9.0));
    CHECK(whole.closes(9.0001));
    CHECK(whole.closes(10.0));
    sw::detail::incumbent<double> real;
    real.offer(10.0, {0}, 0);
    CHECK_FALSE(real.closes(9.0001));
    CHECK_FALSE(real.closes(10.0 - 8e-9));  // a bound as low would not prove what is known
    CHECK(real.closes(10.0 - 4e-9));
    CHECK(real.closes(10.0));
  }

  TEST_CASE_TEMPLATE("what was closed proves the optimum, at every size of costs", Cost, double, std::int64_t) {
    sw::random_source random(5);
    for (double size = 1e-3; size < 1e12; size *= 7) {
      const auto cost = static_cast<Cost>((random.chance(0.5) ? -1.0 : 1.0) * size * (1 + random.unit()));
      sw::detail::incumbent<Cost> best;
      best.offer(cost, {0}, 0);
      CAPTURE(cost);
      CHECK(best.settled() <= static_cast<double>(cost));
      CHECK(sw::proves(best.settled(), cost));
      CHECK(best.closes(best.settled()));
      CHECK(best.closes(static_cast<double>(cost)));
      CHECK_FALSE(best.closes(static_cast<double>(cost) - 1 - 1e-6 * size));
    }
  }
}

TEST_SUITE("detail::elite") {
  TEST_CASE("the cheapest few that differ are kept, earlier ones first among equals") {
    std::size_t dropped = 0, repeated = 0;
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      sw::random_source random(seed);
      const std::size_t capacity = 1 + random.below(6);
      sw::detail::elite<std::int64_t> kept(capacity);
      std::vector<std::pair<std::int64_t, label_list>> expected;
      for (int i = 0; i < 30; ++i) {
        const auto cost = static_cast<std::int64_t>(random.below(6));
        const label_list labels{static_cast<sw::strategy>(random.below(2)), static_cast<sw::strategy>(random.below(2))};
        kept.add(cost, labels);
        if (std::find(expected.begin(), expected.end(), std::pair(cost, labels)) != expected.end()) {
          ++repeated;
        } else {
          expected.emplace_back(cost, labels);
          std::stable_sort(expected.begin(), expected.end(),
                           [](const auto& a, const auto& b) { return a.first < b.first; });
          if (expected.size() > capacity) {
            expected.pop_back();
            ++dropped;
          }
        }
        REQUIRE(kept.size() == expected.size());
        // a draw is uniform: the same source says which member it is
        sw::random_source draws(seed + 1000), same(seed + 1000);
        for (int d = 0; d < 6; ++d) CHECK(kept.draw(draws) == expected[same.below(expected.size())].second);
      }
    }
    CHECK(dropped > at_scale(200));
    CHECK(repeated > at_scale(100));
  }

  TEST_CASE("equal labels at another cost are another member, a prefix of labels too") {
    sw::detail::elite<double> kept(10);
    kept.add(2.0, label_list{1, 2});
    kept.add(2.0, label_list{1, 2});
    CHECK(kept.size() == 1);
    kept.add(3.0, label_list{1, 2});
    kept.add(2.0, label_list{1});
    CHECK(kept.size() == 3);
  }
}

TEST_SUITE("detail::greedy_labels") {
  TEST_CASE_TEMPLATE("where all is allowed every variable takes what is cheapest now and at least later", Cost, double,
                     std::int64_t) {
    for (std::uint64_t seed = 0; seed < at_scale(120); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 7, .density = 0.4});
      const auto labels = greedy(p);
      REQUIRE(labels);
      CHECK(*labels == greedy_by_definition(p));
    }
  }

  TEST_CASE("on trees what a label rules out is followed to the end, so no forbidden pair is used") {
    std::size_t misled = 0;
    for (std::uint64_t seed = 0; seed < at_scale(200); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 9, .density = 0, .forbidden = 0.8, .paired = 0.3});
      const auto labels = greedy(p);
      REQUIRE(labels);
      CHECK(naive_cost(p, *labels).has_value());
      // the unary costs alone would have led into forbidden pairs
      label_list cheapest(p.size());
      for (std::size_t x = 0; x < p.size(); ++x)
        cheapest[x] =
            static_cast<sw::strategy>(std::min_element(p.unary(x).begin(), p.unary(x).end()) - p.unary(x).begin());
      misled += naive_cost(p, cheapest) ? 0U : 1U;
    }
    CHECK(misled > at_scale(60));
  }

  TEST_CASE("rows keep what the others need at least, and the first come first") {
    struct row_case {
      std::pair<double, double> usage;
      double high;
      label_list expected;
    };
    // label 1 is cheaper everywhere and uses more
    const row_case cases[] = {{{0, 5}, 5, {1, 0, 0}},  {{0, 5}, 10, {1, 1, 0}},   {{0, 5}, 4.9, {0, 0, 0}},
                              {{3, 8}, 14, {1, 0, 0}}, {{3, 8}, 13.9, {0, 0, 0}}, {{3, 8}, 24, {1, 1, 1}},
                              {{2, 2}, 6, {1, 1, 1}},  {{3, 1}, 3, {1, 1, 1}},    {{0.5, 1}, 2.0, {1, 0, 0}},
                              {{0, 5}, 1e9, {1, 1, 1}}};
    for (const row_case& c : cases) {
      CAPTURE(c.high);
      CAPTURE(c.usage.second);
      const auto labels = greedy(one_row(3, c.usage, {10, 0}, -infinite, c.high));
      REQUIRE(labels);
      CHECK(*labels == c.expected);
    }
  }

  TEST_CASE("where a row is broken in any case no more is used than must be") {
    const auto labels = greedy(one_row(3, {4, 6}, {10, 0}, -infinite, 5));
    REQUIRE(labels);
    CHECK(*labels == label_list{0, 0, 0});
  }

  TEST_CASE("without noise all seeds agree, with noise starts differ and still keep rows") {
    const auto p = draw_small<double>(11, {.variables = 10, .density = 0.4});
    std::set<label_list> quiet, noisy;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      quiet.insert(greedy(p, seed).value());
      noisy.insert(greedy(p, seed, 0.8).value());
    }
    CHECK(quiet.size() == 1);
    CHECK(noisy.size() > 3);
    const auto limited = one_row(6, {0, 5}, {10, 9}, -infinite, 15);
    for (std::uint64_t seed = 0; seed < 20; ++seed) CHECK(naive_rows(limited, greedy(limited, seed, 1.0).value()));
  }

  TEST_CASE("one object labels again and again as if it were new") {
    const auto p = draw_small<double>(4, {.variables = 8, .forbidden = 0.3, .rows = 3});
    const sw::solve_control control;
    const sw::deadline limit(control);
    sw::random_source random(1);
    sw::detail::greedy_labels<double> first(p);
    const auto once = first(limit, random, 0);
    CHECK(first(limit, random, 0) == once);
    CHECK(once == greedy(p));
  }

  TEST_CASE("a stop that is there leaves no labeling") {
    const auto p = draw_small<double>(1);
    const sw::solve_control control = stopped_control();
    sw::random_source random(1);
    sw::detail::greedy_labels<double> first(p);
    CHECK_FALSE(first(sw::deadline(control), random, 0).has_value());
  }
}

TEST_SUITE("detail::block_row_prices") {
  TEST_CASE("prices of a row add up, and a range costs the sum of its rows") {
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      sw::random_source random(seed);
      sw::detail::block_row_prices prices;
      CHECK(prices.empty());
      for (int round = 0; round < 3; ++round) {
        std::vector<double> expected(12);
        prices.clear();
        CHECK(prices.empty());
        const std::size_t count = random.below(5);
        for (std::size_t i = 0; i < count; ++i) {
          const auto row = static_cast<std::uint32_t>(random.below(12));
          const auto price = static_cast<double>(random.below(9)) - 4;
          prices.add(row, price);
          expected[row] += price;
        }
        prices.finish();
        CHECK(prices.empty() == (count == 0));
        for (std::uint32_t begin = 0; begin <= 12; ++begin) {
          double sum = 0;
          for (std::uint32_t end = begin; end <= 12; ++end) {
            CHECK(prices.over(begin, end) == sum);
            if (end < 12) sum += expected[end];
          }
        }
      }
    }
  }
}

TEST_SUITE("detail::forest_block") {
  TEST_CASE_TEMPLATE("a block that is the whole tree moves to the best labeling at the prices of rows", Cost, double,
                     std::int64_t) {
    std::size_t whole = 0;
    const std::uint64_t first = shardweave_test::sized(0U, 80U);  // few are trees
    for (std::uint64_t seed = first; seed < first + at_scale(400); ++seed) {
      const auto p =
          draw_small<Cost>(seed, {.variables = 5, .most_labels = 4, .density = 0, .forbidden = 0.3, .rows = 4});
      sw::random_source random(seed);
      const sw::labeling_state<Cost> state(p, label_list(p.size(), 0));
      sw::detail::forest_block<Cost> block(p);
      const std::uint32_t roots[] = {static_cast<std::uint32_t>(random.below(p.size()))};
      block.grow(roots, p.size(), random);
      if (block.size() < p.size()) continue;
      ++whole;
      sw::detail::block_terms terms;
      terms.cost_scale = 0.5;
      std::vector<double> price(4);
      for (std::uint32_t r = 0; r < 4; ++r)
        if (random.chance(0.5)) {
          price[r] = static_cast<double>(random.below(7));
          terms.rows.add(r, price[r]);
        }
      terms.rows.finish();
      block.price(state, terms);
      std::vector<sw::relabel> moves;
      block.best_moves(state, terms, moves);
      const auto value = [&](const label_list& labels) {
        const auto cost = naive_cost(p, labels);
        double total = cost ? 0.5 * static_cast<double>(*cost) : infinite;
        for (std::size_t x = 0; x < p.size(); ++x) total += priced_usage(p, price, x, labels[x]);
        return total;
      };
      label_list reached(p.size(), 0);
      for (const sw::relabel& m : moves) {
        CHECK(m.label != 0);  // a move is a change
        reached[m.variable] = m.label;
      }
      double best = infinite;
      for_all_labelings<Cost>(p, [&](const label_list& labels) { best = std::min(best, value(labels)); });
      CHECK(value(reached) == best);  // halves of whole numbers are exact
    }
    CHECK(whole > at_scale(25));
  }

  TEST_CASE("a block is no larger than asked for, has no cycle and no variable without a choice") {
    // a ring of six, one of which has a single label
    sw::compact_builder<double> builder;
    for (int x = 0; x < 6; ++x) builder.add_variable(std::vector<double>(x == 3 ? 1 : 2));
    const auto diagonal = shardweave_test::table_of<double>(2, 2, {0, 1, 2, 5});
    for (const auto& [a, b] : {std::pair{0U, 1U}, {1U, 2U}, {4U, 5U}, {0U, 5U}}) builder.add_edge(a, b, diagonal);
    const auto p = builder.build();
    sw::compact_builder<double> ring_builder;
    for (int x = 0; x < 5; ++x) ring_builder.add_variable(std::vector<double>(2));
    for (const auto& [a, b] : {std::pair{0U, 1U}, {1U, 2U}, {2U, 3U}, {3U, 4U}, {0U, 4U}})
      ring_builder.add_edge(a, b, diagonal);
    const auto ring = ring_builder.build();
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      sw::random_source random(seed);
      sw::detail::forest_block<double> block(p), on_ring(ring);
      const std::uint32_t roots[] = {1};
      for (std::size_t most = 0; most < 7; ++most) {
        block.grow(roots, most, random);
        CHECK(block.size() == std::min<std::size_t>(most, 5));
        on_ring.grow(roots, most, random);
        CHECK(on_ring.size() == std::min<std::size_t>(most, 4));  // the last one would close the ring
      }
    }
  }

  TEST_CASE("with weights a forbidden pair is as bad as its weight, without any it is not used") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{0, 10});
    builder.add_variable(std::vector<double>{0, 10});
    constexpr double never = sw::forbidden<double>;
    builder.add_edge(0, 1, shardweave_test::table_of<double>(2, 2, {never, 0, 0, never}));
    const auto p = builder.build();
    const sw::labeling_state<double> state(p, {1, 0});
    sw::random_source random(3);
    sw::detail::forest_block<double> block(p);
    const std::uint32_t roots[] = {0};
    block.grow(roots, 2, random);
    for (const double weight : {0.0, 9.0, 11.0}) {
      const std::vector<double> weights{weight};
      sw::detail::block_terms terms;
      if (weight > 0) terms.conflict_weight = weights;
      block.price(state, terms);
      std::vector<sw::relabel> moves;
      block.best_moves(state, terms, moves);
      const bool breaks = weight == 9.0;  // two zeros and the pair are cheaper than a ten
      label_list reached{1, 0};
      for (const sw::relabel& m : moves) reached[m.variable] = m.label;
      CHECK((reached == label_list{0, 0}) == breaks);
      CHECK(naive_cost(p, reached).has_value() == !breaks);
    }
  }
}

TEST_SUITE("detail::descent") {
  TEST_CASE_TEMPLATE("no move makes a labeling dearer or breaks it, and a sweep without gain has none to make", Cost,
                     double, std::int64_t) {
    std::size_t improved = 0;
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      const auto p =
          draw_small<Cost>(seed, {.variables = 6, .density = 0.4, .forbidden = 0.2, .rows = 3, .lower_limits = 0.3});
      const sw::solve_control control;
      const sw::deadline limit(control);
      sw::labeling_state<Cost> state(p, label_list(p.size(), 0));
      sw::detail::forest_block<Cost> block(p);
      sw::detail::descent<Cost> moves(state, block, limit);
      std::size_t free = 0;
      for (std::size_t x = 0; x < p.size(); ++x) free += p.label_count(x) > 1 ? 1U : 0U;
      CHECK(moves.size() == free);
      if (free == 0) continue;
      sw::random_source random(seed);
      const Cost at_start = state.cost();
      Cost now = at_start;
      for (int i = 0; i < 40; ++i) {
        switch (random.below(4)) {
          case 0:
            moves.coordinate_sweep();
            break;
          case 1:
            moves.star_sweep(1 + random.below(3));
            break;
          case 2:
            moves.pair_step(random);
            break;
          default:
            moves.forest_step(6, random);
        }
        const auto cost = naive_cost(p, state.labels());
        REQUIRE(cost);
        CHECK(*cost == state.cost());
        CHECK(*cost <= now);
        CHECK(naive_rows(p, state.labels()));
        now = *cost;
      }
      improved += now < at_start ? 1U : 0U;
      while (moves.coordinate_sweep()) {
      }
      for (std::uint32_t x = 0; x < p.size(); ++x)
        for (sw::strategy l = 0; l < p.label_count(x); ++l) {
          label_list other(state.labels().begin(), state.labels().end());
          other[x] = l;
          if (is_feasible(p, other)) CHECK(*naive_cost(p, other) >= state.cost());
        }
    }
    CHECK(improved > at_scale(70));
  }

  TEST_CASE("without rows and on a tree a forest step as large as the tree ends the search") {
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 5, .density = 0, .forbidden = 0.2});
      bool all_free = true;
      for (std::size_t x = 0; x < p.size(); ++x) all_free = all_free && p.label_count(x) > 1;
      if (!all_free) continue;
      const sw::solve_control control;
      const sw::deadline limit(control);
      sw::labeling_state<std::int64_t> state(p, label_list(p.size(), 0));
      sw::detail::forest_block<std::int64_t> block(p);
      sw::detail::descent<std::int64_t> moves(state, block, limit);
      sw::random_source random(seed);
      for (int i = 0; i < 60; ++i) moves.forest_step(5000, random);
      CHECK(state.cost() == shardweave_test::brute_optimum_of(p));
    }
  }

  TEST_CASE("a judge is told of every move that is made, and what it refuses is not made") {
    std::size_t asked = 0;
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 6, .density = 0.4, .rows = 2});
      const sw::solve_control control;
      const sw::deadline limit(control);
      for (const std::uint64_t every : {0U, 1U, 2U}) {
        sw::labeling_state<std::int64_t> state(p, label_list(p.size(), 0));
        sw::detail::forest_block<std::int64_t> block(p);
        keeping_judge judge(label_list(p.size(), 0), every);
        sw::detail::descent<std::int64_t> moves(state, block, limit, &judge);
        if (moves.size() == 0) continue;
        sw::random_source random(seed);
        for (int i = 0; i < 10; ++i) {
          moves.coordinate_sweep();
          moves.star_sweep(2);
          moves.pair_step(random);
          moves.forest_step(6, random);
          CHECK(std::equal(judge.labels().begin(), judge.labels().end(), state.labels().begin()));
        }
        if (every == 0) CHECK(state.cost() == naive_cost(p, label_list(p.size(), 0)));
        asked += judge.asked();
      }
    }
    CHECK(asked > at_scale(500));
  }

  TEST_CASE("a stop before the first move leaves the labeling as it was") {
    const auto p = draw_small<double>(3, {.variables = 6});
    const sw::solve_control control = stopped_control();
    const sw::deadline limit(control);
    sw::labeling_state<double> state(p, label_list(p.size(), 0));
    sw::detail::forest_block<double> block(p);
    sw::detail::descent<double> moves(state, block, limit);
    CHECK_FALSE(moves.coordinate_sweep());
    CHECK_FALSE(moves.star_sweep(3));
    for (const sw::strategy l : state.labels()) CHECK(l == 0);
  }
}

TEST_SUITE("detail::label_repair") {
  TEST_CASE_TEMPLATE("it says whether all is kept now, and mostly it is", Cost, double, std::int64_t) {
    std::size_t broken = 0, mended = 0;
    for (std::uint64_t seed = 0; seed < at_scale(80); ++seed) {
      const auto p =
          draw_small<Cost>(seed, {.variables = 7, .density = 0.3, .forbidden = 0.5, .rows = 3, .lower_limits = 0.3});
      sw::random_source random(seed);
      sw::labeling_state<Cost> state(p, any_labels(p, random));
      if (is_feasible(p, state.labels())) continue;
      ++broken;
      const sw::solve_control control;
      sw::detail::forest_block<Cost> block(p);
      sw::detail::label_repair<Cost> repair(state, block);
      const bool kept = repair.run(3000, sw::deadline(control), random);
      CHECK(kept == is_feasible(p, state.labels()));
      mended += kept ? 1U : 0U;
    }
    CHECK(broken > at_scale(40));
    CHECK(mended * 10 >= broken * 9);
  }

  TEST_CASE("a labeling that keeps all is left alone") {
    for (std::uint64_t seed = 0; seed < at_scale(30); ++seed) {
      const auto p = draw_small<double>(seed, {.variables = 6, .forbidden = 0.3, .rows = 3});
      sw::labeling_state<double> state(p, label_list(p.size(), 0));
      const sw::solve_control control;
      sw::random_source random(seed);
      sw::detail::forest_block<double> block(p);
      CHECK(sw::detail::label_repair<double>(state, block).run(100, sw::deadline(control), random));
      for (const sw::strategy l : state.labels()) CHECK(l == 0);
    }
  }

  TEST_CASE("what nothing can keep stays broken, and is said to be") {
    const auto too_much = one_row(4, {4, 6}, {1, 0}, -infinite, 15);
    const auto too_little = one_row(4, {4, 6}, {1, 0}, 25, 30);
    for (const auto* p : {&too_much, &too_little}) {
      sw::labeling_state<double> state(*p, {0, 1, 0, 1});
      const sw::solve_control control;
      sw::random_source random(1);
      sw::detail::forest_block<double> block(*p);
      CHECK_FALSE(sw::detail::label_repair<double>(state, block).run(300, sw::deadline(control), random));
      CHECK_FALSE(naive_rows(*p, state.labels()));
    }
  }

  TEST_CASE("what fits only between two limits is found") {
    // usage of exactly 22 to 23: one of four takes the dear label
    const auto p = one_row(4, {5, 7}, {0, 100}, 22, 23);
    std::size_t found = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      sw::labeling_state<double> state(p, {1, 1, 1, 1});
      const sw::solve_control control;
      sw::random_source random(seed);
      sw::detail::forest_block<double> block(p);
      if (!sw::detail::label_repair<double>(state, block).run(2000, sw::deadline(control), random)) continue;
      ++found;
      CHECK(std::count(state.labels().begin(), state.labels().end(), sw::strategy{1}) == 1);
    }
    CHECK(found == 10);
  }

  TEST_CASE("without steps, and after a stop, nothing moves") {
    const auto p = one_row(3, {0, 5}, {1, 0}, -infinite, 5);
    const sw::solve_control free, stopped = stopped_control();
    for (const bool stop : {false, true}) {
      sw::labeling_state<double> state(p, {1, 1, 1});
      sw::random_source random(1);
      sw::detail::forest_block<double> block(p);
      sw::detail::label_repair<double> repair(state, block);
      CHECK_FALSE(repair.run(stop ? 1000 : 0, sw::deadline(stop ? stopped : free), random));
      for (const sw::strategy l : state.labels()) CHECK(l == 1);
    }
  }
}

TEST_SUITE("detail::branching") {
  TEST_CASE("labels part at the widest finite step, the half with the better bound first") {
    struct split_case {
      std::vector<double> measure, least;
      label_list first, second;
    };
    const split_case cases[] = {{{1, 2, 10, 11}, {5, 5, 9, 9}, {0, 1}, {2, 3}},
                                {{1, 2, 10, 11}, {5, 5, 9, 4}, {2, 3}, {0, 1}},
                                {{10, 1, 11, 2}, {0, 0, 0, 0}, {1, 3}, {0, 2}},  // listed by the measure, not by number
                                {{3, 3, 3}, {7, 6, 5}, {1, 2}, {0}},             // no step: the first one alone
                                {{0, 4, 4.5}, {1, infinite, 2}, {0}, {1, 2}},
                                {{0, 1, infinite}, {1, 2, 3}, {0}, {1, 2}},  // an infinite step is none
                                {{infinite, infinite}, {3, 2}, {1}, {0}},
                                {{0, 1}, {infinite, infinite}, {0}, {1}}};
    for (const split_case& c : cases) {
      const auto split = sw::detail::split_at_widest_step(4, c.measure, c.least);
      CAPTURE(c.measure[0]);
      CAPTURE(c.least[0]);
      CHECK(split.variable == 4);
      CHECK(split.parts[0] == c.first);
      CHECK(split.parts[1] == c.second);
    }
  }

  TEST_CASE("whatever the numbers are, two halves share all labels and lie apart by the widest step") {
    sw::random_source random(9);
    for (std::size_t i = 0; i < at_scale(300); ++i) {
      const std::size_t n = 2 + random.below(7);
      std::vector<double> measure(n), least(n);
      for (double& m : measure) m = static_cast<double>(random.below(15));
      for (double& b : least) b = static_cast<double>(random.below(15));
      const auto split = sw::detail::split_at_widest_step(0, measure, least);
      CHECK(is_partition(split, n));
      CHECK(distance_of(split, measure) == widest_step(measure));
      CHECK(least_of(split.parts[0], least) <= least_of(split.parts[1], least));
    }
  }

  TEST_CASE_TEMPLATE("by usage that variable is split whose good labels differ most at the prices", Cost, double,
                     std::int64_t) {
    std::size_t by_usage = 0, by_bounds = 0;
    for (std::uint64_t seed = 0; seed < at_scale(200); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 5, .rows = 4, .usage = 0.6});
      sw::random_source random(seed);
      std::vector<double> prices(4), least(p.total_labels());
      const bool free = random.chance(0.2);
      for (double& v : prices) v = free || random.chance(0.3) ? 0 : static_cast<double>(random.below(6));
      for (double& b : least) b = static_cast<double>(random.below(20));
      const double near = static_cast<double>(8 + random.below(12));
      std::size_t most_labels = 0;
      double widest = 0;
      const auto spread = [&](std::size_t x) {
        double low = infinite, high = -infinite;
        for (sw::strategy l = 0; l < p.label_count(x); ++l)
          if (least[p.label_start(x) + l] <= near) {
            low = std::min(low, priced_usage(p, prices, x, l));
            high = std::max(high, priced_usage(p, prices, x, l));
          }
        return std::max(0.0, high - low);
      };
      for (std::size_t x = 0; x < p.size(); ++x) {
        most_labels = std::max(most_labels, p.label_count(x));
        widest = std::max(widest, spread(x));
      }
      if (most_labels < 2) continue;
      const auto split = sw::detail::split_by_usage(p, prices, least, near);
      const std::size_t x = split.variable;
      REQUIRE(x < p.size());
      REQUIRE(is_partition(split, p.label_count(x)));
      const auto bounds = std::span<const double>(least).subspan(p.label_start(x), p.label_count(x));
      CHECK(least_of(split.parts[0], bounds) <= least_of(split.parts[1], bounds));
      CHECK(spread(x) == widest);
      std::vector<double> measure(bounds.begin(), bounds.end());
      if (widest > 0) {
        ++by_usage;
        for (sw::strategy l = 0; l < measure.size(); ++l) measure[l] = priced_usage(p, prices, x, l);
      } else {
        ++by_bounds;
        CHECK(p.label_count(x) == most_labels);
      }
      CHECK(distance_of(split, measure) == widest_step(measure));
    }
    CHECK(by_usage > at_scale(80));
    CHECK(by_bounds > at_scale(15));
  }
}

TEST_SUITE("what combinators share") {
  TEST_CASE("an assignment and a bound say together what is proven") {
    using enum sw::solve_status;
    struct settle_case {
      std::optional<double> objective;
      double bound;
      bool stopped;
      sw::solve_status expected;
      double bound_after;
    };
    const settle_case cases[] = {{5.0, 5.0, false, optimal, 5.0},
                                 {5.0, 5.0, true, optimal, 5.0},
                                 {5.0, 5.5, false, optimal, 5.0},  // what is there cannot cost less than it does
                                 {5.0, infinite, false, optimal, 5.0},
                                 {5.0, 5.0 - 4e-9, false, optimal, 5.0 - 4e-9},
                                 {5.0, 5.0 - 6e-9, false, feasible, 5.0 - 6e-9},
                                 {5.0, 4.0, true, stopped, 4.0},
                                 {5.0, -infinite, false, feasible, -infinite},
                                 {std::nullopt, 4.0, false, stopped, 4.0},
                                 {std::nullopt, -infinite, true, stopped, -infinite},
                                 {std::nullopt, infinite, false, infeasible, infinite},
                                 {std::nullopt, infinite, true, infeasible, infinite}};
    for (const settle_case& c : cases) {
      auto s = answer<double>(c.objective, c.bound, stopped);
      sw::detail::settle(s, c.stopped);
      CAPTURE(c.bound);
      CHECK(sw::name_of(s.status) == sw::name_of(c.expected));
      CHECK(s.lower_bound == c.bound_after);
      CHECK(sw::detail::is_settled(s, 0) == (c.expected == optimal || c.expected == infeasible));
    }
    auto whole = answer<std::int64_t>(5, 4.5, feasible);
    sw::detail::settle(whole, true);
    CHECK(whole.status == optimal);
    CHECK(whole.lower_bound == 4.5);
    whole.lower_bound = 4.0;
    sw::detail::settle(whole, true);
    CHECK(whole.status == stopped);
  }

  TEST_CASE("of two answers the better assignment and the better bound are kept") {
    using enum sw::solve_status;
    struct part {
      std::optional<double> objective;
      double bound;
      sw::solve_status status;
    };
    struct merge_case {
      part first, second;
      const char* solver;
      std::optional<double> objective;
      double bound;
      sw::solve_status status;
    };
    const std::optional<double> none;
    const merge_case cases[] = {
        {{none, -infinite, stopped}, {5.0, 5.0, optimal}, "b", 5.0, 5.0, optimal},
        {{7.0, 3.0, feasible}, {5.0, 2.0, feasible}, "b", 5.0, 3.0, feasible},
        {{5.0, 2.0, feasible}, {7.0, 5.0, feasible}, "a", 5.0, 5.0, optimal},
        {{5.0, 2.0, feasible}, {5.0, 3.0, feasible}, "a", 5.0, 3.0, feasible},  // the earlier of two equal ones
        {{5.0, 2.0, stopped}, {7.0, 3.0, feasible}, "a", 5.0, 3.0, stopped},
        {{7.0, 2.0, feasible}, {5.0, 3.0, stopped}, "b", 5.0, 3.0, stopped},
        {{none, 1.0, stopped}, {7.0, 3.0, feasible}, "b", 7.0, 3.0, feasible},  // nothing found is not a limit
        {{7.0, 3.0, feasible}, {none, 6.0, stopped}, "a", 7.0, 6.0, feasible},
        {{none, 1.0, stopped}, {none, 2.0, stopped}, "a", none, 2.0, stopped},
        {{none, 1.0, stopped}, {none, infinite, infeasible}, "a", none, infinite, infeasible},
        {{5.0, 2.0, feasible}, {none, infinite, infeasible}, "a", 5.0, 5.0, optimal}};
    for (std::size_t i = 0; i < std::size(cases); ++i) {
      const merge_case& c = cases[i];
      CAPTURE(i);
      const auto both = sw::merged(answer<double>(c.first.objective, c.first.bound, c.first.status, "a"),
                                   answer<double>(c.second.objective, c.second.bound, c.second.status, "b"));
      CHECK(both.statistics.solver == c.solver);
      CHECK(both.has_assignment() == c.objective.has_value());
      if (c.objective) {
        CHECK(both.objective == *c.objective);
        CHECK(both.choice == sw::assignment{static_cast<sw::strategy>(*c.objective)});
      }
      CHECK(both.lower_bound == c.bound);
      CHECK(sw::name_of(both.status) == sw::name_of(c.status));
    }
  }

  TEST_CASE("times, iterations, notes and counters of both are there, first things first") {
    auto a = answer<double>(7.0, 1, sw::solve_status::feasible, "a");
    a.statistics.seconds = 4;
    a.statistics.seconds_to_best = 3;
    a.statistics.iterations = 10;
    a.statistics.note = "one.";
    a.statistics.counters = {{"x", 1.0}};
    auto b = answer<double>(6.0, 1, sw::solve_status::feasible, "b");
    b.statistics.seconds = 2;
    b.statistics.seconds_to_best = 0.5;
    b.statistics.iterations = 5;
    b.statistics.note = "two.";
    b.statistics.counters = {{"y", 2.0}, {"x", 3.0}};
    const auto ab = sw::merged(a, b), ba = sw::merged(b, a);
    CHECK(ab.statistics.seconds == 6);
    CHECK(ab.statistics.seconds_to_best == 4.5);  // the second found it after the first had ended
    CHECK(ba.statistics.seconds_to_best == 0.5);
    CHECK(ab.statistics.iterations == 15);
    CHECK(ab.statistics.note == "one. two.");
    CHECK(ba.statistics.note == "two. one.");
    CHECK(ab.statistics.counters == std::vector<std::pair<std::string, double>>{{"x", 1.0}, {"y", 2.0}, {"x", 3.0}});
    CHECK(ab.choice == b.choice);
    CHECK(ba.choice == b.choice);
  }

  TEST_CASE("who proved the bound is told where it is not who found the assignment") {
    using enum sw::solve_status;
    const auto prover = [](auto a, auto b) { return sw::merged(std::move(a), std::move(b)).statistics; };
    const auto finds = answer<double>(5.0, -infinite, feasible, "finds");
    const auto bounds = answer<double>({}, 5.0, stopped, "bounds");
    for (const auto& both : {prover(finds, bounds), prover(bounds, finds)}) {
      CHECK(both.solver == "finds");
      CHECK(both.bound_by == "bounds");
      CHECK(both.prover() == "bounds");
    }
    CHECK(prover(answer<double>(5.0, 4, feasible, "a"), answer<double>(6.0, 3, feasible, "b")).bound_by.empty());
    CHECK(prover(finds, answer<double>(7.0, -infinite, feasible, "b")).bound_by.empty());  // there is none
    // a bound that was another's already
    auto already = sw::merged(finds, bounds);
    already.lower_bound = 4;
    already.status = feasible;
    CHECK(prover(already, answer<double>(4.5, 3, feasible, "third")).bound_by == "bounds");
    CHECK(prover(already, answer<double>(4.5, 4.2, feasible, "third")).bound_by.empty());
    CHECK(prover(answer<double>(4.5, 3, feasible, "third"), already).bound_by == "bounds");
  }

  TEST_CASE("of two equal assignments the later one is kept where only it is proven, found when the first was") {
    using enum sw::solve_status;
    auto greedy = answer<double>(5.0, -infinite, feasible, "greedy");
    greedy.statistics.seconds = 2;
    greedy.statistics.seconds_to_best = 1;
    auto exact = answer<double>(5.0, 5.0, optimal, "exact");
    exact.statistics.seconds_to_best = 3;
    const auto both = sw::merged(greedy, exact);
    CHECK(both.statistics.solver == "exact");
    CHECK(both.statistics.bound_by.empty());
    CHECK(both.statistics.seconds_to_best == 1);
    CHECK(sw::merged(exact, exact).statistics.seconds_to_best == 3);
    CHECK(sw::merged(exact, greedy).statistics.solver == "exact");
  }

  TEST_CASE("a first answer that brought nothing leaves no note where there is an assignment") {
    using enum sw::solve_status;
    auto failed = answer<double>({}, -infinite, stopped, "greedy");
    failed.statistics.note = "nothing was found.";
    auto found = answer<double>(5.0, 4, feasible, "b");
    CHECK(sw::merged(failed, found).statistics.note.empty());
    found.statistics.note = "stopped.";
    CHECK(sw::merged(failed, found).statistics.note == "stopped.");
    CHECK(sw::merged(failed, failed).statistics.note == "nothing was found. nothing was found.");
    failed.lower_bound = 1;  // it brought a bound: what ended it matters
    CHECK(sw::merged(failed, found).statistics.note == "nothing was found. stopped.");
  }

  TEST_CASE("only an unproven answer is called stopped when a limit ended it") {
    using enum sw::solve_status;
    const sw::solve_control control = stopped_control(), free;
    const sw::deadline over(control), open(free);
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{5});
    const sw::placement_problem<double> problem(builder.build());
    for (const sw::solve_status status : {feasible, stopped}) {
      CAPTURE(sw::name_of(status));
      const auto s = answer<double>(5.0, 1, status);
      CHECK(sw::detail::ended(s, problem, free, open).status == status);
      CHECK(sw::detail::ended(s, problem, control, over).status == (status == feasible ? stopped : status));
    }
  }

  TEST_CASE("a part of the work gets its share of the time that is left, and all other limits") {
    sw::solve_control control;
    control.iterations = 12;
    control.seed = 34;
    CHECK(sw::detail::shared_time(sw::deadline(control), 0.5).seconds == infinite);
    control.seconds = 1e6;
    const auto part = sw::detail::shared_time(sw::deadline(control), 0.25);
    CHECK(part.seconds <= 250000.0);
    CHECK(part.seconds > 200000.0);
    CHECK(part.iterations == 12);
    CHECK(part.seed == 34);
    control.seconds = 0;
    CHECK(sw::detail::shared_time(sw::deadline(control), 0.25).seconds == 0);
  }
}

}  // namespace details_of_search_tests
