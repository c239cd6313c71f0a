#include "solve/small_problems.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/detail/min_plus.hpp>
#include <shardweave/solve/detail/two_costs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sw = shardweave;

namespace min_plus_tests {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// A problem of two variables with one table between them, all rows and columns different.
template <class Cost>
sw::compact_problem<Cost> one_table(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  sw::random_source random(seed);
  std::vector<Cost> entries(rows * columns);
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i] = random.chance(0.2) ? sw::forbidden<Cost> : static_cast<Cost>(1000 * random.below(50) + i);
  sw::compact_builder<Cost> builder;
  builder.add_variable(std::vector<Cost>(rows));
  builder.add_variable(std::vector<Cost>(columns));
  builder.add_edge(0, 1, shardweave_test::table_of<Cost>(rows, columns, entries));
  return builder.build();
}

template <class Cost>
void compare_with_loops() {
  std::size_t compared = 0;
  for (std::size_t rows = 2; rows <= 13; ++rows)
    for (std::size_t columns = 2; columns <= 21; ++columns) {
      const auto p = one_table<Cost>(rows, columns, rows * 100 + columns);
      REQUIRE(p.edges().size() == 1);
      const auto& table = p.table(p.edges()[0]);
      const sw::detail::double_tables<Cost> tables(p);
      const sw::detail::double_table& t = tables[0];
      REQUIRE(t.rows == table.row_classes());
      REQUIRE(t.columns == table.column_classes());
      REQUIRE(t.stride % 4 == 0);
      REQUIRE(t.stride - t.columns < 4);
      const auto entry = [&](std::size_t i, std::size_t j) {
        const Cost c = table.class_cost(i, j);
        return sw::is_forbidden(c) ? infinite : static_cast<double>(c);
      };
      sw::random_source random(rows + 31 * columns);
      std::vector<double> h(t.rows), out(t.stride, -7);
      for (double& v : h) v = random.chance(0.1) ? infinite : random.unit() * 100 - 50;
      sw::detail::min_plus_columns(t, h.data(), out.data());
      for (std::size_t j = 0; j < t.columns; ++j) {
        double least = infinite;
        for (std::size_t i = 0; i < t.rows; ++i) least = std::min(least, h[i] + entry(i, j));
        CHECK(out[j] == least);
        ++compared;
      }
      for (std::size_t j = t.columns; j < t.stride; ++j) CHECK(out[j] == infinite);

      std::vector<double> g(t.stride, 0), of_row(t.rows, -7);
      for (std::size_t j = 0; j < t.columns; ++j) g[j] = random.chance(0.1) ? infinite : random.unit() * 100 - 50;
      sw::detail::min_plus_rows(t, g.data(), of_row.data());
      for (std::size_t i = 0; i < t.rows; ++i) {
        double least = infinite;
        for (std::size_t j = 0; j < t.columns; ++j) least = std::min(least, g[j] + entry(i, j));
        CHECK(of_row[i] == least);
      }
    }
  CHECK(compared > 2000);
}

}  // namespace

TEST_SUITE("min_plus") {
  TEST_CASE("both products equal plain loops, for every shape of a table and its padding") {
    compare_with_loops<double>();
    compare_with_loops<std::int64_t>();
  }
  TEST_CASE("wide instructions and those of any machine give the same bits") {
    sw::random_source random(7);
    for (const std::size_t stride : {4U, 8U, 12U, 36U}) {
      std::vector<double> costs(4 * stride), h(stride), raised(4), down(stride), down_of_any, along(4), along_of_any(4);
      for (auto* some : {&costs, &h, &raised, &down})
        for (double& c : *some) c = random.chance(0.1) ? infinite : random.unit();
      down_of_any = down;
      const sw::detail::four_rows rows{costs.data(), costs.data() + stride, costs.data() + 2 * stride,
                                       costs.data() + 3 * stride};
      sw::detail::least_down(rows, raised.data(), stride, down.data());
      sw::detail::least_down_by_any(rows, raised.data(), stride, down_of_any.data());
      sw::detail::least_along(rows, h.data(), stride, along.data());
      sw::detail::least_along_by_any(rows, h.data(), stride, along_of_any.data());
      CHECK(down == down_of_any);
      CHECK(along == along_of_any);
      for (std::size_t j = 0; j < stride; ++j)
        for (std::size_t i = 0; i < 4; ++i) CHECK(down[j] <= raised[i] + costs[i * stride + j]);
    }
  }
  TEST_CASE("two costs at a time equal a plain loop, for lists of any length and what is infinite") {
    sw::random_source random(11);
    for (std::size_t n = 1; n <= 13; ++n) {
      std::vector<double> to(n), from(n), expected(n);
      const auto draw = [&](std::vector<double>& list, double infinities) {
        for (double& c : list) c = random.chance(infinities) ? infinite : random.unit() - 0.5;
      };
      draw(to, 0.2), draw(from, 0.2);
      for (std::size_t i = 0; i < n; ++i) expected[i] = to[i] + from[i];
      sw::detail::add_costs(to.data(), from.data(), n);
      CHECK(to == expected);
      CHECK(sw::detail::least_cost(to.data(), n) == *std::ranges::min_element(to));
      for (std::size_t i = 0; i < n; ++i) expected[i] = to[i] - 0.25;
      sw::detail::lower_costs(to.data(), 0.25, n);
      CHECK(to == expected);

      for (std::size_t i = 0; i < n; ++i) expected[i] = from[i] < infinite ? 0.3 * to[i] - from[i] : infinite;
      sw::detail::share_costs(to.data(), to.data(), 0.3, from.data(), n);
      CHECK(to == expected);

      draw(to, 0), draw(from, 0);
      double largest = 0;
      for (std::size_t i = 0; i < n; ++i) {
        expected[i] = from[i] - 0.125;
        largest = std::max(largest, std::abs(expected[i] - to[i]));
      }
      CHECK(sw::detail::replace_costs(to.data(), from.data(), 0.125, n) == largest);
      CHECK(to == expected);
    }
  }
  TEST_CASE("the least of raised rows equals a plain loop, however many rows there are") {
    sw::random_source random(5);
    for (std::size_t count = 1; count <= 11; ++count)
      for (const std::size_t stride : {4U, 8U, 20U}) {
        std::vector<std::vector<double>> costs(count, std::vector<double>(stride));
        std::vector<sw::detail::raised_row<double>> rows;
        for (auto& row : costs) {
          for (double& c : row) c = random.chance(0.2) ? infinite : random.unit();
          rows.push_back({random.unit(), row.data()});
        }
        std::vector<double> out(stride, -7);
        sw::detail::least_of_rows<double>(rows, stride, out.data());
        for (std::size_t j = 0; j < stride; ++j) {
          double least = infinite;
          for (std::size_t i = 0; i < count; ++i) least = std::min(least, rows[i].by + costs[i][j]);
          CHECK(out[j] == least);
        }
      }
  }
  TEST_CASE("tables of doubles are used where they are, others are converted") {
    const auto p = one_table<double>(5, 6, 1);
    const sw::detail::double_tables<double> same(p);
    CHECK(same[0].costs == p.table(p.edges()[0]).class_row(0));
    const auto q = one_table<std::int64_t>(5, 6, 1);
    const sw::detail::double_tables<std::int64_t> converted(q);
    for (std::size_t i = 0; i < converted[0].rows; ++i)
      for (std::size_t j = converted[0].columns; j < converted[0].stride; ++j)
        CHECK(converted[0].costs[i * converted[0].stride + j] == infinite);
  }
}

}  // namespace min_plus_tests
