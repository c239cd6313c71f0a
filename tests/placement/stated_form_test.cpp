#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace stated_form_tests {
namespace {

namespace sw = shardweave;

/// What strategies of the unknowns cost by the form's lists and tables, and whether they keep its rows.
std::optional<std::int64_t> cost_in_form(const sw::stated_form<std::int64_t>& form,
                                         const sw::placement_description<std::int64_t>& d,
                                         const std::vector<sw::strategy>& of) {
  std::int64_t total = 0;
  const auto left = form.all_left();
  const auto add = [&](const sw::counted_table<std::int64_t>& t, sw::strategy a, sw::strategy b) {
    const std::int64_t cost = t.at(a, b);
    if (!sw::is_forbidden(cost)) total += t.times * cost;
    return !sw::is_forbidden(cost);
  };
  for (std::uint32_t x = 0; x < form.size(); ++x) {
    if (left[x][of[x]] == 0) return std::nullopt;
    for (const auto& l : form.lists(x)) total += l.times * l.costs[of[x]];
    for (const auto& t : form.diagonals(x)) add(t, of[x], of[x]);
  }
  for (const auto& pair : form.pairs())
    for (const auto& t : form.tables()[pair.table].terms)
      if (!add(t, of[pair.first], of[pair.second])) return std::nullopt;
  for (const sw::usage_row& row : form.rows()) {
    double used = 0;
    for (const auto& usage :
         {form.usage<double>(d.constraints.budgets[row.budget], row.time, [](double u) { return u; })})
      for (std::uint32_t x = 0; x < form.size(); ++x)
        if (!usage[x].empty()) used += usage[x][of[x]];
    if (used > row.high + 1e-6 || used < row.low - 1e-6) return std::nullopt;
  }
  return total;
}

}  // namespace

