#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/choose_policies.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// One policy for every block of a sequence, within the memory of the device.

namespace shardweave {
inline namespace v0 {

namespace detail {

/// Exact choice of policies: dynamic programming over the blocks. A partial choice is its time, what is kept and what
/// is offloaded so far; those that another one dominates are gone, and those whose bound, by one price per byte kept
/// and one per byte offloaded, is not below the best choice known.
class policy_chooser {
 public:
  policy_chooser(std::span<const memory_block> blocks, const memory_rows& rows, double gap, const deadline& limit)
      : blocks_(blocks), rows_(rows), gap_(gap), limit_(limit) {}

  chosen_policies run() {
    chosen_policies result;
    if (const auto why = shortage()) {
      result.shortage = why;
      return result;
    }
    find_prices();
    // first what is little above the bound alone, then more, until nothing that matters is left out
    double beyond = std::max(1.0, 0.0005 * std::abs(bound_));
    cutoff_ = bound_ + beyond;
    while (search()) {
      if (best_ && gap_ > 0 && best_->time <= bound_ * (1 + gap_)) break;
      exact_ = best_ ? best_->time <= cutoff_ : cutoff_ > slowest();
      if (exact_) break;
      beyond *= 8;
      cutoff_ = best_ ? best_->time : bound_ + beyond;
    }
    if (!best_) {
      if (exact_) result.shortage = narrowest_;
      result.lower_bound = nanoseconds(static_cast<std::int64_t>(std::max(0.0, std::floor(bound_))));
      return result;
    }
    return answer(std::move(result));
  }

 private:
  struct partial {
    std::int64_t kept = 0, offloaded = 0;
    double time = 0;
    std::uint32_t before = 0;  ///< position in the layer before
    std::uint32_t policy = 0;
  };
  struct finished {
    std::vector<std::uint32_t> policy;
    double time = 0;
  };

  [[nodiscard]] bool is_allowed(std::size_t l, const block_policy& p) const {
    return p.offloaded == bytes(0) || blocks_[l].may_offload;
  }
  /// What the rows need at least if the blocks before keep so much, and a block takes a policy.
  [[nodiscard]] std::int64_t needed(std::size_t l, std::int64_t before, const block_policy& p) const {
    const std::int64_t kept = before + p.kept.count();
    return std::max({before + blocks_[l].forward.count(), kept + p.transient.count() + blocks_[l].beside.count(),
                     kept + least_kept_[l + 1] + rows_.after.count()});
  }
  [[nodiscard]] double slowest() const {
    double sum = 0;
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      std::int64_t most = 0;
      for (const block_policy& p : blocks_[l].policies) most = std::max(most, p.time.count());
      sum += static_cast<double>(most);
    }
    return sum;
  }

  /// The first row that no choice keeps by itself.
  std::optional<memory_shortage> shortage() {
    std::int64_t kept = 0;
    least_kept_.assign(blocks_.size() + 1, 0);
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max(), least_at_peak = least;
      for (const block_policy& p : blocks_[l].policies)
        if (is_allowed(l, p)) {
          least = std::min(least, p.kept.count());
          least_at_peak = std::min(least_at_peak, p.kept.count() + p.transient.count());
        }
      const std::int64_t peak = kept + std::max(least_at_peak + blocks_[l].beside.count(), blocks_[l].forward.count());
      if (peak > rows_.limit.count()) return memory_shortage{l, bytes(peak), rows_.limit};
      kept += least;
      least_kept_[l] = least;
    }
    if (kept + rows_.after.count() > rows_.limit.count())
      return memory_shortage{blocks_.size(), bytes(kept) + rows_.after, rows_.limit};
    for (std::size_t l = blocks_.size(); l-- > 0;) least_kept_[l] += least_kept_[l + 1];
    return std::nullopt;
  }
  /// The least of time + prices over a block's policies.
  [[nodiscard]] double cheapest(std::size_t l, double of_kept, double of_host) const {
    double least = std::numeric_limits<double>::infinity();
    for (const block_policy& p : blocks_[l].policies)
      if (is_allowed(l, p))
        least = std::min(least, static_cast<double>(p.time.count()) + of_kept * static_cast<double>(p.kept.count()) +
                                    of_host * static_cast<double>(p.offloaded.count()));
    return least;
  }
  [[nodiscard]] double bound_at(double of_kept, double of_host) const {
    double sum = -of_kept * static_cast<double>(room()) - (of_host == 0 ? 0 : of_host * host_room());
    for (const auto& [l, count] : kinds_) sum += static_cast<double>(count) * cheapest(l, of_kept, of_host);
    return sum;
  }
  /// Blocks of equal policies: the first one, and how many there are.
  void find_kinds() {
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      const auto same = [&](const auto& kind) {
        const memory_block& a = blocks_[kind.first];
        return a.policies.data() == blocks_[l].policies.data() && a.policies.size() == blocks_[l].policies.size() &&
               a.may_offload == blocks_[l].may_offload;
      };
      const auto known = std::find_if(kinds_.begin(), kinds_.end(), same);
      if (known == kinds_.end()) {
        kinds_.emplace_back(l, 1);
      } else {
        ++known->second;
      }
    }
  }
  [[nodiscard]] std::int64_t room() const { return rows_.limit.count() - rows_.after.count(); }
  [[nodiscard]] double host_room() const { return static_cast<double>(rows_.host.count()); }

