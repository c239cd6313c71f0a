#include "solve/small_problems.hpp"
#include <shardweave/placement/class_costs.hpp>
#include <shardweave/solve/reduce/reduction.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;
using shardweave_test::label_list;
using shardweave_test::naive_cost;
using shardweave_test::naive_rows;

namespace reduction_tests {
namespace {

using working = sw::detail::mutable_problem<double>;
using usage_of = sw::detail::usage_tidy<double>;

/// What a rule made of a problem must have the same optimum, and every labeling of it must lift to one of the same
/// cost that keeps the same rows.
void check_equivalent(const sw::compact_problem<double>& whole, working&& changed) {
  const auto [kernel, way_back] = std::move(changed).finish();
  const auto expected = brute_optimum_of(whole), found = brute_optimum_of(kernel);
  CHECK(found.has_value() == expected.has_value());
  if (found && expected) CHECK(*found == *expected);
  shardweave_test::for_all_labelings<double>(kernel, [&, &inner = kernel, &back = way_back](const label_list& labels) {
    const label_list lifted = back.lift(whole.size(), labels);
    REQUIRE(lifted.size() == whole.size());
    const auto inside = naive_cost(inner, labels), outside = naive_cost(whole, lifted);
    REQUIRE(inside.has_value() == outside.has_value());
    if (!inside) return;
    CHECK(*inside == *outside);
    CHECK(naive_rows(inner, labels) == naive_rows(whole, lifted));
  });
}

/// Applies a rule to every variable of many problems. Returns how often it did something.
template <class Apply>
std::size_t try_rule(const shardweave_test::small_shape& shape, Apply apply) {
  std::size_t did = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const auto whole = draw_small<double>(seed, shape);
    working p(whole);
    usage_of usage(p);
    REQUIRE(usage.tidy());  // label 0 everywhere is feasible
    did += apply(p, usage);
    REQUIRE(usage.tidy());
    check_equivalent(whole, std::move(p));
  }
  return did;
}

template <class Rule>
void for_every_variable(working& p, Rule&& rule) {
  for (std::uint32_t x = 0; x < p.variables.size(); ++x)
    if (p.variables[x].alive) rule(x);
}

const shardweave_test::small_shape with_rows{
    .variables = 5, .most_labels = 3, .density = 0.3, .forbidden = 0.3, .rows = 6, .lower_limits = 0.2, .usage = 0.5};
const shardweave_test::small_shape without_rows{.variables = 5, .most_labels = 3, .density = 0.3, .forbidden = 0.3};

}  // namespace

