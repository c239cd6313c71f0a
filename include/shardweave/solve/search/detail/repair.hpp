#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// \file
/// Fast repair of rows that a labeling exceeds.

namespace shardweave::inline v0::detail {

/// Greedy: changes one label at a time, the cheapest change per unit of reduced excess in the row with the largest
/// excess relative to its limit, never into a forbidden pair. It does not backtrack, so it stays close to the given
/// labeling, which prices have made nearly feasible; `label_repair` starts from any labeling, at any cost.
/// \param per_variable  it ends after so many changes per variable, and 50: rows may send a label back and forth
/// \returns whether all rows are kept
/// Complexity: O(changes * (rows + segments * labels * degree of the variables in the worst row))
template <cost_value Cost>
bool repair(const compact_problem<Cost>& p, std::span<strategy> labels, const deadline& limit,
            double per_variable = 2) {
  const std::size_t most_changes = 50 + static_cast<std::size_t>(per_variable * static_cast<double>(p.size()));
  std::vector<double> used = p.usage(labels);
  const auto excess = [&](std::size_t r) { return std::max(used[r] - p.rows()[r].high, p.rows()[r].low - used[r]); };
  for (std::size_t change = 0; change <= most_changes; ++change) {
    std::size_t worst = 0;
    double worst_share = 0;
    for (std::size_t r = 0; r < used.size(); ++r) {
      if (excess(r) <= budget_tolerance) continue;
      const usage_row& row = p.rows()[r];
      const double share = excess(r) / std::max(1.0, std::abs(used[r] > row.high ? row.high : row.low));
      if (share > worst_share) {
        worst = r;
        worst_share = share;
      }
    }
    if (worst_share == 0) return true;
    const double worst_excess = excess(worst);
    if (change == most_changes || limit.expired()) return false;

    const bool too_much = used[worst] > p.rows()[worst].high;
    double best_price = std::numeric_limits<double>::infinity();
    std::uint32_t best_variable = 0;
    strategy best_label = 0;
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      const auto segments = p.segments(x);
      if (std::none_of(segments.begin(), segments.end(),
                       [&](const usage_segment& s) { return s.begin <= worst && worst < s.end; }))
        continue;
      for (strategy l = 0; l < p.label_count(x); ++l) {
        double mended = 0;
        for (const usage_segment& s : segments)
          if (s.begin <= worst && worst < s.end) mended += (too_much ? 1 : -1) * (s.usage[labels[x]] - s.usage[l]);
        if (mended <= 0) continue;
        Cost before = p.unary(x)[labels[x]], after = p.unary(x)[l];
        for (const compact_link& link : p.links(x)) {
          before = plus(before, p.link_cost(link, labels[x], labels[link.other]));
          after = plus(after, p.link_cost(link, l, labels[link.other]));
        }
        if (is_forbidden(after)) continue;
        const double price =
            (static_cast<double>(after) - static_cast<double>(before)) / std::min(mended, worst_excess);
        if (price < best_price) {
          best_price = price;
          best_variable = x;
          best_label = l;
        }
      }
    }
    if (best_price == std::numeric_limits<double>::infinity()) return false;
    for (const usage_segment& s : p.segments(best_variable))
      for (std::uint32_t r = s.begin; r < s.end; ++r) used[r] += s.usage[best_label] - s.usage[labels[best_variable]];
    labels[best_variable] = best_label;
  }
  return false;
}

}  // namespace shardweave::inline v0::detail
