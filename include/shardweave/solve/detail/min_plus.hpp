#pragma once

#include <shardweave/placement/compact_problem.hpp>

#include <Eigen/Core>
#include <algorithm>
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
  std::vector<std::vector<double, Eigen::aligned_allocator<double>>> own_;
  std::vector<double_table> views_;
};

/// out[j] = min over i of h[i] + costs[i][j]. `out` has room for a whole padded row.
/// Complexity: O(rows * stride). Four rows are read side by side, each from left to right, as memory likes it;
/// the minima stay in the first-level cache.
inline void min_plus_columns(const double_table& t, const double* h, double* out) {
  using lanes = Eigen::Array<double, 4, 1>;
  using view = Eigen::Map<const lanes>;
  std::fill_n(out, t.stride, std::numeric_limits<double>::infinity());
  std::size_t i = 0;
  for (; i + 4 <= t.rows; i += 4) {
    const double* a = t.costs + i * t.stride;
    const double* b = a + t.stride;
    const double* c = b + t.stride;
    const double* d = c + t.stride;
    for (std::size_t j = 0; j < t.stride; j += 4) {
      const lanes low = (view(a + j) + h[i]).min(view(b + j) + h[i + 1]);
      const lanes high = (view(c + j) + h[i + 2]).min(view(d + j) + h[i + 3]);
      Eigen::Map<lanes>{out + j} = low.min(high).min(view(out + j));
    }
  }
  for (; i < t.rows; ++i)
    for (std::size_t j = 0; j < t.stride; j += 4)
      Eigen::Map<lanes>{out + j} = (view(t.costs + i * t.stride + j) + h[i]).min(view(out + j));
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
    using lanes = Eigen::Array<double, 4, 1>;
    const auto at = [&](std::size_t row, std::size_t j) {
      return Eigen::Map<const lanes>(rows[row].costs + j) + rows[row].by;
    };
    for (; i + 4 <= rows.size(); i += 4)
      for (std::size_t j = 0; j < stride; j += 4) {
        const lanes low = at(i, j).min(at(i + 1, j)), high = at(i + 2, j).min(at(i + 3, j));
        Eigen::Map<lanes>{out + j} = low.min(high).min(Eigen::Map<const lanes>(out + j));
      }
  }
  for (; i < rows.size(); ++i)
    for (std::size_t j = 0; j < stride; ++j) out[j] = std::min(out[j], plus(rows[i].by, rows[i].costs[j]));
}

/// out[i] = min over j of h[j] + costs[i][j]. `h` is readable for a whole padded row and finite there.
/// Complexity: O(rows * stride). Two rows share what is loaded of `h`.
inline void min_plus_rows(const double_table& t, const double* h, double* out) {
  using lanes = Eigen::Array<double, 4, 1>;
  using view = Eigen::Map<const lanes>;
  const lanes nothing = lanes::Constant(std::numeric_limits<double>::infinity());
  std::size_t i = 0;
  for (; i + 2 <= t.rows; i += 2) {
    const double* a = t.costs + i * t.stride;
    const double* b = a + t.stride;
    lanes of_a = nothing, of_b = nothing;
    for (std::size_t j = 0; j < t.stride; j += 4) {
      of_a = of_a.min(view(a + j) + view(h + j));
      of_b = of_b.min(view(b + j) + view(h + j));
    }
    out[i] = of_a.minCoeff();
    out[i + 1] = of_b.minCoeff();
  }
  if (i < t.rows) {
    lanes least = nothing;
    for (std::size_t j = 0; j < t.stride; j += 4) least = least.min(view(t.costs + i * t.stride + j) + view(h + j));
    out[i] = least.minCoeff();
  }
}

}  // namespace shardweave::inline v0::detail
