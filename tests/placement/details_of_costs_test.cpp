#include "placement/problems_with_savings.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/detail/budget_rows.hpp>
#include <shardweave/placement/detail/domains.hpp>
#include <shardweave/placement/detail/equal_lines.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/placement/restrict.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace details_of_costs_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;
using labels_of_all = std::vector<sw::strategy>;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Calls f for every labeling.
template <class Cost, class F>
void for_every_labeling(const sw::compact_problem<Cost>& p, F f) {
  labels_of_all labels(p.size(), 0);
  for (;;) {
    f(std::as_const(labels));
    std::size_t x = 0;
    while (x < labels.size() && ++labels[x] == p.label_count(x)) labels[x++] = 0;
    if (x == labels.size()) return;
  }
}

/// Terms of a budget that live now and then, some of them always and some never.
std::vector<sw::budget_term> draw_budget_terms(sw::random_source& random) {
  std::vector<sw::budget_term> terms(random.below(7));
  for (std::uint32_t v = 0; v < terms.size(); ++v) {
    terms[v].vertex = v;
    terms[v].usage = {static_cast<double>(random.below(9))};
    if (random.chance(0.2)) continue;
    const auto first = static_cast<std::int64_t>(random.below(8)) - 3;
    terms[v].live = sw::live_interval{first, first + static_cast<std::int64_t>(random.below(5))};
  }
  return terms;
}

/// The terms that live at a time.
std::set<std::uint32_t> living_at(std::span<const sw::budget_term> terms, std::int64_t t) {
  std::set<std::uint32_t> alive;
  for (std::uint32_t i = 0; i < terms.size(); ++i)
    if (!terms[i].live || (terms[i].live->first <= t && t < terms[i].live->end)) alive.insert(i);
  return alive;
}

/// Two variables of two labels that share two rows.
sw::compact_problem<double> two_on_two_rows() {
  sw::compact_builder<double> builder;
  for (int x = 0; x < 2; ++x) builder.add_variable(std::vector<double>{1, 2});
  builder.add_row({2, 6, 0, 0});
  builder.add_row({-infinite, 6, 0, 1});
  builder.add_row({-infinite, infinite, 0, 2});
  builder.add_segment(0, {0, 2, {1, 4}});
  builder.add_segment(1, {1, 3, {0, 4}});
  builder.add_edge(0, 1,
                   std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(
                       2, 2, std::vector<double>{0, 5, 7, sw::forbidden<double>})));
  return builder.build();
}

}  // namespace

TEST_SUITE("cost_table") {
  TEST_CASE_TEMPLATE("least and most of a table are those of its entries", Cost, double, float, std::int64_t) {
    std::size_t forbidden = 0, blocked = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {  // quick, and few tables allow nothing
      sw::random_source random(seed);
      const std::size_t rows = 1 + random.below(6), columns = 1 + random.below(6);
      const double share = seed % 3 == 0 ? 0.0 : seed % 3 == 1 ? 0.2 : 0.8;
      std::vector<Cost> entries(rows * columns);
      for (Cost& c : entries)
        c = random.chance(share) ? sw::forbidden<Cost> : static_cast<Cost>(static_cast<double>(random.below(9)) - 4);
      const auto t = sw::cost_table<Cost>::from_entries(rows, columns, entries);
      CHECK(t.least() == *std::min_element(entries.begin(), entries.end()));
      CHECK(t.most() == *std::max_element(entries.begin(), entries.end()));
      forbidden += sw::is_forbidden(t.most()) ? 1U : 0U;
      blocked += sw::is_forbidden(t.least()) ? 1U : 0U;
    }
    CHECK(forbidden > 60);
    CHECK(blocked > 0);
  }

  TEST_CASE_TEMPLATE("padding never counts as a cost", Cost, double, std::int64_t) {
    // five columns take eight places; the greatest cost is far below what fills the rest
    const std::vector<Cost> entries{-9, -8, -7, -6, -5};
    const auto t = sw::cost_table<Cost>::from_entries(1, 5, entries);
    CHECK(t.stride() == 8);
    CHECK(t.least() == -9);
    CHECK(t.most() == -5);
  }

  TEST_CASE("classes that are to stay apart do so whatever they cost, and else are merged") {
    const auto cost = [](std::size_t, std::size_t) { return 1.0; };
    const std::vector<std::uint32_t> rows{0, 1, 0}, columns{1, 0};
    const auto apart = sw::cost_table<double>::from_distinct_classes(rows, columns, 2, 3, cost);
    CHECK(apart.row_classes() == 2);
    CHECK(apart.column_classes() == 3);  // one of them is nobody's
    CHECK(apart.row_class(1) == 1);
    CHECK(apart.column_class(0) == 1);
    CHECK(apart(2, 1) == 1.0);
    CHECK(sw::is_forbidden(apart.class_row(0)[3]));
    const auto merged = sw::cost_table<double>::from_classes(rows, columns, 2, 3, cost);
    CHECK(merged.row_classes() == 1);
    CHECK(merged.column_classes() == 1);
    CHECK_FALSE(apart == merged);
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 2; ++b) CHECK(apart(a, b) == merged(a, b));
  }
}

