#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Linear programs as plain data: what every LP or MIP backend takes.

namespace shardweave::inline v0 {

/// A variable.
struct linear_column {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  double objective = 0;
  bool integer = false;  ///< integer values only
};

/// A constraint: limits on a weighted sum of columns.
struct linear_row {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// A coefficient.
struct linear_entry {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  double value = 0;
};

/// minimise   offset + sum of objective_j * x_j
/// subject to low_r <= sum of value_rj * x_j <= high_r   for every row r
///            low_j <= x_j <= high_j                     for every column j, whole numbers where asked for
///
/// An infinite limit is no limit. Names are separate (`linear_names`), since backends need none.
struct linear_model {
  double offset = 0;
  std::vector<linear_column> columns = {};
  std::vector<linear_row> rows = {};
  std::vector<linear_entry> entries = {};  ///< in any order, each place at most once

  std::uint32_t add_column(const linear_column& column) {
    columns.push_back(column);
    return static_cast<std::uint32_t>(columns.size() - 1);
  }
  std::uint32_t add_row(const linear_row& row) {
    rows.push_back(row);
    return static_cast<std::uint32_t>(rows.size() - 1);
  }
  /// Adds a coefficient; zeros are left out.
  void add_entry(std::uint32_t row, std::uint32_t column, double value) {
    if (value != 0) entries.push_back({row, column, value});
  }

  [[nodiscard]] bool has_integers() const {
    return std::any_of(columns.begin(), columns.end(), [](const linear_column& c) { return c.integer; });
  }
  /// \pre one value per column
  [[nodiscard]] double objective_of(std::span<const double> x) const {
    double total = offset;
    for (std::size_t j = 0; j < columns.size(); ++j) total += columns[j].objective * x[j];
    return total;
  }
};

/// Names of the columns and rows of a model, for files that people read. Empty lists: numbers serve as names.
struct linear_names {
  std::vector<std::string> columns = {}, rows = {};
};

/// Sorts the entries by row, then column: the order in which backends want them.
/// Complexity: O(n log n)
inline void sort_entries(linear_model& model) {
  std::sort(model.entries.begin(), model.entries.end(), [](const linear_entry& a, const linear_entry& b) {
    return std::pair(a.row, a.column) < std::pair(b.row, b.column);
  });
}

/// Refuses models that backends solve wrongly or crash on: values that are not numbers, crossed limits, entries of rows
/// or columns that do not exist, duplicate entries. Backends call it first.
/// \throws error (input) naming the row or column
/// Complexity: linear if the entries are sorted
inline void validate(const linear_model& model) {
  const auto fail = [](const std::string& what) { refuse(error_category::input, "linear model: " + what); };
  const auto check_limits = [&](double low, double high, const char* kind, std::size_t number) {
    if (std::isnan(low) || std::isnan(high) || low > high || low == std::numeric_limits<double>::infinity() ||
        high == -std::numeric_limits<double>::infinity())
      fail(std::string(kind) + " " + std::to_string(number) + " has limits " + number_text(low) + " and " +
           number_text(high) + ", expected the lower one first");
  };
  // backends index by int, and keep one value free
  constexpr std::size_t most = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) - 1;
  if (model.columns.size() > most || model.rows.size() > most || model.entries.size() > most)
    fail("it has " + std::to_string(model.columns.size()) + " columns, " + std::to_string(model.rows.size()) +
         " rows and " + std::to_string(model.entries.size()) + " weights, expected fewer than 2^31 of each");
  if (!std::isfinite(model.offset)) fail("the offset is " + number_text(model.offset) + ", expected a finite number");
  for (std::size_t j = 0; j < model.columns.size(); ++j) {
    const linear_column& c = model.columns[j];
    if (!std::isfinite(c.objective))
      fail("column " + std::to_string(j) + " costs " + number_text(c.objective) + ", expected a finite number");
    check_limits(c.low, c.high, "column", j);
    if (c.integer && std::ceil(c.low) > std::floor(c.high))
      fail("column " + std::to_string(j) + " has no whole number between its limits " + number_text(c.low) + " and " +
           number_text(c.high));
  }
  for (std::size_t r = 0; r < model.rows.size(); ++r) check_limits(model.rows[r].low, model.rows[r].high, "row", r);

  std::vector<std::uint64_t> places;
  places.reserve(model.entries.size());
  for (const linear_entry& e : model.entries) {
    if (e.row >= model.rows.size() || e.column >= model.columns.size())
      fail("a weight stands in row " + std::to_string(e.row) + " and column " + std::to_string(e.column) + " of " +
           std::to_string(model.rows.size()) + " rows and " + std::to_string(model.columns.size()) + " columns");
    if (!std::isfinite(e.value))
      fail("the weight in row " + std::to_string(e.row) + " and column " + std::to_string(e.column) + " is " +
           number_text(e.value) + ", expected a finite number");
    places.push_back(std::uint64_t{e.row} << 32 | e.column);
  }
  if (!std::is_sorted(places.begin(), places.end())) std::sort(places.begin(), places.end());
  const auto twice = std::adjacent_find(places.begin(), places.end());
  if (twice != places.end())
    fail("row " + std::to_string(*twice >> 32) + " has two weights in column " + std::to_string(*twice & 0xffffffffU));
}

}  // namespace shardweave::inline v0
