#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/detail/equal_lines.hpp>
#include <shardweave/placement/detail/shared_costs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Pairwise costs of an edge, stored by classes of strategies.

namespace shardweave::inline v0 {

/// A table of pairwise costs in factored form: equal rows share a row class, equal columns a column class,
/// and only the costs between classes are stored. With device-mesh strategies 700 rows have some 100 classes.
///
/// Rows are the strategies of the first vertex, columns those of the second. The class costs are row-major.
/// Memory: 4 bytes per row and column, `sizeof(Cost)` per pair of classes; the class costs are immutable and shared by
/// copies, and may be by equal tables. A `packed` table takes two bytes instead of `sizeof(Cost)`.
template <class Cost>
class cost_table {
  static_assert(cost_value<Cost>,
                "Costs are counted in a floating-point type or std::int64_t (shardweave::cost_value).");

 public:
  static constexpr std::size_t padding = 4;  ///< rows have a multiple of this many costs: doubles of an AVX register

  cost_table() = default;

  /// From all entries, row-major. Equal rows and columns are found by hashing and compared in full.
  /// \pre entries.size() == rows * columns
  /// Complexity: O(rows * columns)
  [[nodiscard]] static cost_table from_entries(std::size_t rows, std::size_t columns, std::span<const Cost> entries) {
    std::vector<std::uint32_t> row_class(rows), column_class(columns);
    std::iota(row_class.begin(), row_class.end(), 0U);
    std::iota(column_class.begin(), column_class.end(), 0U);
    return merged(std::move(row_class), std::move(column_class), rows, columns,
                  padded(rows, columns, [&](std::size_t i, std::size_t j) { return entries[i * columns + j]; }));
  }

  /// The same from entries with few distinct values: those, in any order and each once, and the number of each entry.
  /// \pre codes.size() == rows * columns, each below values.size()
  /// Complexity: O(rows * columns), of two bytes each
  [[nodiscard]] static cost_table from_codes(std::size_t rows, std::size_t columns, std::span<const Cost> values,
                                             std::span<const std::uint16_t> codes) {
    if (std::ranges::count(values, Cost{}) > 1) {  // zero and negative zero, which are equal
      std::vector<Cost> entries(codes.size());
      std::ranges::transform(codes, entries.begin(), [&](std::uint16_t code) { return values[code]; });
      return from_entries(rows, columns, entries);
    }
    const auto [of_rows, of_columns] = detail::distinct_rows_and_columns(codes, rows, columns);
    const auto entry = [&](std::size_t i, std::size_t j) {
      return values[codes[of_rows.first[i] * columns + of_columns.first[j]]];
    };
    return from_distinct_classes(of_rows.number_of, of_columns.number_of, of_rows.first.size(), of_columns.first.size(),
                                 entry);
  }

  /// From classes that the caller knows: `cost(i, j)` is the cost between row class i and column class j. Classes that
  /// are equal, or that no row or column has, are removed.
  /// \pre every class is below its count
  template <class ClassCost>
  [[nodiscard]] static cost_table from_classes(std::vector<std::uint32_t> row_class,
                                               std::vector<std::uint32_t> column_class, std::size_t row_classes,
                                               std::size_t column_classes, ClassCost cost) {
    const auto rows = detail::number_used(row_class, row_classes);
    const auto columns = detail::number_used(column_class, column_classes);
    return merged(std::move(row_class), std::move(column_class), rows.size(), columns.size(),
                  padded(rows.size(), columns.size(),
                         [&](std::size_t i, std::size_t j) -> Cost { return cost(rows[i], columns[j]); }));
  }

  /// The same from costs in memory, row-major, with rows padded by forbidden entries; takes over that memory.
  /// \pre costs.size() == row_classes * padded_size(column_classes)
  [[nodiscard]] static cost_table from_class_rows(std::vector<std::uint32_t> row_class,
                                                  std::vector<std::uint32_t> column_class, std::size_t row_classes,
                                                  std::size_t column_classes, std::vector<Cost> costs) {
    const auto rows = detail::number_used(row_class, row_classes);
    const auto columns = detail::number_used(column_class, column_classes);
    const bool are_all = rows.size() == row_classes && columns.size() == column_classes &&
                         std::ranges::is_sorted(rows) && std::ranges::is_sorted(columns);
    if (!are_all)
      costs = padded(rows.size(), columns.size(), [&](std::size_t i, std::size_t j) {
        return costs[rows[i] * padded_size(column_classes) + columns[j]];
      });
    return merged(std::move(row_class), std::move(column_class), rows.size(), columns.size(), std::move(costs));
  }

  /// From classes that stay distinct even where their costs are equal: for costs that will change.
  /// \pre every class is below its count
  template <class ClassCost>
  [[nodiscard]] static cost_table from_distinct_classes(std::vector<std::uint32_t> row_class,
                                                        std::vector<std::uint32_t> column_class,
                                                        std::size_t row_classes, std::size_t column_classes,
                                                        ClassCost cost) {
    return cost_table(std::move(row_class), std::move(column_class), row_classes, column_classes,
                      padded(row_classes, column_classes, cost));
  }

