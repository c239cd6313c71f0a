#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/overlap/prices.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/search/detail/cut_front.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A bound with savings, and labelings, from a few cuts at once.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Effort of `front_bound`.
struct front_options {
  std::size_t first_cuts = 5;
  std::size_t most_cuts = 16;
  std::size_t most_partial = 30000;  ///< see `cut_front`
  std::size_t most_offers = 20;      ///< labelings that are measured per front
};

/// Looks for all labelings that no other beats at the heaviest cuts of an ascent. While the least of them costs more
/// than these cuts say, its own least cut joins them.
///
/// \param upper  what labelings must stay below to be of use; asked again after every offer
/// \param offer  is told labelings
/// \param share  of the gap between bound and `upper` that may be lost: 0 for a bound, more for labelings only
/// \returns a lower bound, -infinity if there is none; nothing if the work was too much
template <cost_value Cost, class Upper, class Offer>
std::optional<double> front_bound(const compact_problem<Cost>& p, const savings_terms<Cost>& terms,
                                  const savings_ascent<Cost>& ascent, const front_options& options, double share,
                                  const deadline& limit, const Upper& upper, const Offer& offer) {
  cut_front<Cost> front(p, terms);
  front.most_partial = options.most_partial;
  if (!front.prepare()) return std::nullopt;
  std::vector<std::vector<double>> prices{ascent.best_chain()};
  for (const auto& cut : ascent.cuts())
    if (prices.size() <= options.first_cuts) prices.push_back(cut->price);
  if (share > 0) front.coarseness = share * std::max(0.0, upper() - ascent.bound());
  double bound = -std::numeric_limits<double>::infinity();
  while (true) {
    const front_of_labelings found = front.find(prices, upper(), limit);
    if (!found.is_complete) return std::nullopt;
    bound = std::max(bound, found.bound);
    for (std::size_t i = 0; i < std::min(found.labelings.size(), options.most_offers); ++i) offer(found.labelings[i]);
    if (share > 0 || found.labelings.empty() || bound >= upper() || prices.size() >= options.most_cuts) return bound;
    std::vector<Cost> offered, wanted;
    terms.measure(found.labelings.front(), offered, wanted);
    std::vector<hideable<Cost>> demands;
    for (std::size_t d = 0; d < wanted.size(); ++d)
      demands.push_back({terms.demands[d].where, wanted[d], terms.demands[d].channel});
    const hiding_prices best = best_prices(offered, demands);
    std::vector<double> price(best.all().begin(), best.all().end());
    price.resize(prices.front().size());  // channels without demands
    if (std::find(prices.begin(), prices.end(), price) != prices.end()) return bound;
    prices.push_back(std::move(price));
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
