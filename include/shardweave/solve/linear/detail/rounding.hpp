#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/solve/search/detail/descent.hpp>
#include <shardweave/solve/search/detail/greedy_labels.hpp>
#include <shardweave/solve/search/detail/label_repair.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// Rounds weights to labels: variables in descending order of their greatest weight; each gets its label of greatest
/// weight that has a finite cost with those decided before, of equal ones the cheapest.
/// \param weight  per label of all variables
/// Complexity: O(labels * degree)
template <cost_value Cost>
[[nodiscard]] std::vector<strategy> decode(const compact_problem<Cost>& p, std::span<const double> weight) {
  std::vector<std::uint32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<double> most(p.size());
  for (std::size_t x = 0; x < p.size(); ++x)
    for (std::size_t l = 0; l < p.label_count(x); ++l) most[x] = std::max(most[x], weight[p.label_start(x) + l]);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return most[a] > most[b]; });
  std::vector<strategy> labels(p.size());
  std::vector<char> decided(p.size());
  for (const std::uint32_t x : order) {
    std::tuple<std::size_t, double, double> best{std::numeric_limits<std::size_t>::max(), 0, 0};
    for (strategy l = 0; l < p.label_count(x); ++l) {
      std::size_t broken = 0;
      double cost = static_cast<double>(p.unary(x)[l]);
      for (const compact_link& link : p.links(x)) {
        if (decided[link.other] == 0) continue;
        const Cost c = p.link_cost(link, l, labels[link.other]);
        is_forbidden(c) ? void(++broken) : void(cost += static_cast<double>(c));
      }
      const std::tuple<std::size_t, double, double> rank{broken, -weight[p.label_start(x) + l], cost};
      if (rank < best) {
        best = rank;
        labels[x] = l;
      }
    }
    decided[x] = 1;
  }
  return labels;
}

/// Repairs a labeling that violates constraints, if possible, and improves it by coordinate sweeps.
template <cost_value Cost>
void improve(const compact_problem<Cost>& p, std::vector<strategy>& labels, const deadline& limit) {
  constexpr int most_sweeps = 30;
  labeling_state<Cost> state(p, std::move(labels));
  forest_block<Cost> block(p);
  random_source random(0);
  bool is_feasible = state.conflicts() == 0 && state.keeps_rows();
  if (!is_feasible) {
    is_feasible = label_repair<Cost>(state, block).run(1000 + 5 * p.size(), limit, random);
    state.refresh();
  }
  if (is_feasible) {
    descent<Cost> moves(state, block, limit);
    for (int i = 0; i < most_sweeps && moves.coordinate_sweep(); ++i) {
    }
  }
  labels.assign(state.labels().begin(), state.labels().end());
}

/// A greedy labeling, or all labels 0 if a limit came first; it need not be feasible.
template <cost_value Cost>
[[nodiscard]] std::vector<strategy> first_labels(const compact_problem<Cost>& p, const deadline& limit) {
  random_source random(0);
  auto labels = greedy_labels<Cost>(p)(limit, random, 0);
  return labels ? *std::move(labels) : std::vector<strategy>(p.size());
}

#ifdef SHARDWEAVE_COMPILED
extern template void improve(const compact_problem<double>&, std::vector<strategy>&, const deadline&);
extern template std::vector<strategy> first_labels(const compact_problem<double>&, const deadline&);
extern template void improve(const compact_problem<std::int64_t>&, std::vector<strategy>&, const deadline&);
extern template std::vector<strategy> first_labels(const compact_problem<std::int64_t>&, const deadline&);
#endif

}  // namespace shardweave::inline v0::detail
