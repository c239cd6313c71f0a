#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/reduce/detail/lifting.hpp>
#include <shardweave/solve/reduce/detail/mutable_problem.hpp>
#include <shardweave/solve/reduce/detail/table_memo.hpp>
#include <shardweave/solve/reduce/detail/usage_tidy.hpp>
#include <shardweave/solve/reduce/reduction.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace details_of_reduction_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::draw_small;
using shardweave_test::for_all_labelings;
using shardweave_test::label_list;
using shardweave_test::naive_cost;
using shardweave_test::naive_rows;
using shardweave_test::table_of;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// A table of whole costs, a fifth of them forbidden, with repeated rows and columns.
template <class Cost>
std::shared_ptr<const sw::cost_table<Cost>> draw_table(sw::random_source& random, std::size_t rows,
                                                       std::size_t columns) {
  std::vector<Cost> entries(rows * columns);
  for (Cost& c : entries) c = random.chance(0.2) ? sw::forbidden<Cost> : static_cast<Cost>(random.below(4));
  return table_of<Cost>(rows, columns, entries);
}

/// Some of the labels below n, at least one, ascending.
label_list some_of(std::size_t n, sw::random_source& random) {
  label_list kept;
  for (sw::strategy l = 0; l < n; ++l)
    if (random.chance(0.6)) kept.push_back(l);
  if (kept.empty()) kept.push_back(static_cast<sw::strategy>(random.below(n)));
  return kept;
}

/// Every allowed labeling of what is left lifts to one of the whole with the same cost and the same rows.
template <class Cost>
std::size_t check_lifts(const sw::compact_problem<Cost>& whole, sw::detail::mutable_problem<Cost>&& changed) {
  const auto [kernel, back] = std::move(changed).finish();
  REQUIRE(kernel.size() == back.kept().size());
  if (sw::is_forbidden(kernel.constant())) return 0;  // nothing fits at all
  std::size_t finite = 0;
  for_all_labelings<Cost>(kernel, [&, &inner = kernel, &lift = back](const label_list& labels) {
    const label_list lifted = lift.lift(whole.size(), labels);
    for (std::size_t x = 0; x < whole.size(); ++x) REQUIRE(lifted[x] < whole.label_count(x));
    const auto inside = naive_cost(inner, labels), outside = naive_cost(whole, lifted);
    if (!inside) return;  // where nothing fits, any label stands for what was removed
    CHECK(inside == outside);
    ++finite;
    CHECK(naive_rows(inner, labels) == naive_rows(whole, lifted));
  });
  return finite;
}

/// Pairs of variables that an edge joins.
template <class Cost>
std::vector<std::pair<std::uint32_t, std::uint32_t>> joined(const sw::detail::mutable_problem<Cost>& p) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  for (std::uint32_t x = 0; x < p.variables.size(); ++x)
    if (p.variables[x].alive)
      for (const auto& [y, t] : p.variables[x].edges) result.emplace_back(x, y);
  return result;
}

}  // namespace

