#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/solve/detail/four_rows.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

/// \file
/// The inner loop of message passing: min-plus products of a vector with a class table.

namespace shardweave::inline v0::detail {

/// Class costs in double, rows padded by +infinity to a multiple of four.
struct double_table {
  const double* costs = nullptr;
  std::size_t rows = 0;     ///< row classes
  std::size_t columns = 0;  ///< column classes
  std::size_t stride = 0;
};

/// The distinct tables of a problem in double: those of a problem in double as they are, others converted.
template <cost_value Cost>
class double_tables {
 public:
  explicit double_tables(const compact_problem<Cost>& problem) {
    if constexpr (!std::same_as<Cost, double>) converted_ = problem.costs_in_double();
    for (std::size_t t = 0; t < problem.tables().size(); ++t) {
      const cost_table<Cost>& table = *problem.tables()[t];
      double_table view{nullptr, table.row_classes(), table.column_classes(), table.stride()};
      if constexpr (std::same_as<Cost, double>) {
        view.costs = table.class_row(0);
      } else {
        view.costs = (*converted_)[t].data();
      }
      views_.push_back(view);
    }
  }
  double_tables(const double_tables&) = delete;
  double_tables& operator=(const double_tables&) = delete;

  [[nodiscard]] const double_table& operator[](std::size_t table) const { return views_[table]; }

  /// A copy of a table for a caller who changes costs between passes; rows are `stride` apart.
  [[nodiscard]] double* own(std::size_t table) {
    double_table& view = views_[table];
    auto& copy = own_.emplace_back(view.costs, view.costs + view.rows * view.stride);
    view.costs = copy.data();
    return copy.data();
  }

 private:
  std::shared_ptr<const std::vector<std::vector<double>>> converted_;
  std::vector<std::vector<double>> own_;
  std::vector<double_table> views_;
};

/// out[j] = min over i of h[i] + costs[i][j]. `out` has room for a whole padded row.
/// Complexity: O(rows * stride). Four rows are read side by side, each from left to right, as memory likes it;
/// the minima stay in the first-level cache.
inline void min_plus_columns(const double_table& t, const double* h, double* out) {
  std::fill_n(out, t.stride, std::numeric_limits<double>::infinity());
  const double* row = t.costs;
  std::size_t i = 0;
  for (; i + 4 <= t.rows; i += 4, row += 4 * t.stride)
    least_down({row, row + t.stride, row + 2 * t.stride, row + 3 * t.stride}, h + i, t.stride, out);
  for (; i < t.rows; ++i, row += t.stride)
    for (std::size_t j = 0; j < t.stride; ++j) out[j] = std::min(out[j], row[j] + h[i]);
}

/// A row of costs and what is added to each of them.
template <cost_value Cost>
struct raised_row {
  Cost by{};
  const Cost* costs = nullptr;
};

/// out[j] = min over the rows of what the row is raised by + its costs[j], for rows of `stride` costs.
/// \pre no row is raised by a forbidden cost
/// Complexity: O(rows * stride), four rows side by side
template <cost_value Cost>
void least_of_rows(std::span<const raised_row<Cost>> rows, std::size_t stride, Cost* out) {
  std::fill_n(out, stride, forbidden<Cost>);
  std::size_t i = 0;
  if constexpr (std::same_as<Cost, double>) {
    for (; i + 4 <= rows.size(); i += 4) {
      const std::array raised{rows[i].by, rows[i + 1].by, rows[i + 2].by, rows[i + 3].by};
      least_down({rows[i].costs, rows[i + 1].costs, rows[i + 2].costs, rows[i + 3].costs}, raised.data(), stride, out);
    }
  }
  for (; i < rows.size(); ++i)
    for (std::size_t j = 0; j < stride; ++j) out[j] = std::min(out[j], plus(rows[i].by, rows[i].costs[j]));
}

/// out[i] = min over j of h[j] + costs[i][j]. `h` is readable for a whole padded row, and finite in the padding.
/// Complexity: O(rows * stride). Four rows share what is loaded of `h`.
inline void min_plus_rows(const double_table& t, const double* h, double* out) {
  const double* row = t.costs;
  std::size_t i = 0;
  for (; i + 4 <= t.rows; i += 4, row += 4 * t.stride)
    least_along({row, row + t.stride, row + 2 * t.stride, row + 3 * t.stride}, h, t.stride, out + i);
  for (; i < t.rows; ++i, row += t.stride) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < t.stride; ++j) least = std::min(least, row[j] + h[j]);
    out[i] = least;
  }
}

}  // namespace shardweave::inline v0::detail
