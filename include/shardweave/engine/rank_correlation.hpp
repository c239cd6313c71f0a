#pragma once

#include <shardweave/core/error.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

/// \file
/// Whether two lists of figures agree on the order.

namespace shardweave::inline v0 {

/// Kendall's tau-b: 1 if both lists order every pair alike, -1 if they order every pair the other way round. Ties of
/// one list count neither way; not a number if a list is all ties.
/// \pre the lists are equally long
/// Complexity: O(n^2)
[[nodiscard]] inline double rank_correlation(std::span<const double> a, std::span<const double> b) {
  SHARDWEAVE_EXPECTS(a.size() == b.size());
  double agreed = 0, in_a = 0, in_b = 0;
  const auto sign = [](double d) { return d > 0 ? 1.0 : d < 0 ? -1.0 : 0.0; };
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double x = sign(a[i] - a[j]), y = sign(b[i] - b[j]);
      agreed += x * y;
      in_a += x * x;
      in_b += y * y;
    }
  if (in_a == 0 || in_b == 0) return std::numeric_limits<double>::quiet_NaN();
  return agreed / std::sqrt(in_a * in_b);
}

/// Spearman's: the correlation of the places that the lists give their figures; equal figures share the mean of theirs.
/// Not a number if a list is all ties.
/// \pre the lists are equally long
/// Complexity: O(n^2)
[[nodiscard]] inline double place_correlation(std::span<const double> a, std::span<const double> b) {
  SHARDWEAVE_EXPECTS(a.size() == b.size());
  const auto n = static_cast<double>(a.size());
  // of a figure: how many are below it, less how many are above; means of these are 0
  const auto place = [](std::span<const double> list, double x) {
    double below = 0;
    for (const double y : list) below += y < x ? 1.0 : y > x ? -1.0 : 0.0;
    return below;
  };
  double together = 0, in_a = 0, in_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = place(a, a[i]) / n, y = place(b, b[i]) / n;
    together += x * y;
    in_a += x * x;
    in_b += y * y;
  }
  if (in_a == 0 || in_b == 0) return std::numeric_limits<double>::quiet_NaN();
  return together / std::sqrt(in_a * in_b);
}

}  // namespace shardweave::inline v0