TEST_SUITE("detail::pair_up") {
  TEST_CASE("pairs of classes are numbered in the order in which they first come") {
    sw::random_source random(3);
    for (int round = 0; round < 50; ++round) {
      const std::size_t n = random.below(30), x_classes = 1 + random.below(6), y_classes = 1 + random.below(6);
      std::vector<std::uint32_t> x(n), y(n), joint;
      for (auto& c : x) c = static_cast<std::uint32_t>(random.below(x_classes));
      for (auto& c : y) c = static_cast<std::uint32_t>(random.below(y_classes));
      const auto pairs = sw::detail::pair_up(x, x_classes, y, y_classes, joint);
      std::vector<std::pair<std::uint32_t, std::uint32_t>> first;  // the definition: a search through all before
      REQUIRE(joint.size() == n);
      for (std::size_t i = 0; i < n; ++i) {
        const auto at = std::find(first.begin(), first.end(), std::pair(x[i], y[i]));
        CHECK(joint[i] == static_cast<std::size_t>(at - first.begin()));
        if (at == first.end()) first.emplace_back(x[i], y[i]);
      }
      CHECK(pairs == first);
    }
  }
}

TEST_SUITE("detail::table_support") {
  TEST_CASE("a table is told by its rows and columns without an allowed entry") {
    sw::random_source random(5);
    for (int round = 0; round < 200; ++round) {
      const std::size_t rows = 1 + random.below(3), columns = 1 + random.below(3);
      std::vector<double> entries(rows * columns);
      for (double& c : entries) c = random.chance(0.5) ? infinite : static_cast<double>(random.below(2));
      const sw::detail::table_support support(sw::cost_table<double>::from_entries(rows, columns, entries));
      bool of_rows = true, of_columns = true;
      for (std::size_t i = 0; i < rows; ++i) {
        bool any = false;
        for (std::size_t j = 0; j < columns; ++j) any |= entries[i * columns + j] < infinite;
        of_rows &= any;
      }
      for (std::size_t j = 0; j < columns; ++j) {
        bool any = false;
        for (std::size_t i = 0; i < rows; ++i) any |= entries[i * columns + j] < infinite;
        of_columns &= any;
      }
      CHECK(support.forbids == (std::count(entries.begin(), entries.end(), infinite) > 0));
      CHECK(support.of_rows == of_rows);
      CHECK(support.of_columns == of_columns);
    }
  }
}

