#include <shardweave/core/random.hpp>
#include <shardweave/placement/class_costs.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/cost_table.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace class_costs_tests {
namespace {
namespace sw = shardweave;
}  // namespace

TEST_SUITE("class_costs") {
  TEST_CASE_TEMPLATE("every class cost is seen in its place, and no padding", Cost, double, std::int64_t, float) {
    sw::random_source random(2);
    for (std::size_t columns = 1; columns < 10; ++columns) {
      const std::size_t rows = 1 + random.below(6);
      std::vector<Cost> entries(rows * columns);
      for (Cost& c : entries) c = random.chance(0.1) ? sw::forbidden<Cost> : static_cast<Cost>(random.below(3));
      const auto t = sw::cost_table<Cost>::from_entries(rows, columns, entries);
      const auto view = sw::class_costs(t);
      // classes are told by the entries alone
      std::set<std::vector<Cost>> different_rows, different_columns;
      for (std::size_t i = 0; i < rows; ++i) {
        std::vector<Cost> row;
        for (std::size_t j = 0; j < columns; ++j) row.push_back(entries[i * columns + j]);
        different_rows.insert(row);
      }
      for (std::size_t j = 0; j < columns; ++j) {
        std::vector<Cost> column;
        for (std::size_t i = 0; i < rows; ++i) column.push_back(entries[i * columns + j]);
        different_columns.insert(column);
      }
      REQUIRE(static_cast<std::size_t>(view.rows()) == different_rows.size());
      REQUIRE(static_cast<std::size_t>(view.cols()) == different_columns.size());
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j)
          CHECK(view(static_cast<Eigen::Index>(t.row_class(i)), static_cast<Eigen::Index>(t.column_class(j))) ==
                entries[i * columns + j]);
    }
  }

  TEST_CASE("the costs are read in place, and there are none of an empty table") {
    const auto t = sw::cost_table<double>::from_entries(2, 3, std::vector<double>{1, 2, 3, 4, 5, 6});
    const auto view = sw::class_costs(t);
    CHECK(view.data() == t.class_row(0));
    CHECK(&view.coeffRef(1, 2) == t.class_row(1) + 2);
    CHECK(view.sum() == 21);  // padding is infinite
    CHECK((view.rowwise().maxCoeff() - view.rowwise().minCoeff()).isConstant(2));
    const sw::cost_table<double> empty;
    CHECK(sw::class_costs(empty).size() == 0);
  }
}

}  // namespace class_costs_tests