  /// The stride of a table with so many column classes.
  [[nodiscard]] static constexpr std::size_t padded_size(std::size_t column_classes) {
    return (column_classes + padding - 1) / padding * padding;
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
  /// The costs of row class i, `stride()` of them, the last ones padding. A packed table is unpacked at the first call,
  /// and keeps the result.
  [[nodiscard]] const Cost* class_row(std::size_t i) const { return costs_.data() + i * stride_; }
  /// The least cost of all. \pre neither side is empty
  [[nodiscard]] Cost least() const {
    Cost result = costs_[0];
    for (std::size_t k = 1; k < costs_.size(); ++k) result = std::min(result, costs_[k]);  // padding costs most
    return result;
  }
  /// The greatest cost of all, forbidden ones included. \pre neither side is empty
  [[nodiscard]] Cost most() const {
    Cost result = class_cost(0, 0);
    for (std::size_t i = 0; i < row_classes_; ++i)
      for (std::size_t j = 0; j < column_classes_; ++j) result = std::max(result, class_cost(i, j));
    return result;
  }
  [[nodiscard]] Cost operator()(std::size_t row, std::size_t column) const {
    return class_cost(row_class_[row], column_class_[column]);
  }

  /// The same in another type of cost; forbidden stays forbidden.
  template <cost_value Other>
  [[nodiscard]] cost_table<Other> in() const {
    if constexpr (std::same_as<Other, Cost>) {
      return *this;  // shares the costs
    } else {
      return cost_table<Other>::from_distinct_classes(
          row_class_, column_class_, row_classes_, column_classes_, [&](std::size_t i, std::size_t j) {
            const Cost c = class_cost(i, j);
            return is_forbidden(c) ? forbidden<Other> : static_cast<Other>(c);
          });
    }
  }

  /// The transposed table, with the same classes.
  [[nodiscard]] cost_table transposed() const {
    return from_distinct_classes(column_class_, row_class_, column_classes_, row_classes_,
                                 [&](std::size_t i, std::size_t j) { return class_cost(j, i); });
  }

  /// The submatrix of the listed rows and columns.
  [[nodiscard]] cost_table selected(std::span<const strategy> rows, std::span<const strategy> columns) const {
    std::vector<std::uint32_t> row_class(rows.size()), column_class(columns.size());
    std::transform(rows.begin(), rows.end(), row_class.begin(), [&](strategy a) { return row_class_[a]; });
    std::transform(columns.begin(), columns.end(), column_class.begin(), [&](strategy b) { return column_class_[b]; });
    cost_table result = with_classes(std::move(row_class), std::move(column_class));
    if (!is_packed()) result.share_costs(*this);  // if no class was removed
    return result;
  }

  /// A table of the same size that agrees on the listed rows and columns; the others equal the first listed.
  /// \pre neither list is empty
  [[nodiscard]] cost_table blurred(std::span<const strategy> rows, std::span<const strategy> columns) const {
    std::vector<std::uint32_t> row_class(row_class_.size(), row_class_[rows.front()]);
    std::vector<std::uint32_t> column_class(column_class_.size(), column_class_[columns.front()]);
    for (const strategy a : rows) row_class[a] = row_class_[a];
    for (const strategy b : columns) column_class[b] = column_class_[b];
    return with_classes(std::move(row_class), std::move(column_class));
  }

  /// `count` times every cost.
  [[nodiscard]] cost_table scaled(std::size_t count) const {
    return from_distinct_classes(row_class_, column_class_, row_classes_, column_classes_,
                                 [&](std::size_t i, std::size_t j) { return times(class_cost(i, j), count); });
  }

  /// The sum, entry by entry; its classes are pairs of classes.
  /// \pre equal numbers of rows and of columns
  friend cost_table operator+(const cost_table& a, const cost_table& b) {
    std::vector<std::uint32_t> row_class, column_class;
    const auto rows = detail::pair_up(a.row_class_, a.row_classes_, b.row_class_, b.row_classes_, row_class);
    const auto columns =
        detail::pair_up(a.column_class_, a.column_classes_, b.column_class_, b.column_classes_, column_class);
    return from_classes(
        std::move(row_class), std::move(column_class), rows.size(), columns.size(), [&](std::size_t i, std::size_t j) {
          return plus(a.class_cost(rows[i].first, columns[j].first), b.class_cost(rows[i].second, columns[j].second));
        });
  }

  friend bool operator==(const cost_table& a, const cost_table& b) {
    return a.row_class_ == b.row_class_ && a.column_class_ == b.column_class_ && a.has_equal_costs(b);
  }
  /// Whether the class costs are equal, whatever strategies have the classes.
  [[nodiscard]] bool has_equal_costs(const cost_table& other) const {
    return row_classes_ == other.row_classes_ && column_classes_ == other.column_classes_ && costs_ == other.costs_;
  }
  /// Shares the class costs of a table that has equal ones, and frees its own.
  /// \returns whether the other has
  bool share_costs(const cost_table& other) {
    if (!has_equal_costs(other)) return false;
    costs_ = other.costs_;
    return true;
  }

  /// The same table with its class costs packed if they are many and few of them distinct: less memory, slower access.
  /// Tables of solvers are not packed.
  [[nodiscard]] cost_table packed() const {
    cost_table result = *this;
    result.costs_ = costs_.packed();
    return result;
  }
  [[nodiscard]] bool is_packed() const { return costs_.is_packed(); }
  /// The same table, not packed.
  [[nodiscard]] cost_table unpacked() const {
    if (!is_packed()) return *this;
    return from_distinct_classes(row_class_, column_class_, row_classes_, column_classes_,
                                 [&](std::size_t i, std::size_t j) { return class_cost(i, j); });
  }

  /// For interning equal tables.
  [[nodiscard]] std::size_t hash() const { return hash(cost_hash()); }
  [[nodiscard]] std::size_t hash(std::size_t hash_of_costs) const {
    return hash_combine(hash_combine(sequence_hash{}(row_class_), sequence_hash{}(column_class_)), hash_of_costs);
  }
  /// For finding tables that can share their costs.
  [[nodiscard]] std::size_t cost_hash() const { return costs_.hash(); }

 private:
  cost_table(std::vector<std::uint32_t> row_class, std::vector<std::uint32_t> column_class, std::size_t row_classes,
             std::size_t column_classes, std::vector<Cost> costs)
      : row_class_(std::move(row_class)),
        column_class_(std::move(column_class)),
        row_classes_(row_classes),
        column_classes_(column_classes),
        stride_(padded_size(column_classes)),
        costs_(std::move(costs)) {}

  /// The same class costs for other strategies.
  [[nodiscard]] cost_table with_classes(std::vector<std::uint32_t> row_class,
                                        std::vector<std::uint32_t> column_class) const {
    return from_classes(std::move(row_class), std::move(column_class), row_classes_, column_classes_,
                        [this](std::size_t i, std::size_t j) { return class_cost(i, j); });
  }

  template <class ClassCost>
  static std::vector<Cost> padded(std::size_t rows, std::size_t columns, ClassCost cost) {
    const std::size_t stride = padded_size(columns);
    std::vector<Cost> costs(rows * stride, forbidden<Cost>);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) costs[i * stride + j] = cost(i, j);
    return costs;
  }