TEST_SUITE("detail::budget_rows") {
  TEST_CASE("whatever holds at the binding times holds always, and no time among them is implied by another") {
    std::size_t several = 0;
    for (std::uint64_t seed = 0; seed < at_scale(400); ++seed) {
      sw::random_source random(seed);
      const auto terms = draw_budget_terms(random);
      const auto times = sw::detail::binding_times(terms);
      several += times.size() > 1 ? 1U : 0U;
      CHECK(std::is_sorted(times.begin(), times.end()));
      std::vector<std::set<std::uint32_t>> binding;
      for (const std::int64_t t : times) binding.push_back(living_at(terms, t));
      for (std::size_t i = 0; i < times.size(); ++i)
        for (std::size_t j = 0; j < times.size(); ++j)
          if (i != j)
            CHECK_FALSE(std::includes(binding[i].begin(), binding[i].end(), binding[j].begin(), binding[j].end()));
      const auto always = living_at(terms, -100);
      for (std::int64_t t = -5; t < 12; ++t) {
        const auto alive = living_at(terms, t);
        if (alive == always) continue;  // nothing lives that does not live always
        CHECK(std::any_of(binding.begin(), binding.end(), [&](const auto& set) {
          return std::includes(set.begin(), set.end(), alive.begin(), alive.end());
        }));
      }
    }
    CHECK(several > at_scale(100));
  }

  TEST_CASE("rows of a budget stand for its times, and a term covers those at which it lives") {
    for (std::uint64_t seed = 0; seed < at_scale(200); ++seed) {
      sw::random_source random(seed);
      std::vector<sw::budget> budgets(1 + random.below(3));
      for (sw::budget& b : budgets) {
        b.low = -static_cast<double>(random.below(3));
        b.high = static_cast<double>(random.below(30));
        b.terms = draw_budget_terms(random);
      }
      const auto result = sw::detail::rows_of(budgets);
      CHECK(std::ranges::is_sorted(result.ranges, {}, &sw::detail::row_range::budget));
      std::vector<bool> seen(budgets.size());
      for (std::size_t r = 0; r < result.rows.size(); ++r) {
        const sw::usage_row& row = result.rows[r];
        REQUIRE(row.budget < budgets.size());
        seen[row.budget] = true;
        CHECK(row.low == budgets[row.budget].low);
        CHECK(row.high == budgets[row.budget].high);
        if (r > 0)
          CHECK(std::pair(result.rows[r - 1].budget, result.rows[r - 1].time) < std::pair(row.budget, row.time));
        const auto& terms = budgets[row.budget].terms;
        const bool timed = !sw::detail::binding_times(terms).empty();
        const auto alive = living_at(terms, timed ? row.time : -100);
        std::set<std::uint32_t> covering;
        for (const auto& range : result.ranges)
          if (range.begin <= r && r < range.end) {
            CHECK(range.budget == row.budget);
            CHECK(covering.insert(range.term).second);
          }
        CHECK(covering == alive);
      }
      for (const bool has_row : seen) CHECK(has_row);
    }
  }
}

TEST_SUITE("restriction") {
  TEST_CASE("labels that are asked away by their position are those that are forbidden one by one") {
    problems_with_savings::for_each(at_scale(400), [&](const auto& problem, sw::random_source& random) {
      const auto& p = problem.compact();
      std::vector<bool> goes(p.total_labels());
      std::size_t expected = 0;
      sw::restriction<std::int64_t> at_once(p), one_by_one(p);
      for (std::size_t x = 0; x < p.size(); ++x)
        for (sw::strategy l = 0; l < p.label_count(x); ++l)
          if (random.chance(0.25)) {
            goes[p.label_start(x) + l] = true;
            ++expected;
            one_by_one.forbid(x, l);
          }
      CHECK(at_once.forbid_if([&](std::size_t label) { return goes[label]; }) == expected);
      const auto a = at_once.build(), b = one_by_one.build();
      REQUIRE(a.has_value() == b.has_value());
      if (!a) return;
      CHECK(a->kept == b->kept);
      CHECK(a->open == b->open);
      CHECK(a->row_of == b->row_of);
      for (std::size_t x = 0; x < p.size(); ++x)
        for (const sw::strategy l : a->kept[x]) CHECK_FALSE(goes[p.label_start(x) + l]);
    });
  }

  TEST_CASE("with savings every labeling that is left has the objective that it has in the whole") {
    std::size_t compared = 0, saved = 0;
    problems_with_savings::for_each(at_scale(400), [&](const auto& problem, sw::random_source& random) {
      const auto& p = problem.compact();
      if (problem.savings() == nullptr) return;
      sw::restriction<std::int64_t> some(p);
      some.with_savings(problem);
      some.forbid_if([&](std::size_t) { return random.chance(0.25); });
      const auto left = some.build();
      if (!left) return;
      for_every_labeling(left->problem.compact(), [&](const labels_of_all& labels) {
        const labels_of_all whole = left->lift(labels);
        const auto objective = left->problem.objective(labels);
        CHECK(objective == problem.objective(whole));
        CHECK(left->problem.compact().keeps_rows(labels) == p.keeps_rows(whole));
        ++compared;
        if (!sw::is_forbidden(objective) && objective < p.cost(whole)) ++saved;
      });
    });
    CHECK(compared > at_scale(1000));
    CHECK(saved > at_scale(200));
  }

  TEST_CASE("labels that are left have a partner over every edge, and none with partners goes") {
    std::size_t followed = 0;
    problems_with_savings::for_each(at_scale(400), [&](const auto& problem, sw::random_source& random) {
      const auto& p = problem.compact();
      sw::restriction<std::int64_t> some(p);
      std::vector<bool> goes(p.total_labels());
      for (std::size_t l = 0; l < goes.size(); ++l) goes[l] = random.chance(0.25);
      some.forbid_if([&](std::size_t label) { return goes[label]; });
      const auto left = some.build();
      if (!left) return;
      const auto is_kept = [&](std::size_t x, sw::strategy l) {
        return std::find(left->kept[x].begin(), left->kept[x].end(), l) != left->kept[x].end();
      };
      for (std::size_t x = 0; x < p.size(); ++x)
        for (sw::strategy l = 0; l < p.label_count(x); ++l) {
          bool has_partners = true;
          for (const sw::compact_link& link : p.links(x)) {
            bool met = false;
            for (const sw::strategy k : left->kept[link.other]) met = met || !sw::is_forbidden(p.link_cost(link, l, k));
            has_partners = has_partners && met;
          }
          CHECK(is_kept(x, l) == (has_partners && !goes[p.label_start(x) + l]));
          followed += !has_partners && !goes[p.label_start(x) + l] ? 1U : 0U;
        }
    });
    CHECK(followed > at_scale(5));
  }
}

