#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/overlap/prices.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/placement/savings_terms.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Makes a labeling better, savings counted.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Changes one label at a time while that lowers costs less savings and breaks no row. The least cut of the present
/// labeling prices every change: costs less savings are nowhere below the priced costs, so a change that these do not
/// favour is none. The others are measured by the sweep.
/// \returns whether anything improved
template <cost_value Cost>
bool savings_descent(const compact_problem<Cost>& p, const savings_terms<Cost>& terms, std::vector<strategy>& labels,
                     const deadline& limit, std::size_t most_sweeps = 4) {
  std::vector<std::vector<std::uint32_t>> offers(p.size()), own(p.size()), joint(p.size());
  for (std::uint32_t i = 0; i < terms.offers.size(); ++i) offers[terms.offers[i].variable].push_back(i);
  for (std::uint32_t i = 0; i < terms.own.size(); ++i) own[terms.own[i].variable].push_back(i);
  for (std::uint32_t i = 0; i < terms.joint.size(); ++i) {
    joint[terms.joint[i].first].push_back(i);
    joint[terms.joint[i].second].push_back(i);
  }
  labeling_state<Cost> state(p, labels);
  if (state.conflicts() > 0) return false;
  savings_sweep<Cost> sweep(terms);
  std::vector<Cost> offered, wanted, next_offered, next_wanted;
  terms.measure(labels, offered, wanted);
  Cost saved = sweep(std::span<const Cost>(offered), std::span<const Cost>(wanted));

  std::vector<double> worth(terms.slots()), relief(terms.demands.size());
  const auto cut = [&] {
    std::vector<hideable<Cost>> demands;
    for (std::size_t d = 0; d < wanted.size(); ++d)
      demands.push_back({terms.demands[d].where, wanted[d], terms.demands[d].channel});
    const hiding_prices prices = best_prices(offered, demands);
    for (std::size_t q = 0; q < worth.size(); ++q) worth[q] = prices.total_price(q);
    for (std::size_t d = 0; d < relief.size(); ++d)
      relief[d] = prices.relief(terms.demands[d].where, terms.demands[d].channel);
  };
  cut();
  const auto amount_at = [&](std::uint32_t i, std::uint32_t x, strategy l) {
    const pair_amount<Cost>& t = terms.joint[i];
    const cost_table<Cost>& table = *terms.tables[t.table];
    return static_cast<Cost>(t.count) * (t.first == x ? table(l, state[t.second]) : table(state[t.first], l));
  };

  bool improved = false;
  for (std::size_t round = 0; round < most_sweeps; ++round) {
    bool gained = false;
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      if (limit.expired()) break;
      for (strategy l = 0; l < p.label_count(x); ++l) {
        const strategy now = state[x];
        if (l == now) continue;
        const move_price<Cost> change = state.delta(x, l);
        if (change.conflicts > 0) continue;
        double priced = static_cast<double>(change.cost);
        for (const std::uint32_t i : offers[x])
          priced -=
              worth[terms.offers[i].at] * static_cast<double>(terms.offers[i].amount[l] - terms.offers[i].amount[now]);
        for (const std::uint32_t i : own[x])
          priced -= relief[terms.own[i].at] * static_cast<double>(terms.own[i].amount[l] - terms.own[i].amount[now]);
        for (const std::uint32_t i : joint[x])
          priced -= relief[terms.joint[i].demand] * static_cast<double>(amount_at(i, x, l) - amount_at(i, x, now));
        if (!(priced < -1e-9) || !state.fits(x, l)) continue;
        next_offered = offered;
        next_wanted = wanted;
        for (const std::uint32_t i : offers[x])
          next_offered[terms.offers[i].at] += terms.offers[i].amount[l] - terms.offers[i].amount[now];
        for (const std::uint32_t i : own[x])
          next_wanted[terms.own[i].at] += terms.own[i].amount[l] - terms.own[i].amount[now];
        for (const std::uint32_t i : joint[x])
          next_wanted[terms.joint[i].demand] += amount_at(i, x, l) - amount_at(i, x, now);
        for (Cost& c : next_offered) c = std::max(c, Cost{});  // what rounding leaves of nothing
        for (Cost& c : next_wanted) c = std::max(c, Cost{});
        const Cost better = sweep(std::span<const Cost>(next_offered), std::span<const Cost>(next_wanted));
        if (!(static_cast<double>(change.cost - (better - saved)) < -1e-9)) continue;
        state.apply(x, l);
        terms.measure(state.labels(), offered, wanted);
        saved = sweep(std::span<const Cost>(offered), std::span<const Cost>(wanted));
        cut();
        gained = improved = true;
      }
    }
    if (!gained) break;
  }
  labels.assign(state.labels().begin(), state.labels().end());
  return improved;
}

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