  /// Merges equal classes in place: reads stay behind writes.
  static cost_table merged(std::vector<std::uint32_t> row_class, std::vector<std::uint32_t> column_class,
                           std::size_t row_classes, std::size_t column_classes, std::vector<Cost> costs) {
    const std::size_t before = padded_size(column_classes);
    const auto [rows, columns] = detail::distinct_rows_and_columns<Cost>(costs, row_classes, column_classes, before);
    if (rows.first.size() < row_classes || columns.first.size() < column_classes) {
      for (std::uint32_t& c : row_class) c = rows.number_of[c];
      for (std::uint32_t& c : column_class) c = columns.number_of[c];
      row_classes = rows.first.size();
      column_classes = columns.first.size();
      const std::size_t stride = padded_size(column_classes);
      for (std::size_t i = 0; i < row_classes; ++i)
        for (std::size_t j = 0; j < stride; ++j)
          costs[i * stride + j] =
              j < column_classes ? costs[rows.first[i] * before + columns.first[j]] : forbidden<Cost>;
      costs.resize(row_classes * stride);
      costs.shrink_to_fit();
    }
    return cost_table(std::move(row_class), std::move(column_class), row_classes, column_classes, std::move(costs));
  }

  std::vector<std::uint32_t> row_class_;
  std::vector<std::uint32_t> column_class_;
  std::size_t row_classes_ = 0;
  std::size_t column_classes_ = 0;
  std::size_t stride_ = 0;
  detail::shared_costs<Cost> costs_;
};

/// Marks the classes of one end of a table that have a partner among the strategies left at the other end, as arc
/// consistency asks.
/// \param from_rows  whether what is left are rows
/// \param is_left    of a row, or of a column
/// \param there      working memory
/// \param met        the marks, per class of columns, or of rows
/// Complexity: O(rows + columns + pairs of classes)
template <class Cost, class IsLeft>
void mark_partners(const cost_table<Cost>& t, bool from_rows, const IsLeft& is_left, std::vector<char>& there,
                   std::vector<char>& met) {
  const auto own = from_rows ? t.row_class() : t.column_class();
  there.assign(from_rows ? t.row_classes() : t.column_classes(), 0);
  for (strategy s = 0; s < own.size(); ++s)
    if (is_left(s)) there[own[s]] = 1;
  met.assign(from_rows ? t.column_classes() : t.row_classes(), 0);
  std::size_t missing = met.size();
  for (std::size_t i = 0; i < t.row_classes() && missing > 0; ++i) {
    if (from_rows && there[i] == 0) continue;
    const Cost* const row = t.class_row(i);
    for (std::size_t j = 0; j < t.column_classes(); ++j) {
      char& is_met = met[from_rows ? j : i];
      if (is_met != 0 || is_forbidden(row[j]) || (!from_rows && there[j] == 0)) continue;
      is_met = 1;
      --missing;
      if (!from_rows) break;
    }
  }
}

}  // namespace shardweave::inline v0