TEST_SUITE("reduction rules") {
  TEST_CASE("usage in normal form says the same of every labeling") {
    std::size_t rows = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      CAPTURE(seed);
      const auto whole = draw_small<double>(seed, {.variables = 4, .rows = 9, .lower_limits = 0.15});
      working p(whole);
      usage_of usage(p);
      REQUIRE(usage.tidy());
      rows += whole.rows().size() - p.rows.size();
      for (const auto& v : p.variables)
        for (const auto& s : v.segments) CHECK(*std::min_element(s.usage.begin(), s.usage.end()) == 0);
      check_equivalent(whole, std::move(p));  // so only implied rows went
    }
    CHECK(rows > 500);
  }
  TEST_CASE("a row goes where another one of its budget leaves it room for all that can be used more") {
    // in row 0 the first variable, in row 1 the second one, too
    const auto rows_left = [](double first, double second, double most, std::uint32_t budget = 0,
                              double low = -std::numeric_limits<double>::infinity()) {
      sw::compact_builder<double> builder;
      for (int x = 0; x < 2; ++x) builder.add_variable(std::vector<double>{0, 0});
      builder.add_row({.high = first, .budget = 0, .time = 0});
      builder.add_row({.low = low, .high = second, .budget = budget, .time = 1});
      builder.add_segment(0, {0, 2, {0, 6}});
      builder.add_segment(1, {1, 2, {0, most}});
      working p(builder.build());
      REQUIRE(usage_of(p).tidy());
      std::vector<std::int64_t> times;
      for (const sw::usage_row& row : p.rows) times.push_back(row.time);
      return times;
    };
    using times = std::vector<std::int64_t>;
    CHECK(rows_left(5, 7, 2) == times{0});     // 5 and 2 are 7
    CHECK(rows_left(5, 6, 2) == times{0, 1});  // neither implies the other
    CHECK(rows_left(5, 5, 2) == times{1});     // less is used in row 0
    CHECK(rows_left(5.5, 7, 2) == times{0});   // whole amounts within 5.5 are within 5
    CHECK(rows_left(5, 7, 2, 1) == times{0, 1});
    CHECK(rows_left(5, 7, 2, 0, 1) == times{0, 1});
    CHECK(rows_left(5, 6.5, 1.5) == times{0, 1});  // as near as that fractions may be summed otherwise
    CHECK(rows_left(5, 6.6, 1.5) == times{0});
    CHECK(rows_left(5, 5, 0) == times{0});           // one of two that imply each other
    const double nearly = std::nextafter(5.0, 0.0);  // 5, within the tolerance
    CHECK(rows_left(nearly, 5, 0) == times{0});
    CHECK(rows_left(5, nearly, 0) == times{0});
    constexpr double large = 0x1p53;  // from here on a sum may be less than it is: 5 and 2^53 + 1
    CHECK(rows_left(5, large + 4, large) == times{0, 1});
    CHECK(rows_left(5, 1.1 * large, large) == times{0});
  }
  TEST_CASE("usage that no labeling can keep is found") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{0, 0});
    builder.add_row({-std::numeric_limits<double>::infinity(), 1, 0, 0});
    builder.add_segment(0, {0, 1, {2, 3}});
    working p(builder.build());
    CHECK_FALSE(usage_of(p).tidy());
    sw::compact_builder<double> low;
    low.add_variable(std::vector<double>{0, 0});
    low.add_row({4, 9, 0, 0});
    low.add_segment(0, {0, 1, {2, 3}});
    working q(low.build());
    CHECK_FALSE(usage_of(q).tidy());
  }
  TEST_CASE("labels that some row has no room for go, exactly those that the definition names") {
    CHECK(try_rule(with_rows, [](working& p, usage_of&) {
            std::size_t expected = 0;
            for (const auto& v : p.variables)
              for (sw::strategy l = 0; l < v.unary.size(); ++l)
                expected += std::any_of(v.segments.begin(), v.segments.end(), [&](const sw::usage_segment& s) {
                  return std::any_of(p.rows.begin() + s.begin, p.rows.begin() + s.end,
                                     [&](const sw::usage_row& row) { return s.usage[l] > row.high + 1e-6; });
                });
            sw::detail::drop_oversized<double> rule(p);
            REQUIRE(rule());
            CHECK(rule.removed == expected);
            return rule.removed;
          }) > 30);
  }
  TEST_CASE("a variable with one label is absorbed") {
    CHECK(try_rule(with_rows, [](working& p, usage_of& usage) {
            sw::detail::absorb_single<double> rule{p, usage};
            for_every_variable(p, rule);
            return rule.settled;
          }) > 200);
  }
  TEST_CASE("a variable that a neighbour determines follows it, with its usage") {
    shardweave_test::small_shape paired = with_rows;
    paired.paired = 0.5;
    CHECK(try_rule(paired, [](working& p, usage_of&) {
            sw::detail::follow_neighbour<double> rule{p};
            for_every_variable(p, rule);
            return rule.merged;
          }) > 50);
    using rule = sw::detail::follow_neighbour<double>;
    constexpr double no = sw::forbidden<double>;
    CHECK(rule::allows_one_row(*shardweave_test::table_of<double>(2, 3, {1, no, 3, no, 2, no})));
    CHECK_FALSE(rule::allows_one_row(*shardweave_test::table_of<double>(3, 2, {1, no, 1, no, no, 2})));  // equal rows
    CHECK_FALSE(rule::allows_one_row(*shardweave_test::table_of<double>(2, 2, {1, no, no, no})));
  }
  TEST_CASE("leaves and isolated variables are minimised out where usage allows it") {
    for (const auto& shape : {with_rows, without_rows})
      CHECK(try_rule(shape, [](working& p, usage_of& usage) {
              sw::detail::remove_leaf<double> rule{p, usage};
              for_every_variable(p, rule);
              return rule.merged + rule.settled;
            }) > 100);
  }
  TEST_CASE("variables between two others become a table, within the limit") {
    CHECK(try_rule(with_rows, [](working& p, usage_of&) {
            sw::detail::remove_between<double> rule{p, 1000};
            for_every_variable(p, rule);
            return rule.eliminated;
          }) > 30);
    CHECK(try_rule(without_rows, [](working& p, usage_of&) {
            sw::detail::remove_between<double> rule{p, 0};
            for_every_variable(p, rule);
            return rule.eliminated;
          }) == 0);
  }
  TEST_CASE("labels without a partner go, and nothing else") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      CAPTURE(seed);
      const auto whole = draw_small<double>(seed, without_rows);
      // forbids label 0, which suits all, at every second variable
      const auto forbid = [](working& q) {
        for (std::uint32_t x = 0; x < q.variables.size(); x += 2)
          if (q.label_count(x) > 1) q.variables[x].unary[0] = sw::forbidden<double>;
      };
      working p(whole), before(whole);
      forbid(p);
      forbid(before);
      sw::detail::drop_inconsistent<double> rule(p);
      std::vector<std::uint32_t> all(p.variables.size());
      std::iota(all.begin(), all.end(), 0U);
      if (!rule(all)) {
        CHECK_FALSE(brute_optimum_of(std::move(before).finish().first).has_value());
        continue;
      }
      std::size_t labels = 0;
      for (std::uint32_t x = 0; x < p.variables.size(); ++x) {
        labels += before.label_count(x) - p.label_count(x);
        for (std::size_t l = 0; l < p.label_count(x); ++l) {
          CHECK_FALSE(sw::is_forbidden(p.variables[x].unary[l]));
          for (const auto& [y, t] : p.variables[x].edges) {
            bool partner = false;
            for (std::size_t b = 0; b < t->columns(); ++b) partner = partner || !sw::is_forbidden((*t)(l, b));
            CHECK(partner);
          }
        }
      }
      CHECK(labels == rule.removed);
      CHECK(brute_optimum_of(std::move(before).finish().first) == brute_optimum_of(std::move(p).finish().first));
    }
  }
  TEST_CASE("dominated labels go, exactly those that the definition names") {
    const sw::solve_control unlimited;
    const sw::deadline limit(unlimited);
    const auto apply = [&](working& p, usage_of& usage) {
      sw::detail::drop_dominated<double> rule(p, usage, 400, 1'000'000);
      for_every_variable(p, [&](std::uint32_t x) { rule(x, limit); });
      // no label that is left is dominated by another: checked entry by entry
      for (std::uint32_t x = 0; x < p.variables.size(); ++x) {
        auto& v = p.variables[x];
        rule(x, limit);  // neighbours may have shrunk since
        const auto k = static_cast<sw::strategy>(v.unary.size());
        for (sw::strategy both = 0; both < k * k; ++both) {
          const sw::strategy a = both / k, b = both % k;
          if (a == b) continue;
          double excess = v.unary[a] - v.unary[b];
          for (const auto& [y, t] : v.edges) {
            double most = -std::numeric_limits<double>::infinity();
            for (std::size_t c = 0; c < t->columns(); ++c)
              if (!sw::is_forbidden((*t)(b, c))) most = std::max(most, (*t)(a, c) - (*t)(b, c));
            excess += most;
          }
          const bool no_more_usage = usage.uses_no_more(v.segments, a, b);
          CHECK_FALSE((excess <= 0 && no_more_usage));
        }
      }
      return rule.removed;
    };
    CHECK(try_rule(with_rows, apply) > 100);
    CHECK(try_rule(without_rows, apply) > 200);
  }
  TEST_CASE("dominance stops at its limits") {
    const sw::solve_control unlimited;
    const sw::deadline limit(unlimited);
    for (const auto& [labels, work] : {std::pair<std::size_t, std::size_t>{1, 1000}, {400, 0}}) {
      const auto whole = draw_small<double>(3, {.variables = 6, .most_labels = 4, .density = 1});
      working p(whole);
      usage_of usage(p);
      sw::detail::drop_dominated<double> rule(p, usage, labels, work);
      for_every_variable(p, [&](std::uint32_t x) { rule(x, limit); });
      if (labels == 1) CHECK(rule.removed == 0);
      check_equivalent(whole, std::move(p));
    }
  }
}