TEST_SUITE("detail::table_memo") {
  TEST_CASE_TEMPLATE("what it makes are the transposes, sums and selections of tables", Cost, double, std::int64_t) {
    for (std::uint64_t seed = 0; seed < at_scale(80); ++seed) {
      sw::random_source random(seed);
      sw::detail::table_memo<Cost> memo;
      const std::size_t rows = 1 + random.below(5), columns = 1 + random.below(5);
      const auto a = draw_table<Cost>(random, rows, columns), b = draw_table<Cost>(random, rows, columns);
      const label_list kept = some_of(rows, random);
      const auto c = draw_table<Cost>(random, rows, 1 + random.below(9));
      std::vector<Cost> own(rows);
      for (Cost& cost : own) cost = random.chance(0.2) ? sw::forbidden<Cost> : static_cast<Cost>(random.below(4));
      const auto least = memo.least_between(a, own, c);
      CHECK(memo.least_between(a, own, c) == least);
      for (std::size_t i = 0; i < columns; ++i)
        for (std::size_t j = 0; j < c->columns(); ++j) {
          Cost expected = sw::forbidden<Cost>;
          for (std::size_t r = 0; r < rows; ++r)
            expected = std::min(expected, sw::plus(own[r], sw::plus((*a)(r, i), (*c)(r, j))));
          CHECK((*least)(i, j) == expected);
        }
      const auto flipped = memo.flipped(a), sum = memo.sum(a, b), part = memo.selected(a, kept);
      REQUIRE(flipped->rows() == columns);
      REQUIRE(part->rows() == kept.size());
      REQUIRE(part->columns() == columns);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) {
          CHECK((*flipped)(j, i) == (*a)(i, j));
          CHECK((*sum)(i, j) == sw::plus((*a)(i, j), (*b)(i, j)));
        }
      for (std::size_t i = 0; i < kept.size(); ++i)
        for (std::size_t j = 0; j < columns; ++j) CHECK((*part)(i, j) == (*a)(kept[i], j));
    }
  }

  TEST_CASE("the same question has the same answer, and twice flipped is the table itself") {
    sw::random_source random(2);
    sw::detail::table_memo<double> memo;
    const auto a = draw_table<double>(random, 3, 4), b = draw_table<double>(random, 3, 4);
    const label_list first{0, 2}, second{2, 0};
    CHECK(memo.flipped(a) == memo.flipped(a));
    CHECK(memo.flipped(memo.flipped(a)) == a);
    CHECK(memo.flipped(a) != memo.flipped(b));
    CHECK(memo.sum(a, b) == memo.sum(a, b));
    CHECK(memo.sum(a, b) != memo.sum(a, a));
    CHECK(memo.selected(a, first) == memo.selected(a, first));
    CHECK(memo.selected(a, first) != memo.selected(a, second));  // the order counts
    CHECK(memo.selected(a, first) != memo.selected(b, first));
  }

  TEST_CASE("tables that are asked about outlive their owners") {
    sw::detail::table_memo<double> memo;
    std::vector<std::shared_ptr<const sw::cost_table<double>>> answers;
    for (int i = 0; i < 50; ++i) {  // an address that is used again must not meet an old answer
      const auto t = table_of<double>(2, 2, {0, 1.0 * i, 2, 3});
      answers.push_back(memo.flipped(t));
    }
    for (int i = 0; i < 50; ++i) CHECK((*answers[static_cast<std::size_t>(i)])(1, 0) == 1.0 * i);
  }

  TEST_CASE("what became of tables that are not in use is forgotten, and made again when it is asked for") {
    sw::random_source random(5);
    sw::detail::table_memo<double> memo;
    const auto a = draw_table<double>(random, 3, 4), b = draw_table<double>(random, 3, 4);
    const label_list first{0, 2};
    const auto flipped_a = memo.flipped(a), flipped_b = memo.flipped(b);
    const auto twice = memo.sum(a, a), sum = memo.sum(a, b), part = memo.selected(b, first);
    CHECK(memo.made() > 0);
    memo.forget_others({a, flipped_a});
    CHECK(memo.made() == 0);
    CHECK(memo.flipped(a) == flipped_a);
    CHECK(memo.flipped(flipped_a) == a);
    CHECK(memo.sum(a, a) == twice);
    CHECK(memo.made() == 0);
    for (const auto& [old, again] : {std::pair(flipped_b, memo.flipped(b)), std::pair(sum, memo.sum(a, b)),
                                     std::pair(part, memo.selected(b, first))}) {
      CHECK(old != again);
      CHECK(*old == *again);
    }
    CHECK(memo.made() > 0);
  }
}

TEST_SUITE("detail::lifting") {
  TEST_CASE("records are undone from the last to the first, in labels of the start") {
    sw::detail::lifting way_back;
    // 3 chose by the classes of 0 and 2, then 2 followed 1, then 0 was decided; 1 and 4 are left
    way_back.add(sw::detail::lifting::choose_by_two{
        3, 0, 2, {0, 1, 1}, {0, 0, 1}, [](std::uint32_t i, std::uint32_t j) { return 10 + 2 * i + j; }});
    way_back.add(sw::detail::lifting::follow{2, 1, {2, 0, 1, 0}});
    way_back.add(sw::detail::lifting::decided{0, 2});
    way_back.keep(4, {7, 9});
    way_back.keep(1, {0, 3, 2});
    REQUIRE(way_back.kept().size() == 2);
    CHECK(way_back.kept()[0].first == 4);
    CHECK(way_back.kept()[1].second == label_list{0, 3, 2});
    struct lift_case {
      label_list inner, outer;
    };
    const lift_case cases[] = {{{0, 0}, {2, 0, 2, 13, 7}},   // 1 at 0: 2 at 2, of class 1
                               {{1, 1}, {2, 3, 0, 12, 9}},   // 1 at 3: 2 at 0, of class 0
                               {{1, 2}, {2, 2, 1, 12, 9}}};  // 1 at 2: 2 at 1, of class 0
    for (const lift_case& c : cases) CHECK(way_back.lift(5, c.inner) == c.outer);
  }

  TEST_CASE("nothing removed, nothing changed") {
    sw::detail::lifting way_back;
    for (std::uint32_t x = 0; x < 3; ++x) way_back.keep(x, {0, 1});
    CHECK(way_back.lift(3, label_list{1, 0, 1}) == label_list{1, 0, 1});
    CHECK(sw::detail::lifting().lift(0, {}).empty());
  }
}