TEST_SUITE("stated_form") {
  TEST_CASE("every assignment costs in the form what it costs as stated, and is allowed in both or neither") {
    std::size_t tried = 0, feasible = 0, ruled_out = 0;
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(400); ++seed) {
      CAPTURE(seed);
      const auto stated =
          shardweave_test::draw_problem<std::int64_t>(seed, {.max_vertices = 5, .max_assignments = 200});
      const auto& d = stated.description;
      const sw::stated_form<std::int64_t> form(d);
      auto kept = form.all_left();
      form.propagate(kept);
      std::vector<sw::strategy> of(form.size()), choice(d.vertices.size());
      const auto visit = [&](const auto& self, std::uint32_t x) -> void {
        if (x < form.size()) {
          for (of[x] = 0; of[x] < form.strategies(x); ++of[x]) self(self, x + 1);
          return;
        }
        for (std::uint32_t v = 0; v < choice.size(); ++v) choice[v] = of[form.unknown_of(v)];
        const auto expected = shardweave_test::price_of(stated, choice);
        REQUIRE(cost_in_form(form, d, of) == expected);
        bool all_kept = true;
        for (std::uint32_t y = 0; y < of.size(); ++y) all_kept = all_kept && kept[y][of[y]] != 0;
        if (expected) REQUIRE(all_kept);
        ++tried;
        feasible += expected ? 1U : 0U;
        ruled_out += all_kept ? 0U : 1U;
      };
      visit(visit, 0);
    }
    CHECK(tried > shardweave_test::at_scale(8'000));
    CHECK(feasible > tried / 20);
    CHECK(ruled_out > tried / 20);
  }

  TEST_CASE("tied vertices are one unknown, tables between two are one, and what has no partner goes") {
    sw::placement_description<double> d;
    d.vertices = {{.name = "a", .compute = {1, 2}}, {.name = "b", .compute = {4, 1}}, {.name = "c", .compute = {0, 7}}};
    d.tables.push_back(std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(2, 2, std::vector<double>{0, 3, 3, 0})));
    d.edges.push_back({.from = 0, .to = 1, .communication = 0});
    d.constraints.budgets.push_back({.name = "memory", .high = 6, .terms = {{0, {4, 1}, {}}, {1, {1, 5}, {}}}});
    d.tables.push_back(std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(
        2, 2, std::vector<double>{std::numeric_limits<double>::infinity(), 2, 1, 5})));
    d.edges.push_back({.from = 1, .to = 2, .transition = 1});
    d.constraints.ties.push_back({.vertices = {2, 0}});
    const sw::stated_form<double> form(d);
    REQUIRE(form.size() == 2);
    CHECK(form.unknown_of(2) == 0);
    CHECK(form.first_vertex(1) == 1);
    REQUIRE(form.pairs().size() == 1);
    CHECK(form.pair_between(0, 1) == 0);
    CHECK(form.tables()[0].terms.size() == 2);
    auto left = form.all_left();
    left[0][1] = 0;  // c = 0, which b = 0 may not meet
    form.propagate(left, {0});
    CHECK(left[1] == std::vector<char>{0, 1});
    left[1][1] = 0;
    form.propagate(left, {1});
    CHECK(left[0] == std::vector<char>{0, 0});
    CHECK(form.rows().size() == 1);
  }

  TEST_CASE("costs in place of a problem's own count by their factors, its own only by what they forbid") {
    sw::placement_description<std::int64_t> d;
    d.vertices = {{.compute = {100, sw::forbidden<std::int64_t>}}, {.compute = {100, 100}}};
    const std::vector<std::int64_t> instead{5, 6};
    const auto table = sw::cost_table<std::int64_t>::from_entries(2, 2, std::vector<std::int64_t>{1, 2, 3, 4});
    sw::costs_in_place<std::int64_t> other;
    other.bits = 3;
    other.vertices = {{.vertex = 1, .costs = instead, .times = 8}};
    other.edges = {{.from = 1, .to = 0, .table = &table, .times = 2},
                   {.from = 1, .to = 0, .table = &table, .times = 3}};
    const sw::stated_form<std::int64_t> form(d, &other);
    CHECK(form.bits() == 3);
    CHECK(form.all_left() == sw::strategies_left{{1, 0}, {1, 1}});
    CHECK(cost_in_form(form, d, {0, 1}) == 8 * 6 + 5 * 3);  // row 1 of the table: the edge begins at the second vertex
    CHECK(cost_in_form(form, d, {0, 0}) == 8 * 5 + 5 * 1);
    CHECK(form.tables()[0].terms.size() == 1);
  }

  TEST_CASE("ties of vertices with different numbers of strategies are refused by name") {
    sw::placement_description<double> d;
    d.vertices = {{.name = "a", .compute = {1, 2}}, {.name = "b", .compute = {4}}};
    d.constraints.ties.push_back({.vertices = {0, 1}});
    CHECK_THROWS_WITH_AS(sw::stated_form<double>{d}, doctest::Contains("with 2 strategies to "), sw::error);
  }

  TEST_CASE("sums of tables do not depend on where these are stored") {
    sw::random_source random(3);
    const auto draw = [&] { return static_cast<double>(random.below(1U << 30)) * 0.1; };
    for (int i = 0; i < 100; ++i) {
      using table = sw::cost_table<double>;
      std::vector<table> stored;
      for (int t = 0; t < 3; ++t) stored.push_back(table::from_entries(1, 1, std::vector<double>{draw()}));
      std::vector<table> turned(stored.rbegin(), stored.rend());
      const auto sum = [](const std::vector<table>& tables, bool is_turned) {
        sw::placement_description<double> d;
        d.vertices = {{.compute = {0}}, {.compute = {0}}};
        for (std::uint32_t t = 0; t < 3; ++t) {
          d.tables.push_back({std::shared_ptr<void>(), &tables[is_turned ? 2 - t : t]});
          d.edges.push_back({.from = 0, .to = 1, .communication = t});
        }
        return sw::stated_form<double>(d).cost_of_pair(0, 0, 0);
      };
      CHECK(sum(stored, false) == sum(turned, true));
    }
  }
}

}  // namespace stated_form_tests
