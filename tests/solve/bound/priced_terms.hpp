#pragma once

#include "solve/small_problems.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/savings_terms.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Random savings and prices, and what these say by their definition.
namespace priced_terms {

namespace sw = shardweave;

/// Random savings of a problem: windows over a few slots, some over all of them but one.
template <class Cost>
sw::savings_terms<Cost> draw_terms(std::uint64_t seed, const sw::compact_problem<Cost>& p) {
  sw::random_source random(seed * 3 + 77);
  sw::savings_terms<Cost> terms;
  const std::size_t slots = 1 + random.below(6);
  const auto amount = [&] { return static_cast<Cost>(random.chance(0.3) ? 0 : random.below(9)); };
  terms.channels = 1 + static_cast<std::uint32_t>(random.below(2));
  for (std::size_t q = 0; q < slots; ++q) terms.computation.push_back(amount());
  const std::size_t demands = 1 + random.below(4);
  for (std::size_t d = 0; d < demands; ++d) {
    sw::savings_demand demand;
    demand.channel = static_cast<std::uint32_t>(random.below(terms.channels));
    if (slots > 1 && random.chance(0.3)) {
      demand.where = {0, slots - 1, random.below(slots)};
    } else {
      demand.where.first = random.below(slots);
      demand.where.last = demand.where.first + random.below(slots - demand.where.first);
    }
    terms.demands.push_back(demand);
    terms.amount.push_back(amount());
  }
  const auto per_label = [&](std::uint32_t at, std::uint32_t x) {
    sw::label_amount<Cost> t{at, x, {}};
    for (std::size_t l = 0; l < p.label_count(x); ++l) t.amount.push_back(amount());
    return t;
  };
  for (std::uint32_t x = 0; x < p.size(); ++x) {
    if (random.chance(0.7)) terms.offers.push_back(per_label(static_cast<std::uint32_t>(random.below(slots)), x));
    if (random.chance(0.4)) terms.own.push_back(per_label(static_cast<std::uint32_t>(random.below(demands)), x));
  }
  for (int i = 0; i < 3; ++i) {  // between neighbours and others
    const auto a = static_cast<std::uint32_t>(random.below(p.size()));
    const auto b = static_cast<std::uint32_t>(random.below(p.size()));
    if (a >= b) continue;
    std::vector<Cost> entries(p.label_count(a) * p.label_count(b));
    for (Cost& c : entries) c = amount();
    const auto table = shardweave_test::table_of<Cost>(p.label_count(a), p.label_count(b), entries);
    if (table->row_classes() == 1 || table->column_classes() == 1) continue;  // what one variable decides is its own
    terms.tables.push_back(table);
    terms.joint.push_back({static_cast<std::uint32_t>(random.below(demands)), a, b,
                           static_cast<std::uint32_t>(terms.tables.size() - 1),
                           1 + static_cast<std::uint32_t>(random.below(2))});
  }
  return terms;
}

/// Prices in eighths, so that sums of products are exact.
inline std::vector<double> draw_prices(std::size_t count, sw::random_source& random) {
  std::vector<double> prices(count);
  for (double& v : prices) v = static_cast<double>(random.below(9)) / 8;
  return prices;
}

/// What a unit of a demand saves at prices, slot by slot.
template <class Cost>
double relief_of(const sw::savings_terms<Cost>& terms, const std::vector<double>& prices, std::size_t d) {
  double most = 0;
  for (std::size_t q = 0; q < terms.slots(); ++q)
    if (terms.demands[d].where.contains(q))
      most = std::max(most, 1 - prices[terms.demands[d].channel * terms.slots() + q]);
  return most;
}

/// What prices say that a labeling saves: no less than it does.
template <class Cost>
double priced_savings(const sw::savings_terms<Cost>& terms, const std::vector<double>& prices,
                      const shardweave_test::label_list& labels) {
  std::vector<Cost> offered, wanted;
  terms.measure(labels, offered, wanted);
  double total = 0;
  for (std::size_t i = 0; i < prices.size(); ++i) total += prices[i] * static_cast<double>(offered[i % terms.slots()]);
  for (std::size_t d = 0; d < wanted.size(); ++d) total += relief_of(terms, prices, d) * static_cast<double>(wanted[d]);
  return total;
}

}  // namespace priced_terms
