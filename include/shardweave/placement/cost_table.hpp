#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/cost.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// The costs of an edge, stored by what it can tell apart.

namespace shardweave {
inline namespace v0 {

/// A table of pairwise costs in factored form: equal rows share a row class, equal columns a column class,
/// and only the costs between classes are stored. With device-mesh strategies 700 rows have some 100 classes.
///
/// Rows are the strategies of the first vertex, columns those of the second. The class costs are row-major
/// with rows padded to a multiple of `padding` by forbidden entries, aligned for vector instructions.
/// Memory: 4 bytes per row and column, `sizeof(Cost)` per pair of classes.
template <cost_value Cost>
class cost_table {
 public:
  static constexpr std::size_t padding = 4;

  cost_table() = default;

  /// From all entries, row-major. Equal rows and columns are found by hashing and compared in full.
  /// \pre entries.size() == rows * columns
  /// Complexity: O(rows * columns)
  [[nodiscard]] static cost_table from_entries(std::size_t rows, std::size_t columns, std::span<const Cost> entries) {
    std::vector<std::uint32_t> row_class(rows), column_class(columns);
    std::iota(row_class.begin(), row_class.end(), 0U);
    std::iota(column_class.begin(), column_class.end(), 0U);
    return from_classes(std::move(row_class), std::move(column_class), rows, columns,
                        [&](std::size_t i, std::size_t j) { return entries[i * columns + j]; });
  }

  /// From classes that a caller knows: `cost(i, j)` is the cost between row class i and column class j.
  /// Classes that turn out equal, or that no row or column has, are removed.
  /// \pre every class is below its count
  template <class ClassCost>
  [[nodiscard]] static cost_table from_classes(std::vector<std::uint32_t> row_class,
                                               std::vector<std::uint32_t> column_class, std::size_t row_classes,
                                               std::size_t column_classes, ClassCost cost) {
    const auto rows = used(row_class, row_classes);
    const auto columns = used(column_class, column_classes);
    std::vector<Cost> dense(rows.size() * columns.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < columns.size(); ++j) dense[i * columns.size() + j] = cost(rows[i], columns[j]);

    const auto merged_rows = equal_lines(rows.size(), columns.size(), [&](std::size_t i, std::size_t j) -> const Cost& {
      return dense[i * columns.size() + j];
    });
    const auto merged_columns = equal_lines(
        columns.size(), merged_rows.first.size(),
        [&](std::size_t j, std::size_t i) -> const Cost& { return dense[merged_rows.first[i] * columns.size() + j]; });

    cost_table table;
    for (std::uint32_t& c : row_class) c = merged_rows.second[c];
    for (std::uint32_t& c : column_class) c = merged_columns.second[c];
    table.row_class_ = std::move(row_class);
    table.column_class_ = std::move(column_class);
    table.row_classes_ = merged_rows.first.size();
    table.column_classes_ = merged_columns.first.size();
    table.stride_ = (table.column_classes_ + padding - 1) / padding * padding;
    table.costs_.assign(table.row_classes_ * table.stride_, forbidden<Cost>);
    for (std::size_t i = 0; i < table.row_classes_; ++i)
      for (std::size_t j = 0; j < table.column_classes_; ++j)
        table.costs_[i * table.stride_ + j] = dense[merged_rows.first[i] * columns.size() + merged_columns.first[j]];
    return table;
  }

  /// From classes that stay apart even where their costs are equal now: for costs that will change.
  /// \pre every class is below its count
  template <class ClassCost>
  [[nodiscard]] static cost_table from_distinct_classes(std::vector<std::uint32_t> row_class,
                                                        std::vector<std::uint32_t> column_class,
                                                        std::size_t row_classes, std::size_t column_classes,
                                                        ClassCost cost) {
    cost_table table;
    table.row_class_ = std::move(row_class);
    table.column_class_ = std::move(column_class);
    table.row_classes_ = row_classes;
    table.column_classes_ = column_classes;
    table.stride_ = (column_classes + padding - 1) / padding * padding;
    table.costs_.assign(row_classes * table.stride_, forbidden<Cost>);
    for (std::size_t i = 0; i < row_classes; ++i)
      for (std::size_t j = 0; j < column_classes; ++j) table.costs_[i * table.stride_ + j] = cost(i, j);
    return table;
  }

  [[nodiscard]] std::size_t rows() const { return row_class_.size(); }
  [[nodiscard]] std::size_t columns() const { return column_class_.size(); }
  [[nodiscard]] std::size_t row_classes() const { return row_classes_; }
  [[nodiscard]] std::size_t column_classes() const { return column_classes_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] std::uint32_t row_class(std::size_t row) const { return row_class_[row]; }
  [[nodiscard]] std::uint32_t column_class(std::size_t column) const { return column_class_[column]; }
  [[nodiscard]] std::span<const std::uint32_t> row_class() const { return row_class_; }
  [[nodiscard]] std::span<const std::uint32_t> column_class() const { return column_class_; }
  [[nodiscard]] Cost class_cost(std::size_t i, std::size_t j) const { return costs_[i * stride_ + j]; }
  /// The costs of row class i, `stride()` of them, the last ones padding.
  [[nodiscard]] const Cost* class_row(std::size_t i) const { return costs_.data() + i * stride_; }
  /// The least cost of all. \pre neither side is empty
  [[nodiscard]] Cost least() const { return *std::min_element(costs_.begin(), costs_.end()); }  // padding costs most
  /// The greatest cost of all, forbidden ones included. \pre neither side is empty
  [[nodiscard]] Cost most() const {
    Cost result = class_cost(0, 0);
    for (std::size_t i = 0; i < row_classes_; ++i)
      result = std::max(result, *std::max_element(class_row(i), class_row(i) + column_classes_));
    return result;
  }
  [[nodiscard]] bool has_forbidden() const { return is_forbidden(most()); }
  /// The least cost that a row has with any column.
  [[nodiscard]] Cost least_of_row(std::size_t row) const {
    const Cost* costs = class_row(row_class_[row]);
    return *std::min_element(costs, costs + column_classes_);
  }
  /// The least cost that a column has with any row.
  [[nodiscard]] Cost least_of_column(std::size_t column) const {
    Cost result = forbidden<Cost>;
    for (std::size_t i = 0; i < row_classes_; ++i) result = std::min(result, class_cost(i, column_class_[column]));
    return result;
  }
  [[nodiscard]] Cost operator()(std::size_t row, std::size_t column) const {
    return class_cost(row_class_[row], column_class_[column]);
  }

  [[nodiscard]] cost_table transposed() const {
    return from_classes(column_class_, row_class_, column_classes_, row_classes_,
                        [&](std::size_t i, std::size_t j) { return class_cost(j, i); });
  }

  /// The table of the listed rows and columns only.
  [[nodiscard]] cost_table selected(std::span<const strategy> rows, std::span<const strategy> columns) const {
    std::vector<std::uint32_t> row_class(rows.size()), column_class(columns.size());
    std::transform(rows.begin(), rows.end(), row_class.begin(), [&](strategy a) { return row_class_[a]; });
    std::transform(columns.begin(), columns.end(), column_class.begin(), [&](strategy b) { return column_class_[b]; });
    return from_classes(std::move(row_class), std::move(column_class), row_classes_, column_classes_,
                        [&](std::size_t i, std::size_t j) { return class_cost(i, j); });
  }

  /// `count` times every cost.
  [[nodiscard]] cost_table scaled(std::size_t count) const {
    cost_table result = *this;
    for (Cost& c : result.costs_) c = times(c, count);
    return result;
  }

  /// The sum, entry by entry; its classes are pairs of classes.
  /// \pre equal numbers of rows and of columns
  friend cost_table operator+(const cost_table& a, const cost_table& b) {
    const auto pair_up = [](const auto& x, const auto& y, std::size_t y_classes, std::vector<std::uint32_t>& joint) {
      interner<std::uint64_t> pairs;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> members;
      joint.resize(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        joint[i] = pairs(std::uint64_t{x[i]} * y_classes + y[i]);
        if (joint[i] == members.size()) members.emplace_back(x[i], y[i]);
      }
      return members;
    };
    std::vector<std::uint32_t> row_class, column_class;
    const auto rows = pair_up(a.row_class_, b.row_class_, b.row_classes_, row_class);
    const auto columns = pair_up(a.column_class_, b.column_class_, b.column_classes_, column_class);
    return from_classes(
        std::move(row_class), std::move(column_class), rows.size(), columns.size(), [&](std::size_t i, std::size_t j) {
          return plus(a.class_cost(rows[i].first, columns[j].first), b.class_cost(rows[i].second, columns[j].second));
        });
  }

  friend bool operator==(const cost_table&, const cost_table&) = default;

  /// For interning equal tables.
  [[nodiscard]] std::size_t hash() const {
    std::size_t h = hash_combine(sequence_hash{}(row_class_), sequence_hash{}(column_class_));
    for (const Cost c : costs_) h = hash_combine(h, bits(c));
    return h;
  }

 private:
  static std::size_t bits(Cost c) {
    if constexpr (sizeof(Cost) == sizeof(std::uint64_t)) {
      if (c == Cost{}) return 0;  // zero equals negative zero
      return static_cast<std::size_t>(std::bit_cast<std::uint64_t>(c));
    } else {
      return std::hash<Cost>{}(c);
    }
  }

  /// Renumbers the classes in use and lists which they are.
  static std::vector<std::uint32_t> used(std::vector<std::uint32_t>& classes, std::size_t count) {
    constexpr std::uint32_t absent = ~0U;
    std::vector<std::uint32_t> number(count, absent), kept;
    for (std::uint32_t& c : classes) {
      if (number[c] == absent) {
        number[c] = static_cast<std::uint32_t>(kept.size());
        kept.push_back(c);
      }
      c = number[c];
    }
    return kept;
  }

  /// Representatives of equal lines, and for each line the number of its representative.
  template <class At>
  static std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> equal_lines(std::size_t lines,
                                                                                       std::size_t length, At at) {
    std::unordered_multimap<std::size_t, std::uint32_t> by_hash;
    std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> result;
    result.second.resize(lines);
    for (std::uint32_t i = 0; i < lines; ++i) {
      std::size_t h = length;
      for (std::size_t j = 0; j < length; ++j) h = hash_combine(h, bits(at(i, j)));
      const auto [first, last] = by_hash.equal_range(h);
      const auto same = std::find_if(first, last, [&](const auto& known) {
        const std::uint32_t other = result.first[known.second];
        for (std::size_t j = 0; j < length; ++j)
          if (at(i, j) != at(other, j)) return false;
        return true;
      });
      if (same != last) {
        result.second[i] = same->second;
      } else {
        result.second[i] = static_cast<std::uint32_t>(result.first.size());
        by_hash.emplace(h, result.second[i]);
        result.first.push_back(i);
      }
    }
    return result;
  }

  std::vector<std::uint32_t> row_class_;
  std::vector<std::uint32_t> column_class_;
  std::size_t row_classes_ = 0;
  std::size_t column_classes_ = 0;
  std::size_t stride_ = 0;
  std::vector<Cost> costs_;  // the default allocator aligns to 16 bytes
};

}  // namespace v0
}  // namespace shardweave
