#pragma once

#include <shardweave/overlap/segments.hpp>
#include <shardweave/overlap/window.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ranges>
#include <utility>
#include <vector>

/// \file
/// Savings as rows of a linear program: chains of budgets with a shared split of computation.

namespace shardweave::inline v0 {

/// Hands computation on along segments `first` to `last`: forward chains from low to high, others back.
///
/// Variables of a chain, all >= 0: per segment k a share of its computation and a budget. With the claims at k:
/// forward   budget[k] = budget[k - 1] + share[k] - sum of claims at k
/// backward  budget[k] = budget[k + 1] + share[k] - sum of claims at k
/// where a budget outside the chain is 0.
struct budget_chain {
  std::size_t channel = 0;
  bool forward = true;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// A part of the savings of a place that a chain pays at one segment: a variable >= 0.
struct budget_claim {
  std::size_t place = 0;    ///< which of the places that were asked about
  std::size_t chain = 0;    ///< which of `budget_chains::chains`
  std::size_t segment = 0;  ///< in a forward chain the last segment that may pay, in a backward one the first
};

/// All rows of the savings. Besides those of each chain:
/// - per place: the sum of its claims is at most its communication;
/// - per channel and segment: the shares of all chains that cover the segment sum to at most its computation.
///   Where one chain alone does, its share may be replaced by the computation.
/// The maximum of the sum of all claims is the savings, for every computation and communication; both may be
/// expressions of other variables.
struct budget_chains {
  order_segments segments;
  std::vector<budget_chain> chains;
  std::vector<budget_claim> claims;  ///< places in order; none, one or two each

  /// By channel and segment (channel * segments.size() + segment): the chains that cover it.
  /// Complexity: O(sum of chain lengths)
  [[nodiscard]] std::vector<std::vector<std::size_t>> covering() const {
    std::size_t channels = 0;
    for (const budget_chain& c : chains) channels = std::max(channels, c.channel + 1);
    std::vector<std::vector<std::size_t>> result(channels * segments.size());
    for (std::size_t i = 0; i < chains.size(); ++i)
      for (std::size_t k = chains[i].first; k <= chains[i].last; ++k)
        result[chains[i].channel * segments.size() + k].push_back(i);
    return result;
  }
};

/// Makes rows of windows. Windows that begin together form a forward chain, windows that end together a backward one;
/// each window joins the larger of its two groups, of equal ones the forward one. The windows of `inclusive_form` give
/// two chains, as in AutoParallel, with one share, two budgets and three rows per segment.
///
/// \param places  whatever has members `where` and `channel`: `hiding_place`, `hideable`
/// \throws error if a window that is not the whole order leaves a position out
/// Complexity: O(n + m log m)
template <std::ranges::random_access_range Places>
[[nodiscard]] budget_chains budget_chains_of(const Places& places, std::size_t positions) {
  budget_chains result{segments_of(places, positions), {}, {}};
  struct part {
    std::size_t place, channel;
    window where;
  };
  std::vector<part> parts;
  for (std::size_t i = 0; i < std::ranges::size(places); ++i) {
    const window w = result.segments(places[i].where);
    if (w.first > w.last) continue;
    if (w.except == no_position) {
      parts.push_back({i, places[i].channel, w});
    } else {
      parts.push_back({i, places[i].channel, {w.first, w.except - 1}});
      parts.push_back({i, places[i].channel, {w.except + 1, w.last}});
    }
  }

  using key = std::pair<std::size_t, std::size_t>;  // channel, end
  std::map<std::pair<key, std::size_t>, bool> distinct;
  std::map<key, std::size_t> beginning, ending;
  for (const part& p : parts)
    if (distinct.try_emplace({{p.channel, p.where.first}, p.where.last}).second) {
      ++beginning[{p.channel, p.where.first}];
      ++ending[{p.channel, p.where.last}];
    }
  std::map<std::pair<key, bool>, std::size_t> chain_of;
  for (const part& p : parts) {
    const key begin{p.channel, p.where.first}, end{p.channel, p.where.last};
    const bool forward = beginning[begin] >= ending[end];
    const auto [entry, is_new] = chain_of.try_emplace({forward ? begin : end, forward}, result.chains.size());
    if (is_new) result.chains.push_back({p.channel, forward, p.where.first, p.where.last});
    budget_chain& chain = result.chains[entry->second];
    chain.first = std::min(chain.first, p.where.first);
    chain.last = std::max(chain.last, p.where.last);
    result.claims.push_back({p.place, entry->second, forward ? p.where.last : p.where.first});
  }
  return result;
}

}  // namespace shardweave::inline v0