TEST_SUITE("detail::mutable_problem") {
  TEST_CASE("tables that edges have are kept when much is forgotten, and the optimum stays") {
    constexpr std::size_t length = 40, labels = 60;  // the transposes alone are much
    sw::random_source random(3);
    sw::compact_builder<double> builder;
    std::vector<double> best(labels), unary(labels), entries(labels * labels);
    for (std::uint32_t x = 0; x < length; ++x) {
      for (double& c : unary) c = static_cast<double>(random.below(1000));
      builder.add_variable(unary);
      if (x > 0) {
        for (double& c : entries) c = static_cast<double>(random.below(1000));
        builder.add_edge(x - 1, x, table_of<double>(labels, labels, entries));
      }
      std::vector<double> next(labels, infinite);  // the least cost of a chain that ends here
      for (std::size_t b = 0; b < labels; ++b)
        for (std::size_t a = 0; a < labels; ++a)
          next[b] = std::min(next[b], unary[b] + (x > 0 ? best[a] + entries[a * labels + b] : 0));
      best = next;
    }
    const auto chain = builder.build();
    sw::detail::mutable_problem<double> p(chain);
    CHECK(p.has_much_to_forget());
    const auto used = p.forget();
    CHECK(used.size() == 2 * (length - 1));
    for (const auto& v : p.variables)
      for (const auto& [y, t] : v.edges) CHECK(used.contains(t));
    CHECK_FALSE(p.has_much_to_forget());

    sw::reduction<double> whole(chain);
    REQUIRE_FALSE(whole.is_infeasible());
    const auto kernel = whole.take_kernel();
    CHECK(kernel->size() == 0);
    CHECK(kernel->constant() == *std::min_element(best.begin(), best.end()));
    CHECK(chain.cost(whole.lift({})) == kernel->constant());
  }

  TEST_CASE_TEMPLATE("labels kept, variables merged and eliminated in any order leave costs and rows as they were",
                     Cost, double, std::int64_t) {
    std::size_t finite = 0, merged = 0, eliminated = 0, settled = 0;
    for (std::uint64_t seed = 0; seed < at_scale(250); ++seed) {
      CAPTURE(seed);
      const auto whole = draw_small<Cost>(seed, {.variables = 5,
                                                 .most_labels = 3,
                                                 .density = 0.3,
                                                 .forbidden = 0.2,
                                                 .rows = seed % 2 == 0 ? 3U : 0U,
                                                 .lower_limits = 0.3});
      sw::random_source random(seed);
      sw::detail::mutable_problem<Cost> p(whole);
      for (int step = 0; step < 5; ++step) {
        const auto x = static_cast<std::uint32_t>(random.below(p.variables.size()));
        if (!p.variables[x].alive) continue;
        if (random.chance(0.4)) {
          p.keep(x, some_of(p.label_count(x), random));
        } else if (p.degree(x) == 0 && p.variables[x].segments.empty()) {
          p.settle(x, static_cast<sw::strategy>(random.below(p.label_count(x))));
          ++settled;
        } else if (p.degree(x) == 2 && p.variables[x].segments.empty()) {
          const std::uint32_t u = p.variables[x].edges.begin()->first;
          const std::uint32_t w = std::next(p.variables[x].edges.begin())->first;
          p.eliminate(x, u, w);
          ++eliminated;
        } else if (p.degree(x) > 0) {
          // any function of a neighbour's label is a valid choice of the own one
          const auto edges = joined(p);
          const auto at = std::find_if(edges.begin(), edges.end(), [&](const auto& e) { return e.first == x; });
          label_list image(p.label_count(at->second));
          for (sw::strategy& l : image) l = static_cast<sw::strategy>(random.below(p.label_count(x)));
          p.merge(x, at->second, image);
          ++merged;
        }
      }
      finite += check_lifts(whole, std::move(p));
    }
    CHECK(merged > at_scale(200));
    CHECK(eliminated > at_scale(20));
    CHECK(settled > at_scale(5));
    CHECK(finite > at_scale(500));
  }

  TEST_CASE("eliminated, a variable takes its best label for every pair of its neighbours") {
    for (std::uint64_t seed = 0; seed < at_scale(80); ++seed) {
      sw::random_source random(seed);
      sw::compact_builder<double> builder;
      for (int x = 0; x < 3; ++x) {
        std::vector<double> unary(3);
        for (double& c : unary) c = static_cast<double>(random.below(9));
        builder.add_variable(unary);
      }
      for (const std::uint32_t y : {1U, 2U}) {
        std::vector<double> entries(9);
        for (double& c : entries) c = random.chance(0.2) ? infinite : static_cast<double>(random.below(9));
        builder.add_edge(0, y, table_of<double>(3, 3, entries));
      }
      const auto whole = builder.build();
      if (whole.edges().size() < 2) continue;
      sw::detail::mutable_problem<double> p(whole);
      p.eliminate(0, 1, 2);
      const auto [kernel, back] = std::move(p).finish();
      for (sw::strategy a = 0; a < 3; ++a)
        for (sw::strategy b = 0; b < 3; ++b) {
          std::optional<double> best;
          for (sw::strategy l = 0; l < 3; ++l) {
            const auto cost = naive_cost(whole, label_list{l, a, b});
            if (cost && (!best || *cost < *best)) best = cost;
          }
          CHECK(naive_cost(kernel, label_list{a, b}) == best);
          const label_list lifted = back.lift(3, label_list{a, b});
          CHECK(lifted[1] == a);
          CHECK(lifted[2] == b);
          if (best) CHECK(naive_cost(whole, lifted) == best);
        }
    }
  }

  TEST_CASE("both ends see an edge, each with its labels as rows, and every change marks them") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>(2));
    builder.add_variable(std::vector<double>(3));
    builder.add_variable(std::vector<double>(2));
    builder.add_edge(0, 1, table_of<double>(2, 3, {0, 1, 2, 3, 4, 6}));
    sw::detail::mutable_problem<double> p(builder.build());
    const auto clear = [&] {
      for (auto& v : p.variables) v.dirty = false;
    };
    const auto dirty = [&] {
      std::vector<bool> flags;
      for (const auto& v : p.variables) flags.push_back(v.dirty);
      return flags;
    };
    CHECK(dirty() == std::vector<bool>{true, true, true});
    clear();
    p.keep(1, label_list{2, 0});
    CHECK(dirty() == std::vector<bool>{true, true, false});
    CHECK(p.label_count(1) == 2);
    CHECK(p.variables[1].origin == label_list{2, 0});
    CHECK((*p.variables[0].edges.at(1))(1, 0) == 6);
    CHECK((*p.variables[1].edges.at(0))(0, 1) == 6);
    clear();
    p.add_edge(2, 1, table_of<double>(2, 2, {10, 20, 30, 50}));
    p.add_edge(1, 2, table_of<double>(2, 2, {1, 2, 3, 4}));  // seen from the other end
    CHECK(dirty() == std::vector<bool>{false, true, true});
    CHECK((*p.variables[2].edges.at(1))(1, 0) == 30 + 2);
    CHECK((*p.variables[1].edges.at(2))(1, 0) == 20 + 3);
    CHECK(p.degree(1) == 2);
    clear();
    p.drop_edge(0, 1);
    CHECK(dirty() == std::vector<bool>{true, true, false});
    CHECK(p.degree(0) == 0);
    CHECK(p.degree(1) == 1);
  }
}