TEST_SUITE("reduction") {
  TEST_CASE("the kernel has the same optimum, is arc consistent, and lifts with its cost and usage") {
    std::size_t smaller = 0, left = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      CAPTURE(seed);
      const auto whole = draw_small<double>(seed, {.variables = 6,
                                                   .most_labels = 3,
                                                   .density = 0.6,
                                                   .forbidden = seed % 2 == 0 ? 0.3 : 0.0,
                                                   .rows = static_cast<std::uint32_t>(seed % 7),
                                                   .lower_limits = seed % 3 == 0 ? 0.3 : 0.0});
      const sw::reduction<double> r(whole);
      REQUIRE_FALSE(r.is_infeasible());
      const auto& kernel = r.kernel();
      smaller += kernel.total_labels() < whole.total_labels();
      left += kernel.size() > 0;
      CHECK(brute_optimum_of(kernel) == brute_optimum_of(whole));
      CHECK(r.counts().rows == whole.rows().size() - kernel.rows().size());
      for (const auto& e : kernel.edges()) {
        const auto& t = kernel.table(e);
        for (std::size_t i = 0; i < t.row_classes(); ++i)
          CHECK(sw::class_costs(t).row(static_cast<long>(i)).minCoeff() < 1e9);
        for (std::size_t j = 0; j < t.column_classes(); ++j)
          CHECK(sw::class_costs(t).col(static_cast<long>(j)).minCoeff() < 1e9);
      }
      shardweave_test::for_all_labelings<double>(kernel, [&](const label_list& labels) {
        const label_list lifted = r.lift(labels);
        const auto inside = naive_cost(kernel, labels);
        if (!inside) return;
        CHECK(naive_cost(whole, lifted) == inside);
        CHECK(naive_rows(whole, lifted) == naive_rows(kernel, labels));
      });
    }
    CHECK(smaller > 290);
    CHECK(left > 30);
  }
  TEST_CASE(
      "noted steps tell each label that another one dominates, which is still there, and the same kernel is left") {
    std::size_t noted = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      CAPTURE(seed);
      const auto whole = draw_small<double>(seed, with_rows);
      const sw::reduction<double> plain(whole), told(whole, {.notes = true});
      REQUIRE(told.is_infeasible() == plain.is_infeasible());
      if (told.is_infeasible()) continue;
      std::vector<char> is_there(whole.size(), 1), gone(whole.total_labels());
      std::size_t dominated = 0, removed = 0;
      for (const auto& step : told.steps()) {
        for (const std::uint32_t x : step.variables) CHECK(is_there[x] == 1);
        const std::uint32_t x = step.variables.front();
        if (step.dominated) {
          ++dominated;
          CHECK(step.variables.size() == 1);
          CHECK(gone[whole.label_start(x) + step.dominated->removed] == 0);
          CHECK(gone[whole.label_start(x) + step.dominated->by] == 0);
          gone[whole.label_start(x) + step.dominated->removed] = 1;
        } else {
          ++removed;
          is_there[x] = 0;
        }
      }
      CHECK(dominated == told.counts().dominated);
      CHECK(removed == plain.steps().size());  // no label is told of
      CHECK(told.kernel().total_labels() == plain.kernel().total_labels());
      for (const auto& [x, labels] : told.origin()) {
        CHECK(is_there[x] == 1);
        for (const sw::strategy l : labels) CHECK(gone[whole.label_start(x) + l] == 0);
      }
      noted += dominated;
    }
    CHECK(noted > 100);
  }
  TEST_CASE("what is small beside usage of another budget is no rounding") {
    std::size_t feasible = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed * 2 + 1);
      sw::compact_builder<double> builder;
      constexpr double infinity = std::numeric_limits<double>::infinity();
      sw::usage_row bytes{.high = 1e13, .budget = 0}, parts{.budget = 1};
      for (std::uint32_t x = 0; x < 4; ++x) {
        builder.add_variable(std::vector<double>{static_cast<double>(random.below(9)), 2, 5});
        const auto of_parts = [&] { return static_cast<double>(random.below(9)) / 2; };
        sw::usage_segment some{2, 3, {of_parts(), of_parts(), of_parts()}};
        parts.high = (x == 0 ? 0 : parts.high) + some.usage[0];
        const auto of_bytes = [&] { return std::floor(4e12 * random.unit()) + 0.25; };
        for (std::uint32_t r = static_cast<std::uint32_t>(random.below(2)); r < 2; ++r)
          builder.add_segment(x, {r, 2, {of_bytes(), of_bytes(), of_bytes()}});
        builder.add_segment(x, std::move(some));
      }
      parts.low = random.chance(0.5) ? parts.high : -infinity;
      builder.add_row(bytes);
      builder.add_row(bytes);
      builder.add_row(parts);
      const auto whole = builder.build();
      const auto best = brute_optimum_of(whole);
      const sw::reduction<double> r(whole);
      if (r.is_infeasible()) {
        CHECK_FALSE(best.has_value());
        continue;
      }
      feasible += best.has_value();
      CHECK(brute_optimum_of(r.kernel()) == best);
      shardweave_test::for_all_labelings<double>(r.kernel(), [&](const label_list& labels) {
        CHECK(naive_rows(whole, r.lift(labels)) == naive_rows(r.kernel(), labels));
      });
    }
    CHECK(feasible > 100);
  }
  TEST_CASE("whole numbers near the largest cost do not overflow") {
    constexpr std::int64_t no = sw::forbidden<std::int64_t>;
    constexpr std::int64_t big = std::numeric_limits<std::int64_t>::max() / 16;
    sw::compact_builder<std::int64_t> builder;
    for (int x = 0; x < 4; ++x) builder.add_variable(std::vector<std::int64_t>{big, 0, -big});
    for (std::uint32_t x = 1; x < 4; ++x)
      builder.add_edge(x - 1, x,
                       shardweave_test::table_of<std::int64_t>(3, 3, {0, big, no, big, 0, no, no, big, -big}));
    builder.add_edge(0, 3, shardweave_test::table_of<std::int64_t>(3, 3, {1, no, 3, no, 5, 6, big, 8, no}));
    const auto whole = builder.build();
    const sw::reduction<std::int64_t> r(whole);
    REQUIRE_FALSE(r.is_infeasible());
    CHECK(brute_optimum_of(r.kernel()) == brute_optimum_of(whole));
  }
  TEST_CASE("a stop leaves a correct problem, only larger") {
    std::stop_source source;
    source.request_stop();
    sw::solve_control control;
    control.stop = source.get_token();
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const auto whole = draw_small<double>(seed, with_rows);
      const sw::reduction<double> r(whole, {}, control);
      REQUIRE_FALSE(r.is_infeasible());
      CHECK(r.counts().merged == 0);
      CHECK(brute_optimum_of(r.kernel()) == brute_optimum_of(whole));
    }
  }
}

}  // namespace reduction_tests
