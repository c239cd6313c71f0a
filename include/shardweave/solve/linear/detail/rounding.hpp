#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Labels from weights: variables in order of their greatest weight, each takes the label of greatest weight
/// that has a finite cost with those decided before it, and of these the cheapest. Without weights, variables
/// in their order and the cheapest label with the neighbours decided, others at their best.
/// \param weight  per label of all variables, or empty
/// Complexity: O(labels * degree)
template <cost_value Cost>
[[nodiscard]] std::vector<strategy> decode(const compact_problem<Cost>& p, std::span<const double> weight) {
  std::vector<std::uint32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0U);
  if (!weight.empty()) {
    std::vector<double> most(p.size());
    for (std::size_t x = 0; x < p.size(); ++x)
      for (std::size_t l = 0; l < p.label_count(x); ++l) most[x] = std::max(most[x], weight[p.label_start(x) + l]);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return most[a] > most[b]; });
  }
  std::vector<strategy> labels(p.size());
  std::vector<char> decided(p.size());
  for (const std::uint32_t x : order) {
    std::tuple<std::size_t, double, double> best{std::numeric_limits<std::size_t>::max(), 0, 0};
    for (strategy l = 0; l < p.label_count(x); ++l) {
      std::size_t broken = 0;
      double cost = static_cast<double>(p.unary(x)[l]);
      for (const compact_link& link : p.links(x)) {
        const auto& t = p.table(p.edges()[link.edge]);
        if (decided[link.other] != 0) {
          const Cost c = p.link_cost(link, l, labels[link.other]);
          is_forbidden(c) ? void(++broken) : void(cost += static_cast<double>(c));
        } else if (weight.empty()) {
          cost += static_cast<double>(link.is_first ? t.least_of_row(l) : t.least_of_column(l));
        }
      }
      const double wish = weight.empty() ? 0 : -weight[p.label_start(x) + l];
      const std::tuple<std::size_t, double, double> rank{broken, wish, cost};
      if (rank < best) {
        best = rank;
        labels[x] = l;
      }
    }
    decided[x] = 1;
  }
  return labels;
}

/// Changes one label at a time while that lowers, in this order of importance: the number of forbidden pairs,
/// the usage beyond limits, the cost.
/// \param sweeps  at most so many passes over all variables
/// Complexity: O(labels * (degree + rows covered)) per sweep
template <cost_value Cost>
void repair(const compact_problem<Cost>& p, std::vector<strategy>& labels, const deadline& limit, std::size_t sweeps) {
  std::vector<double> used = p.usage(labels);
  const auto beyond = [&](std::size_t r, double amount) {
    const usage_row& row = p.rows()[r];
    return std::max({0.0, amount - row.high - 1e-6, row.low - 1e-6 - amount});
  };
  const auto add = [&](std::size_t x, strategy l, double sign) {
    for (const usage_segment& s : p.segments(x))
      for (std::size_t r = s.begin; r < s.end; ++r) used[r] += sign * s.usage[l];
  };
  const auto excess_at = [&](std::size_t x, strategy l) {
    double excess = 0;
    add(x, l, 1);
    for (const usage_segment& s : p.segments(x))
      for (std::size_t r = s.begin; r < s.end; ++r) excess += beyond(r, used[r]);
    add(x, l, -1);
    return excess;
  };
  for (bool changed = true; changed && sweeps-- > 0;) {
    changed = false;
    // differences accumulate rounding errors
    if (!used.empty()) used = p.usage(labels);
    for (std::size_t x = 0; x < p.size(); ++x) {
      if (p.label_count(x) == 1) continue;
      if (limit.expired()) return;
      const auto rank = [&](strategy l) {
        std::size_t broken = 0;
        double cost = static_cast<double>(p.unary(x)[l]);
        for (const compact_link& link : p.links(x)) {
          const Cost c = p.link_cost(link, l, labels[link.other]);
          is_forbidden(c) ? void(++broken) : void(cost += static_cast<double>(c));
        }
        return std::tuple(broken, p.segments(x).empty() ? 0.0 : excess_at(x, l), cost);
      };
      add(x, labels[x], -1);
      auto best = rank(labels[x]);
      strategy chosen = labels[x];
      for (strategy l = 0; l < p.label_count(x); ++l) {
        if (l == labels[x]) continue;
        const auto other = rank(l);
        // rounding must not make two labels take turns
        const bool better = std::get<0>(other) != std::get<0>(best)
                                ? std::get<0>(other) < std::get<0>(best)
                                : std::get<1>(other) < std::get<1>(best) * (1 - 1e-12) ||
                                      (std::get<1>(other) <= std::get<1>(best) &&
                                       std::get<2>(other) < std::get<2>(best) - 1e-12 * std::abs(std::get<2>(best)));
        if (better) {
          best = other;
          chosen = l;
        }
      }
      changed = changed || chosen != labels[x];
      labels[x] = chosen;
      add(x, chosen, 1);
    }
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