TEST_SUITE("detail::usage_tidy") {
  TEST_CASE("a label uses no more than another in any row, and as much where there is a lower limit") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>(3));
    builder.add_row({-infinite, 50, 0, 0});
    builder.add_row({1, 50, 0, 1});
    builder.add_segment(0, {0, 1, {1, 2, 2}});
    builder.add_segment(0, {1, 2, {4, 4, 3}});
    sw::detail::mutable_problem<double> p(builder.build());
    const sw::detail::usage_tidy<double> usage(p);
    const auto& segments = p.variables[0].segments;
    const bool expected[3][3] = {{true, true, false}, {false, true, false}, {false, false, true}};
    for (sw::strategy a = 0; a < 3; ++a)
      for (sw::strategy b = 0; b < 3; ++b) CHECK(usage.uses_no_more(segments, a, b) == expected[a][b]);
    p.rows[1].low = -infinite;
    const sw::detail::usage_tidy<double> without(p);
    CHECK(without.uses_no_more(segments, 2, 1));  // less in the second row does no harm now
    CHECK_FALSE(without.uses_no_more(segments, 1, 2));
    CHECK(without.uses_no_more({}, 2, 0));
  }

  TEST_CASE("usage of removed variables is taken off both limits of its rows, once") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>(2));
    for (std::int64_t r = 0; r < 3; ++r) builder.add_row({2, 10, 0, r});
    builder.add_segment(0, {0, 3, {0, 12}});
    sw::detail::mutable_problem<double> p(builder.build());
    sw::detail::usage_tidy<double> usage(p);
    usage.take_from_rows({1, 3, {}}, 1);
    usage.take_from_rows({1, 2, {}}, 2);
    for (int round = 0; round < 2; ++round) {
      CHECK(usage.tidy());
      REQUIRE(p.rows.size() == 3);
      const double taken[] = {0, 3, 1};
      for (std::size_t r = 0; r < 3; ++r) {
        CHECK(p.rows[r].high == 10 - taken[r]);
        CHECK(p.rows[r].low == 2 - taken[r]);
        CHECK(p.rows[r].time == static_cast<std::int64_t>(r));
      }
    }
  }
}

}  // namespace details_of_reduction_tests
