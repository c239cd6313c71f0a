#pragma once

#include <shardweave/placement/savings_terms.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Prices on the computation that hides.

namespace shardweave::inline v0 {

/// One price between 0 and 1 per slot and channel: what a unit of the slot's computation is worth to communication. A
/// demand saves, per unit, what the cheapest slot of its window leaves of 1. For any prices
///
///     savings <= sum of price * computation + sum of (1 - least price in the window) * communication,
///
/// with equality for the best ones: costs less the right side are a plain problem that bounds costs less savings.
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
        add_range(d, w.first, w.last);
      } else {
        if (w.except > w.first) add_range(d, w.first, w.except - 1);
        if (w.except < w.last) add_range(d, w.except + 1, w.last);
      }
    }
  }

  [[nodiscard]] std::vector<double>& values() { return price_; }
  [[nodiscard]] const std::vector<double>& values() const { return price_; }

  /// Finds what follows from the prices.
  /// Complexity: O(slots log slots * channels + demands)
  void update() {
    const std::size_t slots = t_->slots();
    std::fill(saved_.begin(), saved_.end(), 0.0);
    worth_.assign(slots, 0.0);
    for (std::size_t c = 0; c < t_->channels; ++c) {
      const std::span<const double> own = std::span<const double>(price_).subspan(c * slots, slots);
      for (std::size_t q = 0; q < slots; ++q) worth_[q] += own[q];
      // least price of 2^k slots from each on
      levels_.assign(1, std::vector<double>(own.begin(), own.end()));
      for (std::size_t width = 1; 2 * width <= slots; width *= 2) {
        const std::vector<double>& before = levels_.back();
        std::vector<double> next(slots - 2 * width + 1);
        for (std::size_t q = 0; q < next.size(); ++q) next[q] = std::min(before[q], before[q + width]);
        levels_.push_back(std::move(next));
      }
      for (const range& r : ranges_) {
        if (t_->demands[r.demand].channel != c) continue;
        const double least =
            std::min(levels_[r.level][r.first], levels_[r.level][r.last + 1 - (std::size_t{1} << r.level)]);
        saved_[r.demand] = std::max(saved_[r.demand], 1 - least);
      }
    }
  }
  /// What a unit of a slot's computation is worth, over all channels.
  [[nodiscard]] double worth(std::size_t slot) const { return worth_[slot]; }
  /// What a unit of a demand saves, by its number.
  [[nodiscard]] double saved(std::size_t number) const { return saved_[number]; }
  [[nodiscard]] const std::vector<double>& saved() const { return saved_; }

 private:
  struct range {
    std::uint32_t demand = 0;
    std::size_t first = 0, last = 0;
    std::size_t level = 0;
  };
  void add_range(std::size_t d, std::size_t first, std::size_t last) {
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= last + 1 - first) ++level;
    ranges_.push_back({static_cast<std::uint32_t>(d), first, last, level});
  }

  const savings_terms<Cost>* t_;
  std::vector<double> price_;  ///< channel by channel
  std::vector<double> saved_;
  std::vector<double> worth_;
  std::vector<range> ranges_;
  std::vector<std::vector<double>> levels_;
};

}  // namespace shardweave::inline v0