TEST_SUITE("labeling_state") {
  TEST_CASE("a row beyond its limits may be pushed back, but no row further away") {
    const auto p = two_on_two_rows();
    struct fit_case {
      labels_of_all labels;
      sw::relabel move;
      bool fits;
    };
    // rows are used by 1 or 4, by 1 or 4 and 0 or 4, and by 0 or 4; they allow 2 to 6, up to 6, and anything
    const fit_case cases[] = {{{0, 0}, {0, 1}, true},   // mends the lower limit of the first
                              {{1, 0}, {0, 0}, false},  // breaks it
                              {{0, 0}, {1, 1}, true},   // does not touch it
                              {{1, 0}, {1, 1}, false},  // eight in the second
                              {{0, 1}, {0, 1}, false},  // likewise, though it would mend the first
                              {{1, 1}, {1, 0}, true},   // pushes back
                              {{1, 1}, {0, 0}, false},  // pushes back the second and breaks the first
                              {{1, 1}, {0, 1}, true}};  // nothing changes
    for (const fit_case& c : cases) {
      const sw::labeling_state<double> state(p, c.labels);
      CAPTURE(c.labels[0]);
      CAPTURE(c.labels[1]);
      CAPTURE(c.move.variable);
      CHECK(state.fits(c.move.variable, c.move.label) == c.fits);
    }
  }

  TEST_CASE("rows that a move changes are visited once, in order, with what they use before and after") {
    const auto p = two_on_two_rows();
    const sw::labeling_state<double> state(p, {0, 1});
    std::vector<std::vector<double>> visits;
    const auto note = [&](std::uint32_t r, double before, double after) {
      visits.push_back({static_cast<double>(r), before, after});
    };
    const sw::relabel first[] = {{0, 1}}, both[] = {{0, 1}, {1, 0}}, none[] = {{0, 0}};
    state.for_each_row(first, note);
    CHECK(visits == std::vector<std::vector<double>>{{0, 1, 4}, {1, 5, 8}});
    visits.clear();
    state.for_each_row(both, note);
    CHECK(visits == std::vector<std::vector<double>>{{0, 1, 4}, {1, 5, 4}, {2, 4, 0}});
    visits.clear();
    state.for_each_row(none, note);
    CHECK(visits.empty());
  }

  TEST_CASE("how far a usage is beyond its limits is told within the tolerance of budgets") {
    const auto p = two_on_two_rows();
    sw::labeling_state<double> state(p, {0, 0});
    CHECK(state.excess(0) == 1);  // one less than two
    CHECK_FALSE(state.keeps_rows());
    CHECK(state.excess_of(1, 6) == 0);
    CHECK(state.excess_of(1, 6.0000004) == 0);
    CHECK(state.excess_of(1, 6.5) == doctest::Approx(0.5));
    CHECK(state.excess_of(1, -1e9) == 0);
    CHECK(state.excess_of(2, 1e12) == 0);
    state.apply(0, 1);
    CHECK(state.keeps_rows());
    CHECK(state.cost() == 2 + 1 + 7);
    CHECK(state.delta(1, 1) == sw::move_price<double>{1 - 7.0, 1});
    state.apply(1, 1);
    CHECK(state.conflicts() == 1);
    CHECK(sw::is_forbidden(state.cost()));
    CHECK(state.excess(1) == 2);
    const sw::relabel back[] = {{0, 0}, {1, 0}};
    CHECK(state.delta(back) == sw::move_price<double>{2 - 4.0, -1});
    state.apply(back);
    CHECK(state.cost() == 2);
    CHECK(state.conflicts() == 0);
  }
}

}  // namespace details_of_costs_tests
