#pragma once

#include <shardweave/placement/compact_problem.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Where to branch: at the variable whose labels use the rows most differently.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// A variable, and its labels in two parts, the one with the better label first.
struct two_way_split {
  std::size_t variable = 0;
  std::array<std::vector<strategy>, 2> halves = {};
};

/// Parts the labels of a variable at the widest step in `measure`, its finite ones.
/// \param least  bounds on what a labeling with the label costs
inline two_way_split split_at_widest_step(std::size_t variable, std::span<const double> measure,
                                          std::span<const double> least) {
  std::vector<strategy> order(measure.size());
  std::iota(order.begin(), order.end(), strategy{0});
  std::stable_sort(order.begin(), order.end(), [&](strategy a, strategy b) { return measure[a] < measure[b]; });
  std::size_t cut = 1;
  double widest = -1;
  for (std::size_t i = 1; i < order.size(); ++i)
    if (const double step = measure[order[i]] - measure[order[i - 1]]; step > widest && std::isfinite(step)) {
      widest = step;
      cut = i;
    }
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(cut);
  two_way_split result{variable, {std::vector(order.begin(), middle), std::vector(middle, order.end())}};
  const auto best_of = [&](const std::vector<strategy>& half) {
    double best = std::numeric_limits<double>::infinity();
    for (const strategy l : half) best = std::min(best, least[l]);
    return best;
  };
  if (best_of(result.halves[1]) < best_of(result.halves[0])) std::swap(result.halves[0], result.halves[1]);
  return result;
}

/// The variable whose labels differ most in usage at these prices, among labels whose bounds are at most `near`; where
/// usage tells no labels apart, the one with most labels, parted by their bounds.
/// \param prices  per row
/// \param least   bounds on what a labeling with the label costs, per label of all variables
/// \pre some variable has two labels
/// Complexity: O(labels * segments)
template <cost_value Cost>
[[nodiscard]] two_way_split split_by_usage(const compact_problem<Cost>& p, std::span<const double> prices,
                                           std::span<const double> least, double near) {
  std::vector<double> price_before(p.rows().size() + 1);
  std::partial_sum(prices.begin(), prices.end(), price_before.begin() + 1);
  std::size_t chosen = p.size();
  double widest = -1;
  std::vector<double> measure;
  for (std::size_t x = 0; x < p.size(); ++x) {
    const std::size_t k = p.label_count(x);
    if (k < 2) continue;
    const std::span<const double> bounds = least.subspan(p.label_start(x), k);
    std::vector<double> priced(k);
    for (const usage_segment& s : p.segments(x))
      for (std::size_t l = 0; l < k; ++l) priced[l] += (price_before[s.end] - price_before[s.begin]) * s.usage[l];
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t l = 0; l < k; ++l)
      if (bounds[l] <= near) {
        low = std::min(low, priced[l]);
        high = std::max(high, priced[l]);
      }
    const bool differs = high > low;
    const double width = differs ? high - low : 1e-9 * static_cast<double>(k) / static_cast<double>(p.total_labels());
    if (!(width > widest)) continue;
    widest = width;
    chosen = x;
    measure = differs ? std::move(priced) : std::vector<double>(bounds.begin(), bounds.end());
  }
  return split_at_widest_step(chosen, measure, least.subspan(p.label_start(chosen), p.label_count(chosen)));
}

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
