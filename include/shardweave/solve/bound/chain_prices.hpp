#pragma once

#include <shardweave/core/range_minimum.hpp>
#include <shardweave/overlap/prices.hpp>
#include <shardweave/placement/savings_terms.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

/// \file
/// Dual prices of hiding communication behind computation.

namespace shardweave::inline v0 {

/// One price between 0 and 1 per slot and channel, charged for a unit of the slot's computation that hides
/// communication. A unit of a demand then saves 1 less the least price in its window. For any prices
///
///     savings <= sum of price * computation + sum of (1 - least price in the window) * communication,
///
/// with equality for the best ones: costs less the right side are a problem without savings, which bounds costs less
/// savings from below.
/// Source: duality of the transport problem behind `hide`.
template <cost_value Cost>
class chain_prices {
 public:
  /// \pre `terms` outlives this object
  explicit chain_prices(const savings_terms<Cost>& terms)
      : t_(&terms), price_(terms.channels * terms.slots()), saved_(terms.demands.size()) {
    for (std::size_t d = 0; d < terms.demands.size(); ++d) {
      const window& w = terms.demands[d].where;
      if (w.except == no_position) {
        ranges_.push_back({d, w.first, w.last + 1});
      } else {
        if (w.except > w.first) ranges_.push_back({d, w.first, w.except});
        if (w.except < w.last) ranges_.push_back({d, w.except + 1, w.last + 1});
      }
    }
  }

  [[nodiscard]] std::vector<double>& values() { return price_; }
  [[nodiscard]] const std::vector<double>& values() const { return price_; }

  /// Computes `worth` and `saved` from the prices.
  /// Complexity: O(slots log slots * channels + demands)
  void update() {
    const std::size_t slots = t_->slots();
    std::fill(saved_.begin(), saved_.end(), 0.0);
    worth_.assign(slots, 0.0);
    for (std::size_t c = 0; c < t_->channels; ++c) {
      const std::span<const double> own = std::span<const double>(price_).subspan(c * slots, slots);
      for (std::size_t q = 0; q < slots; ++q) worth_[q] += own[q];
      const range_minimum least_price({own.begin(), own.end()});
      for (const range& r : ranges_)
        if (t_->demands[r.demand].channel == c)
          saved_[r.demand] = std::max(saved_[r.demand], 1 - least_price(r.begin, r.end));
    }
  }
  /// The total price of a unit of a slot's computation, over all channels.
  [[nodiscard]] double worth(std::size_t slot) const { return worth_[slot]; }
  /// The saving per unit of a demand.
  [[nodiscard]] double saved(std::size_t number) const { return saved_[number]; }
  [[nodiscard]] const std::vector<double>& saved() const { return saved_; }

 private:
  struct range {
    std::size_t demand = 0, begin = 0, end = 0;
  };

  const savings_terms<Cost>* t_;
  std::vector<double> price_;  ///< per channel and slot
  std::vector<double> saved_;
  std::vector<double> worth_;
  std::vector<range> ranges_;
};

namespace detail {

/// The best chain prices for given computation and communication: a least cut, so each price is 0 or 1.
template <cost_value Cost, class Amount>
[[nodiscard]] std::vector<double> cut_prices(const savings_terms<Cost>& terms, const std::vector<Amount>& offered,
                                             const std::vector<Amount>& wanted) {
  std::vector<hideable<Amount>> demands;
  for (std::size_t d = 0; d < wanted.size(); ++d)
    demands.push_back({terms.demands[d].where, wanted[d], terms.demands[d].channel});
  const hiding_prices prices = best_prices(offered, demands);
  std::vector<double> result(prices.all().begin(), prices.all().end());
  result.resize(terms.channels * terms.slots());  // channels without demands
  return result;
}

}  // namespace detail
}  // namespace shardweave::inline v0
