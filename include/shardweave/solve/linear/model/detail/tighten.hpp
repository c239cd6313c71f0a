#pragma once

#include <shardweave/solve/bound/dual_bound.hpp>

#include <cstddef>
#include <vector>

/// \file
/// Arc consistency of the labels and pairs that a linear program keeps.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Drops labels without a partner over some edge, and pairs of classes that no label has left.
/// \returns false if some variable has no label left
/// Complexity: O(labels * degree + pairs) per round; few rounds in practice
template <cost_value Cost>
bool tighten(const compact_problem<Cost>& p, presence& present) {
  std::vector<char> row, column, row_met, column_met;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t e = 0; e < p.edges().size(); ++e) {
      const compact_edge& edge = p.edges()[e];
      const auto& t = p.table(edge);
      const auto mark = [&](std::size_t x, auto classes, std::size_t count, std::vector<char>& seen) {
        seen.assign(count, 0);
        for (std::size_t l = 0; l < p.label_count(x); ++l)
          if (present.has_label(p.label_start(x) + l)) seen[classes[l]] = 1;
      };
      mark(edge.first, t.row_class(), t.row_classes(), row);
      mark(edge.second, t.column_class(), t.column_classes(), column);
      row_met.assign(row.size(), 0);
      column_met.assign(column.size(), 0);
      for (std::size_t i = 0; i < row.size(); ++i)
        for (std::size_t j = 0; j < column.size(); ++j) {
          const std::size_t at = i * column.size() + j;
          if (!present.has_pair(e, at)) continue;
          if (row[i] != 0 && column[j] != 0) {
            row_met[i] = column_met[j] = 1;
          } else {
            present.drop_pair(e, at);
          }
        }
      const auto drop = [&](std::size_t x, auto classes, const std::vector<char>& met) {
        for (std::size_t l = 0; l < p.label_count(x); ++l)
          if (present.has_label(p.label_start(x) + l) && met[classes[l]] == 0) {
            present.drop_label(p.label_start(x) + l);
            changed = true;
          }
      };
      drop(edge.first, t.row_class(), row_met);
      drop(edge.second, t.column_class(), column_met);
    }
  }
  for (std::size_t x = 0; x < p.size(); ++x) {
    bool any = false;
    for (std::size_t l = 0; l < p.label_count(x); ++l) any = any || present.has_label(p.label_start(x) + l);
    if (!any) return false;
  }
  return true;
}

}  // namespace detail

}  // namespace v0
}  // namespace shardweave
