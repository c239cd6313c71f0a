#include <shardweave/core/random.hpp>
#include <shardweave/placement/compact_problem.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace compact_problem_tests {
namespace {

using labels_t = std::vector<sw::strategy>;

/// What was told to a builder, kept as plain numbers.
template <class Cost>
struct told_problem {
  Cost constant{};
  std::vector<std::vector<Cost>> unary;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Cost>> pairs;  ///< row by row
  std::vector<sw::usage_row> rows;
  std::vector<std::pair<std::uint32_t, sw::usage_segment>> segments;  ///< with their variables

  [[nodiscard]] Cost cost(const labels_t& labels) const {
    Cost total = constant;
    bool any_forbidden = false;
    const auto add = [&](Cost c) { sw::is_forbidden(c) ? void(any_forbidden = true) : void(total += c); };
    for (std::size_t x = 0; x < unary.size(); ++x) add(unary[x][labels[x]]);
    for (const auto& [ends, entries] : pairs)
      add(entries[labels[ends.first] * unary[ends.second].size() + labels[ends.second]]);
    return any_forbidden ? sw::forbidden<Cost> : total;
  }
  [[nodiscard]] double used(std::uint32_t row, const labels_t& labels) const {
    double sum = 0;
    for (const auto& [x, s] : segments)
      if (s.begin <= row && row < s.end) sum += s.usage[labels[x]];
    return sum;
  }
};

/// Edges in a random order; tables of every kind: that depend on both ends, on one, on none.
template <class Cost>
std::pair<told_problem<Cost>, sw::compact_problem<Cost>> drawn(sw::random_source& random) {
  told_problem<Cost> told;
  sw::compact_builder<Cost> builder;
  const auto n = static_cast<std::uint32_t>(1 + random.below(5));
  const auto number = [&](std::size_t below) { return static_cast<Cost>(random.below(below)); };
  for (std::uint32_t x = 0; x < n; ++x) {
    std::vector<Cost>& costs = told.unary.emplace_back(random.chance(0.1) ? 1 : 2 + random.below(2));
    for (Cost& c : costs) c = number(20);
    CHECK(builder.add_variable(costs) == x);
  }
  for (std::size_t i = random.below(3); i > 0; --i) {
    const auto x = static_cast<std::uint32_t>(random.below(n));
    const auto label = static_cast<sw::strategy>(random.below(told.unary[x].size()));
    const Cost more = number(5);
    builder.add_unary(x, label, more);
    told.unary[x][label] += more;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (std::uint32_t x = 0; x < n; ++x)
    for (std::uint32_t y = x + 1; y < n; ++y)
      if (random.chance(0.6))
        ends.insert(ends.begin() + static_cast<std::ptrdiff_t>(random.below(ends.size() + 1)), {x, y});
  std::map<std::vector<Cost>, std::shared_ptr<const sw::cost_table<Cost>>>
      known;  // by entries, with the shape in front
  for (const auto& [x, y] : ends) {
    const std::size_t rows = told.unary[x].size(), columns = told.unary[y].size();
    const bool by_row = random.chance(0.7), by_column = random.chance(0.7);
    std::vector<Cost> base(9), entries, key{static_cast<Cost>(rows), static_cast<Cost>(columns)};
    for (Cost& c : base) c = by_row && by_column && random.chance(0.1) ? sw::forbidden<Cost> : number(3);
    for (std::size_t a = 0; a < rows; ++a)
      for (std::size_t b = 0; b < columns; ++b) entries.push_back(base[(by_row ? 3 * a : 0) + (by_column ? b : 0)]);
    key.insert(key.end(), entries.begin(), entries.end());
    auto& table = known[key];
    if (table == nullptr)
      table = std::make_shared<const sw::cost_table<Cost>>(sw::cost_table<Cost>::from_entries(rows, columns, entries));
    builder.add_edge(x, y, table);
    told.pairs[{x, y}] = entries;
  }
  told.constant = number(9);
  builder.add_constant(told.constant);
  const auto rows = static_cast<std::uint32_t>(random.below(4));
  for (std::uint32_t r = 0; r < rows; ++r) {
    sw::usage_row row{.budget = r, .time = static_cast<std::int64_t>(r)};
    if (random.chance(0.8)) row.high = static_cast<double>(random.below(20));
    if (random.chance(0.3)) row.low = static_cast<double>(random.below(6));
    told.rows.push_back(row);
    CHECK(builder.add_row(row) == r);
  }
  for (std::size_t i = rows == 0 ? 0 : random.below(8); i > 0; --i) {
    const auto x = static_cast<std::uint32_t>(random.below(n));
    const auto begin = static_cast<std::uint32_t>(random.below(rows));
    sw::usage_segment s{begin, static_cast<std::uint32_t>(begin + 1 + random.below(rows - begin)), {}};
    for (std::size_t l = 0; l < told.unary[x].size(); ++l) s.usage.push_back(static_cast<double>(random.below(9)));
    told.segments.emplace_back(x, s);
    builder.add_segment(x, s);
  }
  return {std::move(told), builder.build()};
}

/// Calls `f` with every labeling.
template <class Cost, class Call>
void for_each_labeling(const told_problem<Cost>& told, const Call& f) {
  labels_t labels(told.unary.size());
  for (;;) {
    f(labels);
    std::size_t x = 0;
    while (x < labels.size() && ++labels[x] == told.unary[x].size()) labels[x++] = 0;
    if (x == labels.size()) return;
  }
}

template <class Cost>
void is_what_was_told() {
  std::size_t edges = 0, folded = 0, broken = 0;
  for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(300); ++seed) {
    CAPTURE(seed);
    sw::random_source random(seed);
    const auto [told, built] = drawn<Cost>(random);
    REQUIRE(built.size() == told.unary.size());
    CHECK(built.rows().size() == told.rows.size());
    std::size_t labels = 0;
    for (std::size_t x = 0; x < built.size(); ++x) {
      CHECK(built.label_count(x) == told.unary[x].size());
      CHECK(built.label_start(x) == labels);
      labels += built.label_count(x);
    }
    CHECK(built.total_labels() == labels);

    std::vector<std::size_t> seen(built.edges().size());
    for (std::uint32_t x = 0; x < built.size(); ++x) {
      bool later = false;
      for (const sw::compact_link& link : built.links(x)) {
        const sw::compact_edge& e = built.edges()[link.edge];
        CHECK((link.is_first ? e.first : e.second) == x);
        CHECK((link.is_first ? e.second : e.first) == link.other);
        later = later || link.other > x;
        CHECK(later == (link.other > x));  // earlier ones come first
        ++seen[link.edge];
        for (sw::strategy a = 0; a < built.label_count(x); ++a)
          for (sw::strategy b = 0; b < built.label_count(link.other); ++b)
            CHECK(built.link_cost(link, a, b) == (link.is_first ? built.table(e)(a, b) : built.table(e)(b, a)));
      }
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> joined;
    for (std::size_t e = 0; e < seen.size(); ++e) {
      CHECK(seen[e] == 2);
      const sw::compact_edge& edge = built.edges()[e];
      CHECK(joined.emplace(edge.first, edge.second).second);
      CHECK(told.pairs.contains({edge.first, edge.second}));
      CHECK(built.table(edge).row_classes() > 1);  // what depends on one end is a cost of that end
      CHECK(built.table(edge).column_classes() > 1);
    }
    edges += joined.size();
    folded += told.pairs.size() - joined.size();
    std::set<const void*> tables;
    for (const auto& t : built.tables()) CHECK(tables.insert(t.get()).second);

    for_each_labeling(told, [&](const labels_t& choice) {
      CHECK(built.cost(choice) == told.cost(choice));
      const std::vector<double> used = built.usage(choice);
      bool keeps = true;
      for (std::uint32_t r = 0; r < told.rows.size(); ++r) {
        CHECK(used[r] == told.used(r, choice));
        keeps = keeps && told.used(r, choice) <= told.rows[r].high && told.used(r, choice) >= told.rows[r].low;
      }
      CHECK(built.keeps_rows(choice) == keeps);
      broken += keeps ? 0 : 1;
    });
  }
  CHECK(edges > shardweave_test::at_scale(150));
  CHECK(folded > shardweave_test::at_scale(100));
  CHECK(broken > shardweave_test::at_scale(500));
}

}  // namespace

TEST_SUITE("compact_problem") {
  TEST_CASE("costs, links and usage are those that were told, in whatever order edges come") {
    is_what_was_told<double>();
    is_what_was_told<std::int64_t>();
  }

  TEST_CASE("segments over the same rows are one, and those over others are not") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{0, 0});
    for (int r = 0; r < 3; ++r) builder.add_row({.high = 10});
    builder.add_segment(0, {0, 2, {1, 2}});
    builder.add_segment(0, {0, 3, {5, 6}});
    builder.add_segment(0, {0, 2, {10, 20}});
    const auto built = builder.build();
    REQUIRE(built.segments(0).size() == 2);
    CHECK(built.segments(0)[0].usage == std::vector<double>{11, 22});
    CHECK(built.usage(labels_t{1}) == std::vector<double>{28, 28, 6});
  }

  TEST_CASE("a row is kept to within a millionth, not more") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{0, 0, 0, 0});
    builder.add_row({.low = 2, .high = 3});
    builder.add_segment(0, {0, 1, {3 + 9e-7, 3 + 2e-6, 2 - 9e-7, 2 - 2e-6}});
    const auto built = builder.build();
    CHECK(built.keeps_rows(labels_t{0}));
    CHECK_FALSE(built.keeps_rows(labels_t{1}));
    CHECK(built.keeps_rows(labels_t{2}));
    CHECK_FALSE(built.keeps_rows(labels_t{3}));
    CHECK(built.keeps_rows(labels_t{1}, 1e-5));
  }

  TEST_CASE("costs in double are those of the classes, made once for all who keep them, copies of the problem too") {
    sw::compact_builder<std::int64_t> builder;
    builder.add_variable(std::vector<std::int64_t>{0, 0, 0});
    builder.add_variable(std::vector<std::int64_t>{0, 0});
    const std::vector<std::int64_t> entries{1, 2, sw::forbidden<std::int64_t>, 4, 1, 2};
    builder.add_edge(0, 1,
                     std::make_shared<const sw::cost_table<std::int64_t>>(
                         sw::cost_table<std::int64_t>::from_entries(3, 2, entries)));
    const auto built = builder.build();
    const auto copy = built;
    const auto asked = built.costs_in_double();
    CHECK(copy.costs_in_double() == asked);
    const sw::cost_table<std::int64_t>& t = *built.tables()[0];
    REQUIRE(asked->size() == 1);
    for (sw::strategy a = 0; a < 3; ++a)
      for (sw::strategy b = 0; b < 2; ++b) {
        const double told = asked->front()[t.row_class(a) * t.stride() + t.column_class(b)];
        const std::int64_t exact = entries[2 * a + b];
        CHECK(told == (sw::is_forbidden(exact) ? std::numeric_limits<double>::infinity() : static_cast<double>(exact)));
      }
  }
}

}  // namespace compact_problem_tests
