#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/detail/order_by.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Branching rules: by usage of rows, and, with savings, by disagreement of a mixture of labelings.

namespace shardweave::inline v0::detail {

/// A variable, and a partition of its labels; parts with better labels come first.
struct branching {
  std::size_t variable = 0;
  std::vector<std::vector<strategy>> parts = {};
  std::vector<double> bounds = {};  ///< lower bounds of the parts; empty: none are known
};

/// Splits the labels of a variable at the largest gap between their values in `measure`; infinite gaps do not count.
/// \param least  lower bounds on labelings with each label
inline branching split_at_widest_step(std::size_t variable, std::span<const double> measure,
                                      std::span<const double> least) {
  std::vector<strategy> order;
  order_by(measure, order);
  std::size_t cut = 1;
  double widest = -1;
  for (std::size_t i = 1; i < order.size(); ++i)
    if (const double step = measure[order[i]] - measure[order[i - 1]]; step > widest && std::isfinite(step)) {
      widest = step;
      cut = i;
    }
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(cut);
  branching result{variable, {{order.begin(), middle}, {middle, order.end()}}};
  const auto best_of = [&](const std::vector<strategy>& half) {
    double best = std::numeric_limits<double>::infinity();
    for (const strategy l : half) best = std::min(best, least[l]);
    return best;
  };
  if (best_of(result.parts[1]) < best_of(result.parts[0])) std::swap(result.parts[0], result.parts[1]);
  return result;
}

/// Branches on the variable whose labels differ most in priced usage, among labels with bounds of at most `near`; if
/// usage does not differ, on the variable with most labels, split by their bounds.
/// \param prices  per row
/// \param least   lower bounds on labelings with each label, per label of all variables
/// \pre some variable has two labels
/// Complexity: O(labels * segments)
template <cost_value Cost>
[[nodiscard]] branching split_by_usage(const compact_problem<Cost>& p, std::span<const double> prices,
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

/// The bound up to which labels count as promising in a split: halfway to the incumbent.
template <cost_value Cost>
[[nodiscard]] double near_bound(std::span<const double> least, const incumbent<Cost>& best) {
  const double floor = *std::min_element(least.begin(), least.end());
  return best.is_known() ? floor + 0.5 * (best.upper() - floor) : std::numeric_limits<double>::infinity();
}

/// The two labels of a variable with the largest shares in a mixture, the larger first.
struct rival_labels {
  strategy first = 0;
  strategy second = 0;
  double doubt = -1;  ///< share of the second; negative for a variable with one label left
};

/// Rival labels of all variables.
/// \param share  of each label in the mixture
/// \param least  lower bounds on labelings with each label, per label of all variables
template <cost_value Cost>
[[nodiscard]] std::vector<rival_labels> rivals_in(const compact_problem<Cost>& p, std::span<const double> share,
                                                  std::span<const double> least, const incumbent<Cost>& best) {
  std::vector<rival_labels> rivals(p.size());
  const double floor = *std::min_element(least.begin(), least.end());
  for (std::size_t x = 0; x < p.size(); ++x) {
    const auto own = share.subspan(p.label_start(x), p.label_count(x));
    const auto bounds = least.subspan(p.label_start(x), p.label_count(x));
    std::vector<strategy> order;
    for (strategy l = 0; l < own.size(); ++l)
      if (!best.closes(bounds[l])) order.push_back(l);
    if (order.size() < 2) continue;
    std::stable_sort(order.begin(), order.end(), [&](strategy a, strategy b) {
      return own[a] != own[b] ? own[a] > own[b] : bounds[a] < bounds[b];
    });
    // where the mixture agrees, a rival of nearly equal cost counts a little
    const double near =
        best.is_known() && best.upper() > floor ? (best.upper() - bounds[order[1]]) / (best.upper() - floor) : 0.5;
    rivals[x] = {order[0], order[1], std::min(own[order[1]], own[order[0]]) + 1e-4 * std::clamp(near, 0.0, 1.0)};
  }
  return rivals;
}

/// How much the choice between rivals changes computation and communication, per variable, with the others as in
/// `labels`.
template <cost_value Cost>
[[nodiscard]] std::vector<double> impact_of(const std::vector<rival_labels>& rivals, const savings_terms<Cost>& terms,
                                            std::span<const strategy> labels) {
  std::vector<double> impact(rivals.size());
  const auto difference = [](Cost a, Cost b) { return std::abs(static_cast<double>(a - b)); };
  const auto add_own = [&](const auto& list) {
    for (const auto& t : list)
      impact[t.variable] += difference(t.amount[rivals[t.variable].first], t.amount[rivals[t.variable].second]);
  };
  add_own(terms.offers);
  add_own(terms.own);
  for (const auto& t : terms.joint) {
    const cost_table<Cost>& table = *terms.tables[t.table];
    const double count = t.count;
    const rival_labels &a = rivals[t.first], &b = rivals[t.second];
    impact[t.first] += count * difference(table(a.first, labels[t.second]), table(a.second, labels[t.second]));
    impact[t.second] += count * difference(table(labels[t.first], b.first), table(labels[t.first], b.second));
  }
  return impact;
}

/// Branches on the variable whose split raises the bound most, estimated by the value of the game of labelings against
/// prices in both halves; the label of largest share against all others. One half is empty if every variable has one
/// label left.
/// \param least  lower bounds on labelings with each label, per label of all variables
/// Complexity: one game per distinct partition of the labelings, and O(labels + terms)
template <cost_value Cost>
[[nodiscard]] branching split_by_mixture(const compact_problem<Cost>& p, const savings_terms<Cost>& terms,
                                         const savings_ascent<Cost>& ascent, const std::vector<double>& least,
                                         const incumbent<Cost>& best) {
  const std::vector<double> share = ascent.shares();
  const std::vector<rival_labels> rivals = rivals_in(p, std::span<const double>(share), least, best);
  const std::vector<double> impact = impact_of(rivals, terms, ascent.labels());
  const double floor = *std::min_element(least.begin(), least.end());
  const double top = best.is_known() ? best.upper() : floor + 0.01 * std::abs(floor) + 1;
  const auto gain = [&](const std::vector<char>& side) {
    return std::clamp((std::min(ascent.value_of(side), top) - floor) / std::max(top - floor, 1e-300), 0.0, 1.0);
  };
  // variables that partition the labelings alike gain the same
  std::map<std::vector<char>, double> gains;
  const auto gain_of_split = [&](std::size_t x) {
    std::vector<char> takes(ascent.points()), others(ascent.points());
    for (std::size_t k = 0; k < takes.size(); ++k) {
      takes[k] = ascent.label(k, x) == rivals[x].first ? 1 : 0;
      others[k] = static_cast<char>(1 - takes[k]);
    }
    const auto [known, fresh] = gains.try_emplace(takes, 0.0);
    // a half without labelings is unknown, not infeasible: it counts as no gain
    if (fresh && std::count(takes.begin(), takes.end(), char{1}) > 0 &&
        std::count(others.begin(), others.end(), char{1}) > 0) {
      const double a = gain(takes), b = gain(others);
      known->second = std::min(a, b) + 0.1 * std::max(a, b);
    }
    return known->second;
  };

  branching result{.parts = {{}, {}}};
  std::pair<double, double> most{-1, -1};
  for (std::size_t x = 0; x < p.size(); ++x) {
    if (rivals[x].doubt < 0) continue;
    const std::pair<double, double> score(gain_of_split(x), rivals[x].doubt * (impact[x] + 1e-6));
    if (score > most) {
      most = score;
      result.variable = x;
    }
  }
  const bool is_open = rivals[result.variable].doubt >= 0;
  for (strategy l = 0; l < p.label_count(result.variable); ++l)
    result.parts[!is_open || l == rivals[result.variable].first ? 0 : 1].push_back(l);
  return result;
}

}  // namespace shardweave::inline v0::detail
