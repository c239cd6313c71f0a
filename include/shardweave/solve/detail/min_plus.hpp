#pragma once

#include <shardweave/placement/compact_problem.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

/// \file
/// The inner loop of message passing: min-plus products of a vector with a class table.

namespace shardweave {
inline namespace v0 {
namespace detail {

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
    for (const auto& table : problem.tables()) {
      double_table view{nullptr, table->row_classes(), table->column_classes(), table->stride()};
      if constexpr (std::same_as<Cost, double>) {
        view.costs = table->class_row(0);
      } else {
        auto& copy = converted_.emplace_back(view.rows * view.stride, std::numeric_limits<double>::infinity());
        for (std::size_t i = 0; i < view.rows; ++i)
          for (std::size_t j = 0; j < view.columns; ++j)
            if (!is_forbidden(table->class_cost(i, j)))
              copy[i * view.stride + j] = static_cast<double>(table->class_cost(i, j));
        view.costs = copy.data();
      }
      views_.push_back(view);
    }
  }
  double_tables(const double_tables&) = delete;
  double_tables& operator=(const double_tables&) = delete;

  [[nodiscard]] const double_table& operator[](std::size_t table) const { return views_[table]; }

 private:
  std::vector<std::vector<double, Eigen::aligned_allocator<double>>> converted_;
  std::vector<double_table> views_;
};

/// out[j] = min over i of h[i] + costs[i][j]. `out` has room for a whole padded row.
/// Complexity: O(rows * stride), four columns at a time with the minima in registers
inline void min_plus_columns(const double_table& t, const double* h, double* out) {
  using lanes = Eigen::Array<double, 4, 1>;
  std::size_t j = 0;
  for (; j + 8 <= t.stride; j += 8) {
    lanes low = lanes::Constant(std::numeric_limits<double>::infinity()), high = low;
    const double* row = t.costs + j;
    for (std::size_t i = 0; i < t.rows; ++i, row += t.stride) {
      low = low.min(Eigen::Map<const lanes>(row) + h[i]);
      high = high.min(Eigen::Map<const lanes>(row + 4) + h[i]);
    }
    Eigen::Map<lanes>{out + j} = low;
    Eigen::Map<lanes>{out + j + 4} = high;
  }
  for (; j < t.stride; j += 4) {
    lanes low = lanes::Constant(std::numeric_limits<double>::infinity());
    const double* row = t.costs + j;
    for (std::size_t i = 0; i < t.rows; ++i, row += t.stride) low = low.min(Eigen::Map<const lanes>(row) + h[i]);
    Eigen::Map<lanes>{out + j} = low;
  }
}

/// out[i] = min over j of h[j] + costs[i][j]. `h` is readable for a whole padded row and finite there.
inline void min_plus_rows(const double_table& t, const double* h, double* out) {
  using lanes = Eigen::Array<double, 4, 1>;
  for (std::size_t i = 0; i < t.rows; ++i) {
    const double* row = t.costs + i * t.stride;
    lanes least = lanes::Constant(std::numeric_limits<double>::infinity());
    for (std::size_t j = 0; j < t.stride; j += 4)
      least = least.min(Eigen::Map<const lanes>(row + j) + Eigen::Map<const lanes>(h + j));
    out[i] = least.minCoeff();
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
