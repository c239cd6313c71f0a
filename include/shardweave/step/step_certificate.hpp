#pragma once

#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/step/detail/rounded_down.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/step/work_table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Proofs of lower bounds on the step, as data that can be checked independently.

namespace shardweave::inline v0 {

/// Weighted claims about the step, and a proof of the least cost of a placement under their prices.
struct step_certificate {
  std::vector<step_claim> claims = {};
  /// One per claim, in units of 2^-weight_bits; not negative, 1 in all at most.
  std::vector<std::int64_t> weights = {};
  int weight_bits = 30;
  /// Of the problem whose costs are work at these prices. The claimed bound on the step is its `lower_bound` less
  /// limits times their prices (`bound_of`).
  placement_certificate<double> placement = {};
};

namespace detail {

/// The price of a unit that a claim holds, in units of 2^-weight_bits, rounded down.
[[nodiscard]] inline std::int64_t price_of_held(const step_certificate& c, std::size_t claim) {
  const double price = c.claims[claim].price * static_cast<double>(c.weights[claim]);
  return price > 0 && price < 0x1p52 ? static_cast<std::int64_t>(std::floor(price)) : 0;
}

/// The cost of each amount of a table in its cheapest way, in units of the prices, rounded down.
[[nodiscard]] inline std::vector<double> cheapest_ways(const work_table& table, std::span<const std::int64_t> prices) {
  std::vector<double> least;
  for (std::size_t way = 0; way < table.ways(); ++way) {
    std::vector<double> of_way;
    for (std::size_t c = 0; c < prices.size(); ++c) {
      const std::vector<double>& loads = table.loads_of(way)[c];
      of_way.resize(std::max(of_way.size(), loads.size()));
      for (std::size_t a = 0; a < loads.size(); ++a) of_way[a] += static_cast<double>(prices[c]) * loads[a];
    }
    if (way == 0) least = of_way;
    least.resize(std::min(least.size(), of_way.size()));  // a way without loads is free
    for (std::size_t a = 0; a < least.size(); ++a) least[a] = std::min(least[a], of_way[a]);
  }
  // the relative error of sums of a few products is below 2^-49
  for (double& cost : least) cost = std::floor(cost * (1 - 0x1p-49));
  return least;
}

}  // namespace detail

/// The bound on the step that a certificate claims: that of the placement, less limits at their prices.
/// Complexity: O(claims)
[[nodiscard]] inline double bound_of(const step_certificate& c, const step_work& work) {
  double limits = 0;
  for (std::size_t r = 0; r < c.claims.size(); ++r)
    if (c.claims[r].price > 0)
      limits += std::ldexp(static_cast<double>(detail::price_of_held(c, r)), -c.weight_bits) *
                work.limits[c.claims[r].held - work.machines()];
  return limits > 0 ? c.placement.lower_bound - limits * (1 + detail::lost_in_sums) : c.placement.lower_bound;
}

/// Work at integral prices, as costs of a placement problem: each edge in its cheapest way (rounded down). `work` must
/// outlive it.
/// \pre claims and weights are valid, work is of the problem's graph
[[nodiscard]] inline costs_in_place<double> costs_at(const step_certificate& c, const step_work& work) {
  std::vector<std::int64_t> time(work.vertex_count()), load(work.edges.size() * work.channels),
      chain(work.edges.size());
  for (std::size_t r = 0; r < c.claims.size(); ++r) {
    const step_claim& claim = c.claims[r];
    const std::int64_t w = c.weights[r];
    for_each_counted(
        claim, work, [&](std::uint32_t v) { time[v] += w; },
        [&](std::uint32_t e) { load[e * work.channels + claim.channel] += w; },
        [&](std::uint32_t e) { chain[e] += w; });
    if (claim.price > 0)
      for (std::size_t e = 0; e < work.edges.size(); ++e)
        load[e * work.channels + claim.held] += detail::price_of_held(c, r);
  }
  costs_in_place<double> costs{.vertices = {}, .edges = {}, .tables = {}, .bits = c.weight_bits};
  std::map<const std::vector<double>*, std::shared_ptr<const cost_table<double>>> made;
  std::map<std::pair<std::uint32_t, std::vector<std::int64_t>>, std::shared_ptr<const cost_table<double>>> least;
  for (std::uint32_t v = 0; v < time.size(); ++v)
    if (time[v] != 0) costs.vertices.push_back({v, work.times[work.times_of[v]], time[v]});
  for (std::size_t e = 0; e < work.edges.size(); ++e) {
    const work_edge& edge = work.edges[e];
    const work_table& table = work.tables[edge.table];
    const auto add = [&](const std::vector<double>& amounts, std::int64_t times) {
      if (amounts.empty() || times == 0) return;
      std::shared_ptr<const cost_table<double>>& known = made[&amounts];
      if (known == nullptr) {
        known = std::make_shared<const cost_table<double>>(table.costs(amounts));
        costs.tables.push_back(known);
      }
      costs.edges.push_back({edge.from, edge.to, known.get(), times});
    };
    add(table.chains, chain[e]);
    const std::span<const std::int64_t> prices(load.data() + e * work.channels, work.channels);
    if (table.ways() == 1) {
      for (std::size_t ch = 0; ch < work.channels; ++ch) add(table.loads[ch], prices[ch]);
    } else if (std::ranges::any_of(prices, [](std::int64_t p) { return p != 0; })) {
      const auto [known, fresh] = least.try_emplace({edge.table, {prices.begin(), prices.end()}});
      if (fresh) {
        known->second = std::make_shared<const cost_table<double>>(table.costs(detail::cheapest_ways(table, prices)));
        costs.tables.push_back(known->second);
      }
      costs.edges.push_back({edge.from, edge.to, known->second.get(), 1});
    }
  }
  return costs;
}

}  // namespace shardweave::inline v0
