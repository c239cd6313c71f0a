#pragma once

#include <shardweave/solve/linear/model/linear_model.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

/// \file
/// A linear model in the form that most engines load.

namespace shardweave::inline v0::detail {

/// The weights column by column, and limits in arrays of their own. Limits of whole numbers are whole.
/// \tparam Index  what the engine counts in
/// Complexity: linear in the model
template <class Index>
struct column_major {
  std::vector<Index> start, row;  ///< weights of column j: from start[j] up to start[j + 1]
  std::vector<double> weight, low, high, objective, row_low, row_high;

  /// \param infinity  what the engine takes for an absent limit
  /// \pre `model` is valid
  column_major(const linear_model& model, double infinity)
      : start(model.columns.size() + 1), row(model.entries.size()), weight(model.entries.size()) {
    const auto limit = [&](double value) { return std::isinf(value) ? std::copysign(infinity, value) : value; };
    for (const linear_column& c : model.columns) {
      low.push_back(limit(c.integer ? std::ceil(c.low) : c.low));
      high.push_back(limit(c.integer ? std::floor(c.high) : c.high));
      objective.push_back(c.objective);
    }
    for (const linear_row& r : model.rows) {
      row_low.push_back(limit(r.low));
      row_high.push_back(limit(r.high));
    }
    for (const linear_entry& e : model.entries) ++start[e.column + 1];
    for (std::size_t j = 0; j < model.columns.size(); ++j) start[j + 1] += start[j];
    std::vector<Index> next(start.begin(), start.end() - 1);
    for (const linear_entry& e : model.entries) {
      const auto at = static_cast<std::size_t>(next[e.column]++);
      row[at] = static_cast<Index>(e.row);
      weight[at] = e.value;
    }
  }
};

}  // namespace shardweave::inline v0::detail