  /// The best prices: the bound is concave in each, so thirds of the interval are left out in turn.
  void find_prices() {
    find_kinds();
    const auto climb = [](double most, const auto& value) {
      double low = 0, high = most;
      for (int i = 0; i < 100; ++i) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        (value(a) < value(b) ? low : high) = value(a) < value(b) ? a : b;
      }
      const double middle = 0.5 * (low + high);
      return value(0) >= value(middle) ? 0.0 : middle;
    };
    const double most = 1 + slowest();  // ns per byte: a byte is not worth more than everything
    const bool host_binds = rows_.host.count() < std::numeric_limits<std::int64_t>::max();
    const auto best_kept = [&](double of_host) {
      return climb(most, [&](double price) { return bound_at(price, of_host); });
    };
    price_of_host_ = host_binds ? climb(most, [&](double price) { return bound_at(best_kept(price), price); }) : 0;
    price_of_kept_ = best_kept(price_of_host_);
    bound_ = bound_at(price_of_kept_, price_of_host_);
    bound_ -= 1e-9 * (1 + std::abs(bound_) + price_of_kept_ * static_cast<double>(room()));  // rounding
    rest_.assign(blocks_.size() + 1, 0.0);
    for (std::size_t l = blocks_.size(); l-- > 0;)
      rest_[l] = rest_[l + 1] + cheapest(l, price_of_kept_, price_of_host_);
  }

  /// What a partial choice of the first blocks takes at least when it is completed.
  [[nodiscard]] double least_of(const partial& a, std::size_t blocks) const {
    const double host = price_of_host_ == 0 ? 0 : price_of_host_ * (static_cast<double>(a.offloaded) - host_room());
    return a.time + rest_[blocks] + price_of_kept_ * static_cast<double>(a.kept - room()) + host;
  }

  /// Looks at all choices of at most `cutoff_`. \returns false if the control's limits came first
  bool search() {
    const double slack = 1e-9 * (1 + std::abs(cutoff_) + price_of_kept_ * static_cast<double>(room()));
    layers_.assign(1, {partial{}});
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      std::vector<partial> next;
      std::int64_t least_needed = std::numeric_limits<std::int64_t>::max();
      for (std::uint32_t b = 0; b < layers_[l].size(); ++b) {
        const partial& from = layers_[l][b];
        if ((b & 1023U) == 0 && limit_.expired()) return false;
        for (std::uint32_t i = 0; i < blocks_[l].policies.size(); ++i) {
          const block_policy& p = blocks_[l].policies[i];
          if (!is_allowed(l, p)) continue;
          const partial to{from.kept + p.kept.count(), from.offloaded + p.offloaded.count(),
                           from.time + static_cast<double>(p.time.count()), b, i};
          if (to.offloaded > rows_.host.count() || least_of(to, l + 1) > cutoff_ + slack) continue;
          const std::int64_t need = needed(l, from.kept, p);
          least_needed = std::min(least_needed, need);
          if (need > rows_.limit.count()) continue;
          next.push_back(to);
        }
      }
      if (next.empty()) {
        narrowest_ = {l, bytes(least_needed), rows_.limit};
        return true;
      }
      drop_dominated(next);
      layers_.push_back(std::move(next));
    }
    for (const partial& last : layers_.back())
      if (!best_ || last.time < best_->time) best_ = finished{trace(last), last.time};
    return true;
  }

  /// Leaves of the partial choices those that no other one is as good as. The rows of later blocks, too, ask for what
  /// is kept so far alone.
  void drop_dominated(std::vector<partial>& all) const {
    std::sort(all.begin(), all.end(), [](const partial& a, const partial& b) {
      return std::tie(a.time, a.kept, a.offloaded, a.before, a.policy) <
             std::tie(b.time, b.kept, b.offloaded, b.before, b.policy);
    });
    const bool host_binds = rows_.host.count() < std::numeric_limits<std::int64_t>::max();
    std::vector<std::pair<std::int64_t, std::int64_t>> front;  // kept ascending, offloaded descending
    std::size_t left = 0;
    for (const partial& next : all) {
      const std::int64_t offloaded = host_binds ? next.offloaded : 0;
      const auto after =
          std::upper_bound(front.begin(), front.end(), std::pair(next.kept, std::numeric_limits<std::int64_t>::max()));
      if (after != front.begin() && std::prev(after)->second <= offloaded) continue;
      auto last = after;
      while (last != front.end() && last->second >= offloaded) ++last;
      front.insert(front.erase(after, last), {next.kept, offloaded});
      all[left++] = next;
    }
    all.resize(left);
  }

  [[nodiscard]] std::vector<std::uint32_t> trace(partial at) const {
    std::vector<std::uint32_t> policy(blocks_.size());
    for (std::size_t l = blocks_.size(); l-- > 0;) {
      policy[l] = at.policy;
      at = layers_[l][at.before];
    }
    return policy;
  }

  chosen_policies answer(chosen_policies result) const {
    result.policy = best_->policy;
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      const block_policy& p = blocks_[l].policies[result.policy[l]];
      result.time += p.time;
      result.peak = std::max(result.peak, result.kept + blocks_[l].forward);
      result.kept += p.kept;
      result.offloaded += p.offloaded;
      result.peak = std::max(result.peak, result.kept + p.transient + blocks_[l].beside);
    }
    result.peak = std::max(result.peak, result.kept + rows_.after);
    const auto proven = nanoseconds(static_cast<std::int64_t>(std::max(0.0, std::ceil(bound_))));
    result.lower_bound = exact_ ? result.time : std::min(proven, result.time);
    result.price = price_of_kept_;
    return result;
  }

  std::span<const memory_block> blocks_;
  memory_rows rows_;
  double gap_;
  const deadline& limit_;
  std::vector<std::int64_t> least_kept_;  ///< by the blocks from each one on
  std::vector<double> rest_;              ///< the same of time and prices
  std::vector<std::pair<std::size_t, std::size_t>> kinds_;
  std::vector<std::vector<partial>> layers_;
  std::optional<finished> best_;
  memory_shortage narrowest_;
  double price_of_kept_ = 0, price_of_host_ = 0, bound_ = 0, cutoff_ = 0;
  bool exact_ = false;
};

}  // namespace detail

SHARDWEAVE_INLINE chosen_policies choose_policies(std::span<const memory_block> blocks, const memory_rows& rows,
                                                  const solve_control& control) {
  const deadline limit(control);
  for (std::size_t l = 0; l < blocks.size(); ++l) {
    const auto& policies = blocks[l].policies;
    const bool has_one = std::any_of(policies.begin(), policies.end(), [&](const block_policy& p) {
      return blocks[l].may_offload || p.offloaded == bytes(0);
    });
    if (!has_one)
      refuse(error_category::input, "block " + std::to_string(l) + " has no policy" +
                                        (policies.empty() ? "" : " without offloading, which it may not do"));
  }
  return detail::policy_chooser(blocks, rows, control.gap, limit).run();
}

}  // namespace v0
}  // namespace shardweave
