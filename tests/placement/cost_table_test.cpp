#include <shardweave/core/random.hpp>
#include <shardweave/placement/cost_table.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace cost_table_tests {
namespace {

/// Entries of a random table, with repeated rows and columns.
template <class Cost>
struct dense {
  std::size_t rows = 0, columns = 0;
  std::vector<Cost> entries;

  Cost operator()(std::size_t a, std::size_t b) const { return entries[a * columns + b]; }
  [[nodiscard]] std::vector<Cost> row(std::size_t a) const {
    const auto first = entries.begin() + static_cast<std::ptrdiff_t>(a * columns);
    return {first, first + static_cast<std::ptrdiff_t>(columns)};
  }
  [[nodiscard]] std::vector<Cost> column(std::size_t b) const {
    std::vector<Cost> result;
    for (std::size_t a = 0; a < rows; ++a) result.push_back((*this)(a, b));
    return result;
  }
  [[nodiscard]] std::size_t distinct_rows() const {
    std::set<std::vector<Cost>> seen;
    for (std::size_t a = 0; a < rows; ++a) seen.insert(row(a));
    return seen.size();
  }
  [[nodiscard]] std::size_t distinct_columns() const {
    std::set<std::vector<Cost>> seen;
    for (std::size_t b = 0; b < columns; ++b) seen.insert(column(b));
    return seen.size();
  }
};

template <class Cost>
dense<Cost> draw(sw::random_source& random, std::size_t rows, std::size_t columns) {
  const std::size_t row_kinds = 1 + random.below(rows), column_kinds = 1 + random.below(columns);
  std::vector<Cost> kinds(row_kinds * column_kinds);
  for (Cost& c : kinds) c = random.chance(0.2) ? sw::forbidden<Cost> : static_cast<Cost>(random.below(7));
  dense<Cost> result{rows, columns, {}};
  std::vector<std::size_t> of_column(columns);
  for (auto& k : of_column) k = random.below(column_kinds);
  for (std::size_t a = 0; a < rows; ++a) {
    const std::size_t kind = random.below(row_kinds);
    for (std::size_t b = 0; b < columns; ++b) result.entries.push_back(kinds[kind * column_kinds + of_column[b]]);
  }
  return result;
}

template <class Cost>
sw::cost_table<Cost> table_of(const dense<Cost>& d) {
  return sw::cost_table<Cost>::from_entries(d.rows, d.columns, d.entries);
}

template <class Cost>
void check_equal(const sw::cost_table<Cost>& t, const dense<Cost>& d) {
  REQUIRE(t.rows() == d.rows);
  REQUIRE(t.columns() == d.columns);
  for (std::size_t a = 0; a < d.rows; ++a)
    for (std::size_t b = 0; b < d.columns; ++b) CHECK(t(a, b) == d(a, b));
  CHECK(t.row_classes() == d.distinct_rows());
  CHECK(t.column_classes() == d.distinct_columns());
}

}  // namespace

