#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/detail/policy_rows.hpp>
#include <shardweave/memory/memory_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Lagrangian prices of memory for the choice of policies.

namespace shardweave::inline v0::detail {

/// A policy with its reduced cost: its time, and its bytes at their prices.
struct priced_policy {
  double price = 0, time = 0;
  std::int64_t kept = 0, transient = 0, offloaded = 0;
  std::uint32_t policy = 0;
};

/// A lower bound on the time of a choice of policies: the Lagrangian relaxation of its rows, with a price per byte of
/// the room (`policy_rows`) and one per byte that is offloaded.
class policy_prices {
 public:
  /// Maximizes the bound over the prices. Complexity: O(blocks + kinds of blocks * policies), some 200 times
  /// \pre the rows outlive this object
  explicit policy_prices(const policy_rows& rows) : rows_(rows), blocks_(rows.blocks()) { find_prices(); }

  [[nodiscard]] double of_kept() const { return price_of_kept_; }
  [[nodiscard]] double of_host() const { return price_of_host_; }
  /// No choice within the rows takes less.
  [[nodiscard]] double bound() const { return bound_; }
  /// A bound on the rounding error of sums of times and prices.
  [[nodiscard]] double slack() const {
    return 1e-9 * (1 + std::abs(bound_) + price_of_kept_ * static_cast<double>(rows_.room()));
  }
  /// The sum over the blocks of their slowest policy's time.
  [[nodiscard]] double slowest() const {
    double sum = 0;
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      std::int64_t most = 0;
      for (const block_policy& p : blocks_[l].policies) most = std::max(most, p.time.count());
      sum += static_cast<double>(most);
    }
    return sum;
  }

  /// The policies of a block, by ascending reduced cost.
  [[nodiscard]] std::span<const priced_policy> by_price(std::size_t l) const { return priced_[kind_of_[l]]; }
  /// A lower bound on the time of all completions of a partial choice by the first `before` blocks.
  [[nodiscard]] double least_of(double time, std::int64_t taken, std::int64_t offloaded, std::size_t before) const {
    const double host = price_of_host_ == 0 ? 0 : price_of_host_ * (static_cast<double>(offloaded) - rows_.host_room());
    return time + rest_[before] + price_of_kept_ * static_cast<double>(taken - rows_.room()) + host;
  }

 private:
  /// The least reduced cost of a policy of a block.
  [[nodiscard]] double cheapest(std::size_t l, double of_kept, double of_host) const {
    double least = std::numeric_limits<double>::infinity();
    for (const block_policy& p : blocks_[l].policies)
      if (rows_.is_allowed(l, p))
        least = std::min(least, static_cast<double>(p.time.count()) + of_kept * static_cast<double>(p.kept.count()) +
                                    of_host * static_cast<double>(p.offloaded.count()));
    return least;
  }
  [[nodiscard]] double bound_at(double of_kept, double of_host) const {
    double sum =
        -of_kept * static_cast<double>(rows_.room() - least_taken_) - (of_host == 0 ? 0 : of_host * rows_.host_room());
    for (const auto& [l, count] : kinds_) sum += static_cast<double>(count) * cheapest(l, of_kept, of_host);
    return sum;
  }
  /// Groups blocks of equal policies: the first of each kind, and their number.
  void find_kinds() {
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      const auto same = [&](const auto& kind) {
        const memory_block& a = blocks_[kind.first];
        return a.policies.data() == blocks_[l].policies.data() && a.policies.size() == blocks_[l].policies.size() &&
               a.may_offload == blocks_[l].may_offload;
      };
      const auto known = std::find_if(kinds_.begin(), kinds_.end(), same);
      kind_of_.push_back(static_cast<std::size_t>(known - kinds_.begin()));
      if (known == kinds_.end()) {
        kinds_.emplace_back(l, 1);
      } else {
        ++known->second;
      }
    }
  }
  /// Maximizes the bound, which is concave, by ternary search in each price.
  void find_prices() {
    find_kinds();
    if (!blocks_.empty()) {  // the room that the last block's rows take from kept values, at least
      least_taken_ = std::numeric_limits<std::int64_t>::max();
      for (const block_policy& p : blocks_.back().policies)
        if (rows_.is_allowed(blocks_.size() - 1, p))
          least_taken_ = std::min(least_taken_, rows_.taken_by(blocks_.size() - 1, p, 0) - p.kept.count());
      least_taken_ = std::max<std::int64_t>(least_taken_, 0);
    }
    const auto climb = [](double most, const auto& value) {
      double low = 0, high = most;
      for (int i = 0; i < 100; ++i) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        (value(a) < value(b) ? low : high) = value(a) < value(b) ? a : b;
      }
      const double middle = 0.5 * (low + high);
      return value(0) >= value(middle) ? 0.0 : middle;
    };
    const double most = 1 + slowest();  // ns per byte: a byte costs no more than all time
    const auto best_kept = [&](double of_host) {
      return climb(most, [&](double price) { return bound_at(price, of_host); });
    };
    price_of_host_ =
        rows_.host_binds() ? climb(most, [&](double price) { return bound_at(best_kept(price), price); }) : 0;
    price_of_kept_ = best_kept(price_of_host_);
    bound_ = bound_at(price_of_kept_, price_of_host_);
    bound_ -= slack();  // against rounding
    rest_.assign(blocks_.size() + 1, 0.0);
    for (std::size_t l = 0; l < blocks_.size(); ++l)
      rest_[l + 1] = rest_[l] + cheapest(l, price_of_kept_, price_of_host_);
    for (const auto& [l, count] : kinds_) {
      std::vector<priced_policy>& all = priced_.emplace_back();
      for (std::uint32_t i = 0; i < blocks_[l].policies.size(); ++i)
        if (const block_policy& p = blocks_[l].policies[i]; rows_.is_allowed(l, p))
          all.push_back({static_cast<double>(p.time.count()) + price_of_kept_ * static_cast<double>(p.kept.count()) +
                             price_of_host_ * static_cast<double>(p.offloaded.count()),
                         static_cast<double>(p.time.count()), p.kept.count(), p.transient.count(), p.offloaded.count(),
                         i});
      std::sort(all.begin(), all.end(), [](const priced_policy& a, const priced_policy& b) {
        return std::tie(a.price, a.policy) < std::tie(b.price, b.policy);
      });
    }
  }

  const policy_rows& rows_;
  std::span<const memory_block> blocks_;
  std::vector<double> rest_;      ///< by number of first blocks: the least sum of their reduced costs
  std::int64_t least_taken_ = 0;  ///< of the room, by the last block's rows; 0 at least
  std::vector<std::pair<std::size_t, std::size_t>> kinds_;
  std::vector<std::size_t> kind_of_;                ///< by block: position in `kinds_`
  std::vector<std::vector<priced_policy>> priced_;  ///< by kind
  double price_of_kept_ = 0, price_of_host_ = 0, bound_ = 0;
};

}  // namespace shardweave::inline v0::detail
