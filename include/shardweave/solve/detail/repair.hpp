#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// \file
/// Turns a labeling that breaks rows into one that keeps them.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Changes one label at a time: in the row that is broken most, the change that costs least per unit of what
/// it mends. A change must not forbid a pair.
/// \returns whether all rows are kept
/// Complexity: O(changes * (rows + segments * labels * degree of the variables in the worst row))
template <cost_value Cost>
bool repair(const compact_problem<Cost>& p, std::span<strategy> labels, std::size_t most_changes, const deadline& limit) {
  std::vector<double> used = p.usage(labels);
  const auto excess = [&](std::size_t r) {
    return std::max(used[r] - p.rows()[r].high, p.rows()[r].low - used[r]);
  };
  for (std::size_t change = 0; change <= most_changes; ++change) {
    std::size_t worst = 0;
    double worst_excess = 1e-6;
    for (std::size_t r = 0; r < used.size(); ++r) {
      const double scale = std::max(1.0, std::abs(p.rows()[r].high) < 1e300 ? std::abs(p.rows()[r].high) : 0);
      if (excess(r) > 1e-6 && excess(r) / scale > worst_excess / scale) {
        worst = r;
        worst_excess = excess(r);
      }
    }
    if (worst_excess <= 1e-6) return true;
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
        const double price = (static_cast<double>(after) - static_cast<double>(before)) / std::min(mended, worst_excess);
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

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