TEST_SUITE("cost_table") {
  TEST_CASE_TEMPLATE("entries come back, and equal rows and columns share a class", Cost, double, float, long double,
                     std::int64_t) {
    sw::random_source random(1);
    for (int i = 0; i < 200; ++i) {
      const auto d = draw<Cost>(random, 1 + random.below(9), 1 + random.below(9));
      check_equal(table_of(d), d);
    }
  }

  TEST_CASE("classes are numbered as their rows and columns come") {
    const std::vector<double> entries{1, 2, 1,  //
                                      3, 4, 3,  //
                                      1, 2, 1};
    const auto t = sw::cost_table<double>::from_entries(3, 3, entries);
    CHECK(std::vector(t.row_class().begin(), t.row_class().end()) == std::vector<std::uint32_t>{0, 1, 0});
    CHECK(std::vector(t.column_class().begin(), t.column_class().end()) == std::vector<std::uint32_t>{0, 1, 0});
    CHECK(t.class_cost(1, 0) == 3);
    CHECK(t.row_class(2) == 0);
    CHECK(t.column_class(1) == 1);
  }

  TEST_CASE_TEMPLATE("class rows are padded with forbidden costs and aligned", Cost, double, std::int64_t, float) {
    sw::random_source random(2);
    for (std::size_t columns = 1; columns < 10; ++columns) {
      const auto t = table_of(draw<Cost>(random, 6, columns));
      CHECK(t.stride() % sw::cost_table<Cost>::padding == 0);
      CHECK(t.stride() >= t.column_classes());
      CHECK(t.stride() < t.column_classes() + sw::cost_table<Cost>::padding);
      for (std::size_t i = 0; i < t.row_classes(); ++i) {
        CHECK(reinterpret_cast<std::uintptr_t>(t.class_row(i)) % 16 == 0);
        for (std::size_t j = 0; j < t.stride(); ++j)
          CHECK(t.class_row(i)[j] == (j < t.column_classes() ? t.class_cost(i, j) : sw::forbidden<Cost>));
      }
    }
  }

  TEST_CASE_TEMPLATE("the marked classes are those with a partner among the strategies that are left", Cost, double,
                     std::int64_t) {
    sw::random_source random(3);
    std::size_t marked = 0, unmarked = 0;
    for (int i = 0; i < 300; ++i) {
      const auto d = draw<Cost>(random, 1 + random.below(7), 1 + random.below(7));
      const auto t = table_of(d);
      for (const bool from_rows : {true, false}) {
        std::vector<char> left(from_rows ? d.rows : d.columns), there(3, 7), met(9, 7);
        for (char& is_left : left) is_left = random.chance(0.5) ? 1 : 0;
        sw::mark_partners(
            t, from_rows, [&](sw::strategy s) { return left[s] != 0; }, there, met);
        REQUIRE(met.size() == (from_rows ? t.column_classes() : t.row_classes()));
        for (std::size_t other = 0; other < (from_rows ? d.columns : d.rows); ++other) {
          bool has_partner = false;
          for (std::size_t own = 0; own < left.size(); ++own)
            has_partner |= left[own] != 0 && !sw::is_forbidden(from_rows ? d(own, other) : d(other, own));
          CHECK((met[from_rows ? t.column_class(other) : t.row_class(other)] != 0) == has_partner);
          ++(has_partner ? marked : unmarked);
        }
      }
    }
    CHECK(marked > 200);
    CHECK(unmarked > 200);
  }

  TEST_CASE("classes that a caller names are merged when equal and dropped when unused") {
    const std::vector<std::vector<double>> costs{{9, 9, 9}, {1, 5, 5}, {1, 5, 5}, {2, 6, 6}};
    const auto t = sw::cost_table<double>::from_classes({1, 3, 2, 1}, {0, 2, 1}, 4, 3,
                                                        [&](std::size_t i, std::size_t j) { return costs[i][j]; });
    check_equal(t, dense<double>{4, 3, {1, 5, 5, 2, 6, 6, 1, 5, 5, 1, 5, 5}});
    CHECK(t.row_classes() == 2);
    CHECK(t.column_classes() == 2);
  }

  TEST_CASE("rows that are equal in the columns in use are one class") {
    // rows 0 and 1 differ only in column class 2, which no column has
    const std::vector<std::vector<double>> costs{{1, 2, 3}, {1, 2, 4}};
    const auto t = sw::cost_table<double>::from_classes({0, 1}, {0, 1}, 2, 3,
                                                        [&](std::size_t i, std::size_t j) { return costs[i][j]; });
    CHECK(t.row_classes() == 1);
  }

  TEST_CASE("costs that are there already make the table that a call for each makes") {
    using Cost = double;
    sw::random_source random(9);
    for (int i = 0; i < 200; ++i) {
      // many classes may be in no row or column, and equal, and their numbers come in any order
      const std::size_t rows = 1 + random.below(9), columns = 1 + random.below(9);
      const auto costs = draw<Cost>(random, 1 + random.below(6), 1 + random.below(6));
      const auto drawn = [&](std::size_t count, std::size_t classes) {
        std::vector<std::uint32_t> of(count);
        for (auto& c : of) c = static_cast<std::uint32_t>(random.below(classes));
        if (i % 2 == 0)
          for (std::uint32_t c = 0; c < std::min(count, classes); ++c) of[c] = c;
        return of;
      };
      const auto row_class = drawn(rows, costs.rows), column_class = drawn(columns, costs.columns);
      const std::size_t stride = sw::cost_table<Cost>::padded_size(costs.columns);
      CHECK(stride == (costs.columns + 3) / 4 * 4);
      std::vector<Cost> held(costs.rows * stride, sw::forbidden<Cost>);
      dense<Cost> expected{rows, columns, {}};
      for (std::size_t a = 0; a < costs.rows; ++a)
        for (std::size_t b = 0; b < costs.columns; ++b) held[a * stride + b] = costs(a, b);
      for (const auto a : row_class)
        for (const auto b : column_class) expected.entries.push_back(costs(a, b));
      const Cost* const memory = held.data();
      const auto t =
          sw::cost_table<Cost>::from_class_rows(row_class, column_class, costs.rows, costs.columns, std::move(held));
      check_equal(t, expected);
      CHECK(t == sw::cost_table<Cost>::from_classes(row_class, column_class, costs.rows, costs.columns, costs));
      CHECK(t == table_of(expected));
      if (i % 2 == 0 && t.row_classes() == costs.rows && t.column_classes() == costs.columns)
        CHECK(t.class_row(0) == memory);  // nothing was copied
    }
  }

  TEST_CASE_TEMPLATE("a transposed table swaps rows and columns, twice is the table", Cost, double, std::int64_t) {
    sw::random_source random(3);
    for (int i = 0; i < 100; ++i) {
      const auto d = draw<Cost>(random, 1 + random.below(7), 1 + random.below(7));
      dense<Cost> flipped{d.columns, d.rows, {}};
      for (std::size_t b = 0; b < d.columns; ++b)
        for (std::size_t a = 0; a < d.rows; ++a) flipped.entries.push_back(d(a, b));
      const auto t = table_of(d);
      check_equal(t.transposed(), flipped);
      CHECK(t.transposed() == table_of(flipped));
      CHECK(t.transposed().transposed() == t);
    }
  }

  TEST_CASE_TEMPLATE("a sum adds entry by entry and keeps what is forbidden", Cost, double, std::int64_t) {
    sw::random_source random(4);
    for (int i = 0; i < 200; ++i) {
      const std::size_t rows = 1 + random.below(7), columns = 1 + random.below(7);
      const auto a = draw<Cost>(random, rows, columns), b = draw<Cost>(random, rows, columns);
      dense<Cost> sum{rows, columns, {}};
      for (std::size_t k = 0; k < rows * columns; ++k) {
        const bool bad = a.entries[k] == sw::forbidden<Cost> || b.entries[k] == sw::forbidden<Cost>;
        sum.entries.push_back(bad ? sw::forbidden<Cost> : a.entries[k] + b.entries[k]);
      }
      check_equal(table_of(a) + table_of(b), sum);
      CHECK(table_of(a) + table_of(b) == table_of(sum));
      CHECK(table_of(a) + table_of(b) == table_of(b) + table_of(a));
    }
  }

  TEST_CASE_TEMPLATE("a scaled table is a sum with itself", Cost, double, std::int64_t) {
    sw::random_source random(5);
    for (int i = 0; i < 50; ++i) {
      const auto t = table_of(draw<Cost>(random, 1 + random.below(6), 1 + random.below(6)));
      CHECK(t.scaled(1) == t);
      CHECK(t.scaled(2) == t + t);
      CHECK(t.scaled(3) == t + t + t);
    }
  }

  TEST_CASE_TEMPLATE("a selection keeps the listed rows and columns, in their order", Cost, double, std::int64_t) {
    sw::random_source random(6);
    for (int i = 0; i < 200; ++i) {
      const auto d = draw<Cost>(random, 1 + random.below(8), 1 + random.below(8));
      std::vector<sw::strategy> rows, columns;
      for (sw::strategy a = 0; a < d.rows; ++a)
        if (random.chance(0.6)) rows.push_back(a);
      for (sw::strategy b = 0; b < d.columns; ++b)
        if (random.chance(0.6)) columns.push_back(b);
      if (rows.empty()) rows.push_back(0);
      if (columns.empty()) columns.push_back(0);
      dense<Cost> kept{rows.size(), columns.size(), {}};
      for (const auto a : rows)
        for (const auto b : columns) kept.entries.push_back(d(a, b));
      check_equal(table_of(d).selected(rows, columns), kept);
      const auto whole = table_of(d), part = whole.selected(rows, columns);
      CHECK(part == table_of(kept));
      CHECK((part.class_row(0) == whole.class_row(0)) == part.has_equal_costs(whole));  // kept once
    }
  }

  TEST_CASE_TEMPLATE("equal tables are equal and hash alike, however they were made", Cost, double, float,
                     std::int64_t) {
    sw::random_source random(7);
    for (int i = 0; i < 100; ++i) {
      const auto d = draw<Cost>(random, 2 + random.below(5), 2 + random.below(5));
      std::vector<std::uint32_t> rows(d.rows), columns(d.columns);
      std::iota(rows.begin(), rows.end(), 0U);
      std::iota(columns.begin(), columns.end(), 0U);
      const auto by_entries = table_of(d);
      const auto by_classes = sw::cost_table<Cost>::from_classes(rows, columns, d.rows, d.columns, d);
      CHECK(by_entries == by_classes);
      CHECK(by_entries.hash() == by_classes.hash());
      auto other = d;
      Cost& entry = other.entries[random.below(other.entries.size())];
      if (!sw::is_forbidden(entry)) entry += 1;
      const auto changed = table_of(other);
      CHECK((changed == by_entries) == (other.entries == d.entries));
    }
  }

  TEST_CASE_TEMPLATE("copies share the costs between classes, and so may tables of equal ones", Cost, double,
                     std::int64_t) {
    const std::vector<Cost> entries{1, 2, 1, 3, 4, 3}, others{1, 2, 1, 3, 5, 3};
    const auto t = sw::cost_table<Cost>::from_entries(2, 3, entries);
    const auto copy = t;
    CHECK(copy.class_row(0) == t.class_row(0));
    const auto scaled = copy.scaled(2);  // what is shared does not change
    CHECK(scaled(1, 1) == 8);
    CHECK(t(1, 1) == 4);
    CHECK(t.hash() == t.hash(t.cost_hash()));

    auto twin = sw::cost_table<Cost>::from_entries(2, 3, entries);
    CHECK(twin.class_row(0) != t.class_row(0));
    const std::size_t hash = twin.hash();
    CHECK(twin.share_costs(t));
    CHECK(twin.class_row(0) == t.class_row(0));
    CHECK(twin == t);
    CHECK(twin.hash() == hash);
    CHECK(t.hash() == hash);

    // the classes may be others' as long as the costs between them are equal
    auto flipped = sw::cost_table<Cost>::from_classes(
        {1, 0, 0}, {0, 1}, 2, 2, [&](std::size_t i, std::size_t j) { return t.class_cost(1 - i, j); });
    CHECK(flipped.has_equal_costs(t));
    CHECK(flipped.cost_hash() == t.cost_hash());
    CHECK_FALSE(flipped == t);
    const dense<Cost> before{3, 2, {1, 2, 3, 4, 3, 4}};
    check_equal(flipped, before);
    CHECK(flipped.share_costs(t));
    check_equal(flipped, before);
    CHECK_FALSE(flipped == t);

    auto different = sw::cost_table<Cost>::from_entries(2, 3, others);
    CHECK_FALSE(different.has_equal_costs(t));
    CHECK_FALSE(different.share_costs(t));
    CHECK(different(1, 1) == 5);
    CHECK_FALSE(different == t);

    auto heir = sw::cost_table<Cost>::from_entries(2, 3, entries);
    {
      const auto gone = sw::cost_table<Cost>::from_entries(2, 3, entries);
      CHECK(heir.share_costs(gone));
    }
    check_equal(heir, dense<Cost>{2, 3, entries});
  }

  TEST_CASE_TEMPLATE("a packed table is the same table, whatever is asked", Cost, double, std::int64_t) {
    sw::random_source random(10);
    const std::size_t rows = 180, columns = 190;  // enough to be packed, and a stride with padding
    std::vector<Cost> kinds{Cost{0}, sw::forbidden<Cost>};
    for (int i = 0; i < 300; ++i) kinds.push_back(static_cast<Cost>(random.below(1'000'000)) - 500'000);
    std::vector<Cost> entries;
    for (std::size_t k = 0; k < rows * columns; ++k) entries.push_back(kinds[random.below(kinds.size())]);
    const auto t = sw::cost_table<Cost>::from_entries(rows, columns, entries);
    const auto p = t.packed();
    REQUIRE(p.is_packed());
    CHECK_FALSE(t.is_packed());
    CHECK(p == t);
    CHECK(p.hash() == t.hash());
    CHECK(p.least() == t.least());
    CHECK(p.most() == t.most());
    CHECK(p.scaled(2) == t.scaled(2));
    CHECK(p.transposed() == t.transposed());
    CHECK(p + t == t.scaled(2));
    const std::vector<sw::strategy> all = [&] {
      std::vector<sw::strategy> listed(rows);
      std::iota(listed.begin(), listed.end(), 0U);
      return listed;
    }();
    const auto part = p.selected(all, all);  // what is made of it is not packed
    CHECK_FALSE(part.is_packed());
    CHECK(part == t.selected(all, all));
    CHECK_FALSE(p.unpacked().is_packed());
    CHECK(p.unpacked() == t);
    CHECK(p.packed().is_packed());
    auto twin = t;
    CHECK(twin.share_costs(p));
    CHECK(twin.is_packed());
    CHECK(std::equal(p.class_row(0), p.class_row(p.row_classes()), t.class_row(0)));
    CHECK(p.class_row(3) == twin.class_row(3));
  }

  TEST_CASE("a table is packed only where that saves memory, and keeps every bit") {
    const auto of = [](std::size_t n, auto cost) {
      std::vector<std::uint32_t> lines(n);
      std::iota(lines.begin(), lines.end(), 0U);
      return sw::cost_table<double>::from_distinct_classes(lines, lines, n, n, cost);
    };
    const auto few = [](std::size_t i, std::size_t j) { return (i + j) % 2 == 0 ? 0.0 : -0.0; };
    CHECK_FALSE(of(100, few).packed().is_packed());  // small
    const auto zeros = of(200, few).packed();
    REQUIRE(zeros.is_packed());
    CHECK(std::signbit(zeros(0, 1)));
    CHECK_FALSE(std::signbit(zeros(1, 1)));
    const auto all_distinct = [](std::size_t i, std::size_t j) { return static_cast<double>(i * 1000 + j); };
    CHECK_FALSE(of(200, all_distinct).packed().is_packed());
    const auto many = [](std::size_t i, std::size_t j) { return static_cast<double>((i * 640 + j) % 66'000); };
    CHECK_FALSE(of(640, many).packed().is_packed());  // more than two bytes tell apart
    const auto short_ones = [](std::size_t i, std::size_t) { return i == 0 ? 1.0F : 0.0F; };
    CHECK_FALSE(sw::cost_table<float>::from_distinct_classes({}, {}, 200, 200, short_ones).packed().is_packed());
  }

  TEST_CASE("a blurred table keeps its size and what is listed; the rest looks like the first listed") {
    sw::random_source random(8);
    for (int i = 0; i < 100; ++i) {
      const auto d = draw<double>(random, 1 + random.below(8), 1 + random.below(8));
      const auto pick = [&](std::size_t count) {
        std::vector<sw::strategy> listed;
        for (sw::strategy a = 0; a < count; ++a)
          if (random.chance(0.5)) listed.push_back(a);
        if (listed.empty()) listed.push_back(static_cast<sw::strategy>(count - 1));
        return listed;
      };
      const auto rows = pick(d.rows), columns = pick(d.columns);
      dense<double> expected{d.rows, d.columns, {}};
      const auto seen = [](const auto& listed, std::size_t at) {
        const bool is_listed = std::find(listed.begin(), listed.end(), at) != listed.end();
        return is_listed ? at : std::size_t{listed.front()};
      };
      for (std::size_t a = 0; a < d.rows; ++a)
        for (std::size_t b = 0; b < d.columns; ++b) expected.entries.push_back(d(seen(rows, a), seen(columns, b)));
      check_equal(table_of(d).blurred(rows, columns), expected);
    }
  }

  TEST_CASE("zero and negative zero are one cost") {
    const std::vector<double> entries{0.0, -0.0, -0.0, 0.0}, zeros(4);
    const auto t = sw::cost_table<double>::from_entries(2, 2, entries);
    CHECK(t.row_classes() == 1);
    CHECK(t.column_classes() == 1);
    CHECK(t.hash() == sw::cost_table<double>::from_entries(2, 2, zeros).hash());
  }

  TEST_CASE("shape tells tables of equal entries apart") {
    const std::vector<double> ones(6, 1.0);
    CHECK_FALSE(sw::cost_table<double>::from_entries(2, 3, ones) == sw::cost_table<double>::from_entries(3, 2, ones));
    CHECK_FALSE(sw::cost_table<double>::from_entries(1, 6, ones) == sw::cost_table<double>::from_entries(6, 1, ones));
  }

  TEST_CASE("an empty table is a value") {
    const sw::cost_table<double> t;
    CHECK(t.rows() == 0);
    CHECK(t.columns() == 0);
    CHECK(t == sw::cost_table<double>());
  }
}

TEST_SUITE("costs") {
  TEST_CASE("forbidden integers stay forbidden in every sum and product") {
    constexpr auto bad = sw::forbidden<std::int64_t>;
    static_assert(bad == std::numeric_limits<std::int64_t>::max());
    CHECK(sw::is_forbidden(sw::plus<std::int64_t>(bad, 5)));
    CHECK(sw::is_forbidden(sw::plus<std::int64_t>(-5, bad)));
    CHECK(sw::is_forbidden(sw::plus<std::int64_t>(bad, bad)));
    CHECK(sw::is_forbidden(sw::times<std::int64_t>(bad, 3)));
    CHECK(sw::plus<std::int64_t>(4, -7) == -3);
    CHECK(sw::times<std::int64_t>(-4, 3) == -12);
  }
  TEST_CASE("forbidden floating costs are infinite") {
    CHECK(sw::is_forbidden(sw::plus(sw::forbidden<double>, -1e300)));
    CHECK(sw::is_forbidden(sw::times(sw::forbidden<double>, 2)));
    CHECK(sw::is_forbidden(std::numeric_limits<float>::infinity()));
    CHECK_FALSE(sw::is_forbidden(std::numeric_limits<double>::max()));
  }
  TEST_CASE("parts add up") {
    CHECK(sw::cost_parts<double>{1, 2, 4}.total() == 7);
    CHECK(sw::is_forbidden(sw::cost_parts<std::int64_t>{1, sw::forbidden<std::int64_t>, 4}.total()));
  }
  static_assert(sw::cost_value<double> && sw::cost_value<float> && sw::cost_value<std::int64_t>);
  static_assert(!sw::cost_value<int> && !sw::cost_value<std::uint64_t> && !sw::cost_value<bool>);
}

}  // namespace cost_table_tests
