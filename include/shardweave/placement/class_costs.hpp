#pragma once

#include <shardweave/placement/cost_table.hpp>

#include <Eigen/Core>

/// \file
/// Cost tables as matrices of Eigen, in a header of their own because few rooms need them.

namespace shardweave::inline v0 {

/// The class costs of a table, read in place.
template <cost_value Cost>
using class_costs_view = Eigen::Map<const Eigen::Array<Cost, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                                    Eigen::Aligned16, Eigen::OuterStride<>>;

/// The class costs of a table without its padding, one row per row class. Valid while the table exists.
/// Complexity: O(1)
template <cost_value Cost>
[[nodiscard]] class_costs_view<Cost> class_costs(const cost_table<Cost>& table) {
  const auto index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
  return {table.row_classes() == 0 ? nullptr : table.class_row(0), index(table.row_classes()),
          index(table.column_classes()), Eigen::OuterStride<>(index(table.stride()))};
}

}  // namespace shardweave::inline v0
