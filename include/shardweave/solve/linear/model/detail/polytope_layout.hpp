#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// \file
/// The columns and rows of the labels and pairs of a compact problem in a linear program.

namespace shardweave::inline v0::detail {

/// The columns and rows of a local polytope.
struct polytope_layout {
  static constexpr std::uint32_t absent = ~std::uint32_t{0};

  /// A pair of classes of an edge.
  struct pair_column {
    std::uint32_t edge, row, column, number;
  };

  std::vector<std::size_t> offsets;      ///< of the classes of every edge, see `dual_offsets`
  std::vector<std::size_t> choices;      ///< present labels per variable
  std::vector<char> folded;              ///< per edge: no columns, its costs are part of the labels'
  std::vector<std::uint32_t> column;     ///< per label
  std::vector<std::uint32_t> class_row;  ///< per class of every edge
  std::vector<pair_column> pairs;        ///< edge by edge
  std::vector<std::size_t> pair_start;   ///< per edge, and their number

  [[nodiscard]] bool decided(std::size_t x) const { return choices[x] == 1; }
  [[nodiscard]] std::span<const pair_column> pairs_of(std::size_t edge) const {
    return std::span(pairs).subspan(pair_start[edge], pair_start[edge + 1] - pair_start[edge]);
  }
};

/// Whether the costs of an edge over its present pairs are a sum of one term per end, so that it needs no columns; then
/// also what to move from its pairs to the labels.
/// \param of_class   set to the cost that each class takes over, negated; row classes, then column classes
/// \param one_sided  only if one end has one class left
/// Complexity: O(pairs of classes)
template <cost_value Cost>
[[nodiscard]] bool fold_edge(const cost_table<Cost>& t, std::size_t edge, const presence& present, bool one_sided,
                             double* of_class) {
  std::vector<char> row(t.row_classes()), column(t.column_classes());
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < row.size(); ++i)
    for (std::size_t j = 0; j < column.size(); ++j)
      if (present.has_pair(edge, i * column.size() + j)) {
        row[i] = column[j] = 1;
        ++pairs;
      }
  const auto rows = static_cast<std::size_t>(std::count(row.begin(), row.end(), char{1}));
  const auto columns = static_cast<std::size_t>(std::count(column.begin(), column.end(), char{1}));
  if (pairs != rows * columns || pairs == 0 || (one_sided && rows > 1 && columns > 1)) return false;
  const auto i0 = static_cast<std::size_t>(std::find(row.begin(), row.end(), char{1}) - row.begin());
  const auto j0 = static_cast<std::size_t>(std::find(column.begin(), column.end(), char{1}) - column.begin());
  const auto at = [&](std::size_t i, std::size_t j) { return static_cast<double>(t.class_cost(i, j)); };
  bool sum = true;  // a single row or column always is, whatever rounding
  for (std::size_t i = 0; i < row.size() && sum && rows > 1 && columns > 1; ++i)
    for (std::size_t j = 0; j < column.size() && sum; ++j)
      sum = row[i] == 0 || column[j] == 0 || at(i, j) == at(i, j0) + (at(i0, j) - at(i0, j0));
  if (!sum) return false;
  std::fill(of_class, of_class + row.size() + column.size(), 0.0);
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i] != 0 && rows > 1) of_class[i] = -at(i, j0);
  for (std::size_t j = 0; j < column.size(); ++j)
    if (column[j] != 0) of_class[row.size() + j] = rows == 1 ? -at(i0, j) : -(at(i0, j) - at(i0, j0));
  return true;
}

