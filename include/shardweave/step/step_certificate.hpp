#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>
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
#include <string>
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

/// Bound on the relative rounding error of sums of prices and costs.
inline constexpr double lost_in_sums = 1e-9;

[[nodiscard]] inline double rounded_down(double bound) {
  return std::isfinite(bound) ? bound - lost_in_sums * std::abs(bound) : bound;
}

/// What is wrong with the weights; empty if they are valid.
[[nodiscard]] inline std::string fault_of_weights(const step_certificate& c) {
  if (c.weights.size() != c.claims.size())
    return "there are " + std::to_string(c.weights.size()) + " weights for " + std::to_string(c.claims.size()) +
           " claims";
  if (c.weight_bits < 0 || c.weight_bits > 40)
    return "weights have units of " + std::to_string(c.weight_bits) + " bits, expected 0 to 40";
  const std::int64_t one = std::int64_t{1} << c.weight_bits;
  std::int64_t left = one;
  for (std::size_t r = 0; r < c.weights.size(); ++r) {
    if (c.weights[r] < 0) return "weights[" + std::to_string(r) + "] is below zero";
    if (c.weights[r] > left) return "weights add up to more than 1";
    left -= c.weights[r];
  }
  return {};
}

/// What is wrong with work for a problem; empty if they are of one graph.
[[nodiscard]] inline std::string fault_of_work(const placement_description<double>& d, const step_work& work) {
  if (work.limits.size() >= work.channels)
    return "work has " + std::to_string(work.limits.size()) + " limits for " + std::to_string(work.channels) +
           " channels, one of which is the compute stream";
  if (work.vertex_count() != d.vertices.size())
    return "work is told of " + std::to_string(work.vertex_count()) + " vertices, but the problem has " +
           std::to_string(d.vertices.size());
  for (std::size_t v = 0; v < work.vertex_count(); ++v)
    if (work.times[work.times_of[v]].size() != d.vertices[v].compute.size())
      return "work is told of " + std::to_string(work.times[work.times_of[v]].size()) + " strategies of " +
             d.name_of(v) + ", which has " + std::to_string(d.vertices[v].compute.size());
  for (std::size_t e = 0; e < work.edges.size(); ++e) {
    const work_edge& edge = work.edges[e];
    bool all = edge.from < d.vertices.size() && edge.to < d.vertices.size() && edge.table < work.tables.size();
    if (all) {
      const work_table& table = work.tables[edge.table];
      all = table.loads.size() == work.channels &&
            (table.is_idle() || (table.rows() == d.vertices[edge.from].compute.size() &&
                                 table.columns() == d.vertices[edge.to].compute.size()));
    }
    if (!all) return "work of edge " + std::to_string(e) + " is not of the problem's vertices and strategies";
  }
  return {};
}

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

/// Checks a lower bound on the makespan of every plan, whatever the assignment, the buckets and the order, without
/// trust in how claims and weights were found: each claim holds by its form (`validate`), hence their mixture; and the
/// placement's certificate proves that no assignment makes it less. In integers, without a solver.
///
/// \param d  its costs are ignored; its constraints and forbidden choices hold
/// Complexity: that of checking the placement's certificate, and linear in claims and work
[[nodiscard]] inline certificate_verdict<double> check_certificate(const placement_description<double>& d,
                                                                   const step_work& work, const step_certificate& c) {
  std::string fault = detail::fault_of_work(d, work);
  if (fault.empty()) fault = detail::fault_of_weights(c);
  for (std::size_t r = 0; r < c.claims.size() && fault.empty(); ++r)
    try_to([&] { validate(c.claims[r], work); },
           [&](const error& e) {
             fault = "claims[" + std::to_string(r) + "]: " + e.what();
             return true;
           });
  if (!fault.empty()) return {.failure = fault};
  const costs_in_place<double> costs = costs_at(c, work);
  certificate_verdict<double> verdict = check_certificate(d, c.placement, &costs);
  verdict.steps += c.claims.size();
  if (verdict.accepted) verdict.bound -= c.placement.lower_bound - bound_of(c, work);
  return verdict;
}

}  // namespace shardweave::inline v0
