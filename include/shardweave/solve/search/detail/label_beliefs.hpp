#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

/// \file
/// Bounds on labels from multipliers of the local polytope.

namespace shardweave::inline v0::detail {

/// The bound that multipliers prove: a constant plus the least reparametrized cost (belief) of each variable.
struct label_beliefs {
  double bound = 0;
  std::vector<double> excess;  ///< per label of all variables: its belief above the least one of its variable
};

/// The beliefs under multipliers `dual`.
/// Complexity: O(labels * degree + pairs of classes + labels * rows)
template <cost_value Cost>
[[nodiscard]] label_beliefs beliefs_by(const compact_problem<Cost>& p, const dual_values& dual) {
  label_beliefs result{static_cast<double>(p.constant()), std::vector<double>(p.total_labels())};
  std::vector<double>& belief = result.excess;
  std::vector<double> before(p.rows().size() + 1);  // sums of the prices of rows 0..r-1
  for (std::size_t r = 0; r < p.rows().size(); ++r) {
    const double price = dual.of_row[r];
    const bool counts = price != 0 && std::isfinite(price > 0 ? p.rows()[r].high : p.rows()[r].low);
    before[r + 1] = before[r] + (counts ? price : 0);
    if (counts) result.bound -= price * (price > 0 ? p.rows()[r].high : p.rows()[r].low) + std::abs(price) * 0x1p-18;
  }
  for (std::size_t x = 0; x < p.size(); ++x) {
    double* of = belief.data() + p.label_start(x);
    for (std::size_t l = 0; l < p.label_count(x); ++l) of[l] = static_cast<double>(p.unary(x)[l]);
    for (const usage_segment& s : p.segments(x))
      for (std::size_t l = 0; l < p.label_count(x); ++l) of[l] += (before[s.end] - before[s.begin]) * s.usage[l];
  }
  const std::vector<std::size_t> offsets = dual_offsets(p);
  for (std::size_t e = 0; e < p.edges().size(); ++e) {
    const compact_edge& edge = p.edges()[e];
    const auto& t = p.table(edge);
    const double* given = dual.of_class.data() + offsets[e] + t.row_classes();
    for (strategy l = 0; l < t.columns(); ++l) belief[p.label_start(edge.second) + l] -= given[t.column_class(l)];
    std::vector<double> rest(t.row_classes(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < t.row_classes(); ++i)
      for (std::size_t j = 0; j < t.column_classes(); ++j)
        if (!is_forbidden(t.class_cost(i, j)))
          rest[i] = std::min(rest[i], static_cast<double>(t.class_cost(i, j)) + given[j]);
    for (strategy l = 0; l < t.rows(); ++l) belief[p.label_start(edge.first) + l] += rest[t.row_class(l)];
  }
  for (std::size_t x = 0; x < p.size(); ++x) {
    const auto of = std::span(belief).subspan(p.label_start(x), p.label_count(x));
    const double least = *std::min_element(of.begin(), of.end());
    result.bound += least;
    for (double& b : of) b -= least;
  }
  return result;
}

}  // namespace shardweave::inline v0::detail