/// Adds a column per present pair of classes of every edge that is not folded, and the rows that link them to the
/// columns of labels.
/// \throws error (input) for a cost that is not a number
/// Complexity: O(labels * degree + pairs of classes)
template <cost_value Cost>
void add_pair_columns(const compact_problem<Cost>& p, const presence& present, polytope_layout& at,
                      linear_model& model) {
  at.class_row.assign(at.offsets.back(), polytope_layout::absent);
  for (std::size_t e = 0; e < p.edges().size(); ++e) {
    at.pair_start.push_back(at.pairs.size());
    if (at.folded[e] != 0) continue;
    const compact_edge& edge = p.edges()[e];
    const auto& t = p.table(edge);
    double least = std::numeric_limits<double>::infinity();
    const auto for_pairs = [&](auto f) {
      for (std::size_t i = 0; i < t.row_classes(); ++i)
        for (std::size_t j = 0; j < t.column_classes(); ++j)
          if (present.has_pair(e, i * t.column_classes() + j)) f(i, j, static_cast<double>(t.class_cost(i, j)));
    };
    std::vector<char> seen(t.row_classes() + t.column_classes());
    for_pairs([&](std::size_t i, std::size_t j, double c) {
      if (std::isnan(c))
        refuse(error_category::input, "the edge between variables " + std::to_string(edge.first) + " and " +
                                          std::to_string(edge.second) + " has a cost that is not a number");
      least = std::min(least, c);
      seen[i] = seen[t.row_classes() + j] = 1;
    });
    model.offset += least;
    std::uint32_t* rows = at.class_row.data() + at.offsets[e];
    for (std::size_t k = 0; k < seen.size(); ++k)
      if (seen[k] != 0) rows[k] = model.add_row({0, 0});
    // the rows of one side have the same sum as those of the other: one of them is redundant
    const auto last = std::find_if(seen.rbegin(), seen.rend(), [](char s) { return s != 0; });
    const auto spare = static_cast<std::size_t>(seen.rend() - last) - 1;
    model.rows.pop_back();
    rows[spare] = polytope_layout::absent;
    for_pairs([&](std::size_t i, std::size_t j, double c) {
      const std::uint32_t number = model.add_column({0, std::numeric_limits<double>::infinity(), c - least, false});
      at.pairs.push_back(
          {static_cast<std::uint32_t>(e), static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), number});
      if (rows[i] != polytope_layout::absent) model.add_entry(rows[i], number, -1);
      if (rows[t.row_classes() + j] != polytope_layout::absent) model.add_entry(rows[t.row_classes() + j], number, -1);
    });
    const auto join = [&](std::size_t x, auto classes, std::size_t first) {
      for (std::size_t l = 0; l < p.label_count(x); ++l)
        if (const std::uint32_t c = at.column[p.label_start(x) + l];
            c != polytope_layout::absent && rows[first + classes[l]] != polytope_layout::absent)
          model.add_entry(rows[first + classes[l]], c, 1);
    };
    join(edge.first, t.row_class(), 0);
    join(edge.second, t.column_class(), t.row_classes());
  }
  at.pair_start.push_back(at.pairs.size());
}

/// Names that refer to the problem: column `v7.s3` is strategy 3 of vertex 7 (of tied vertices, the first),
/// `pair5.r0.c2` a pair of classes of edge 5 of `p`; row `v7` selects one strategy of vertex 7, `pair5.v7.r0` equates
/// the weight of its class 0 with that of its pairs.
/// \pre the rows of variables come first
template <cost_value Cost, cost_value Stated>
void name_labels_and_pairs(const compact_problem<Cost>& p, const placement_problem<Stated>& problem,
                           const polytope_layout& at, linear_names& names) {
  std::vector<std::string> vertex(p.size());
  for (std::size_t v = problem.vertex_count(); v-- > 0;) vertex[problem.variable_of(v)] = "v" + std::to_string(v);
  std::size_t next = 0;
  for (std::size_t x = 0; x < p.size(); ++x) {
    if (at.decided(x)) continue;
    names.rows[next++] = vertex[x];
    for (strategy l = 0; l < p.label_count(x); ++l)
      if (const std::uint32_t c = at.column[p.label_start(x) + l]; c != polytope_layout::absent)
        names.columns[c] = vertex[x] + ".s" + std::to_string(problem.strategy_of(x, l));
  }
  for (std::size_t e = 0; e < p.edges().size(); ++e) {
    const compact_edge& edge = p.edges()[e];
    const std::size_t rows = p.table(edge).row_classes();
    for (std::size_t k = at.offsets[e]; k < at.offsets[e + 1]; ++k) {
      if (at.class_row[k] == polytope_layout::absent) continue;
      const std::size_t i = k - at.offsets[e];
      names.rows[at.class_row[k]] = "pair" + std::to_string(e) + "." +
                                    (i < rows ? vertex[edge.first] + ".r" + std::to_string(i)
                                              : vertex[edge.second] + ".c" + std::to_string(i - rows));
    }
  }
  for (const auto& pair : at.pairs)
    names.columns[pair.number] =
        "pair" + std::to_string(pair.edge) + ".r" + std::to_string(pair.row) + ".c" + std::to_string(pair.column);
}

}  // namespace shardweave::inline v0::detail
