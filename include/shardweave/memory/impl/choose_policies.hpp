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

/// Exact choice of policies: dynamic programming over the blocks, the last one first, because the rows of the last ones
/// bind. A partial choice is its time, what it takes of the room that blocks share (what it keeps, and what its rows
/// demand), and what it offloads; those that another one dominates are gone, and those whose bound, by one price per
/// byte of the room and one per byte offloaded, is not below the best choice known.
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
    start_by_price();
    // first what is little above the bound alone, then more, until nothing that matters is left out
    constexpr double everything = std::numeric_limits<double>::infinity();
    double beyond = std::max(1.0, 5e-5 * std::abs(bound_));
    while (!is_enough()) {
      cutoff_ = std::min(bound_ + beyond, best_ ? best_->time : everything);
      if (!best_ && cutoff_ > slowest()) cutoff_ = everything;
      if (!search()) break;
      exact_ = best_ ? best_->time <= cutoff_ : cutoff_ == everything;
      if (exact_) break;
      beyond *= 8;
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
    std::int64_t taken = 0, offloaded = 0;
    double time = 0;
    std::uint32_t after = 0;  ///< position in the layer of the block after it
    std::uint32_t policy = 0;
    /// The first of all that take as much is as good as they are, where nothing else binds.
    [[nodiscard]] auto order() const { return std::tie(time, taken, offloaded, after, policy); }
  };
  /// A policy, and what it adds to the bound of a partial choice at least: its time and prices.
  struct priced {
    double price = 0, time = 0;
    std::int64_t kept = 0, transient = 0, offloaded = 0;
    std::uint32_t policy = 0;
  };
  struct finished {
    std::vector<std::uint32_t> policy;
    double time = 0;
  };

  /// Whether the best known need not be bettered: times are whole numbers.
  [[nodiscard]] bool is_enough() {
    if (!best_) return false;
    exact_ = best_->time <= std::ceil(bound_);
    return exact_ || (gap_ > 0 && best_->time <= bound_ * (1 + gap_));
  }
  [[nodiscard]] bool is_allowed(std::size_t l, const block_policy& p) const {
    return p.offloaded == bytes(0) || blocks_[l].may_offload;
  }
  /// What is gone of the room for the blocks before, when a block takes a policy and the later ones leave `room -
  /// taken`.
  [[nodiscard]] std::int64_t taken_by(std::size_t l, const block_policy& p, std::int64_t taken) const {
    const std::int64_t own_row = room() - (rows_.limit.count() - blocks_[l].beside.count() - p.transient.count());
    const std::int64_t forward_row = room() - (rows_.limit.count() - blocks_[l].forward.count());
    return std::max(std::max(taken, own_row) + p.kept.count(), forward_row);
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
    least_before_.assign(blocks_.size() + 1, 0);
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
      least_before_[l + 1] = kept;
    }
    if (kept + rows_.after.count() > rows_.limit.count())
      return memory_shortage{blocks_.size(), bytes(kept) + rows_.after, rows_.limit};
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
    double sum = -of_kept * static_cast<double>(room() - least_taken_) - (of_host == 0 ? 0 : of_host * host_room());
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
      kind_of_.push_back(static_cast<std::size_t>(known - kinds_.begin()));
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
    if (!blocks_.empty()) {  // what the last block's rows leave at most
      least_taken_ = std::numeric_limits<std::int64_t>::max();
      for (const block_policy& p : blocks_.back().policies)
        if (is_allowed(blocks_.size() - 1, p))
          least_taken_ = std::min(least_taken_, taken_by(blocks_.size() - 1, p, 0) - p.kept.count());
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
    for (std::size_t l = 0; l < blocks_.size(); ++l)
      rest_[l + 1] = rest_[l] + cheapest(l, price_of_kept_, price_of_host_);
    for (const auto& [l, count] : kinds_) {
      std::vector<priced>& all = priced_.emplace_back();
      for (std::uint32_t i = 0; i < blocks_[l].policies.size(); ++i)
        if (const block_policy& p = blocks_[l].policies[i]; is_allowed(l, p))
          all.push_back({static_cast<double>(p.time.count()) + price_of_kept_ * static_cast<double>(p.kept.count()) +
                             price_of_host_ * static_cast<double>(p.offloaded.count()),
                         static_cast<double>(p.time.count()), p.kept.count(), p.transient.count(), p.offloaded.count(),
                         i});
      std::sort(all.begin(), all.end(), [](const priced& a, const priced& b) {
        return std::tie(a.price, a.policy) < std::tie(b.price, b.policy);
      });
    }
  }

  /// A choice to begin with: by the lowest price at which the cheapest policies fit, then each block as quick as the
  /// others leave room for, the last one first.
  void start_by_price() {
    std::vector<std::uint32_t> policy;
    const auto at_price = [&](double price) {
      policy.clear();
      for (std::size_t l = 0; l < blocks_.size(); ++l) {
        std::uint32_t best = 0;
        std::pair least(std::numeric_limits<double>::infinity(), std::int64_t{0});
        for (std::uint32_t i = 0; i < blocks_[l].policies.size(); ++i) {
          const block_policy& p = blocks_[l].policies[i];
          if (!is_allowed(l, p)) continue;
          const std::pair cost(static_cast<double>(p.time.count()) + price * static_cast<double>(p.kept.count()) +
                                   price_of_host_ * static_cast<double>(p.offloaded.count()),
                               p.kept.count() + p.transient.count());
          if (cost >= least) continue;
          least = cost;
          best = i;
        }
        policy.push_back(best);
      }
      return fits(policy);
    };
    double low = price_of_kept_, high = 1 + slowest();
    if (!at_price(low)) {
      if (!at_price(high)) return;
      for (int i = 0; i < 60; ++i) {
        const double middle = std::sqrt(std::max(low, high * 1e-12) * high);
        (at_price(middle) ? high : low) = middle;
      }
      at_price(high);
    }
    for (std::size_t l = blocks_.size(); l-- > 0;) {
      const std::uint32_t before = policy[l];
      std::uint32_t best = before;
      for (std::uint32_t i = 0; i < blocks_[l].policies.size(); ++i) {
        if (!is_allowed(l, blocks_[l].policies[i]) || blocks_[l].policies[i].time >= blocks_[l].policies[best].time)
          continue;
        policy[l] = i;
        if (fits(policy)) best = i;
      }
      policy[l] = best;
    }
    double time = 0;
    for (std::size_t l = 0; l < blocks_.size(); ++l)
      time += static_cast<double>(blocks_[l].policies[policy[l]].time.count());
    best_ = finished{std::move(policy), time};
  }
  [[nodiscard]] bool fits(const std::vector<std::uint32_t>& policy) const {
    std::int64_t kept = 0, offloaded = 0;
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      const block_policy& p = blocks_[l].policies[policy[l]];
      if (kept + blocks_[l].forward.count() > rows_.limit.count()) return false;
      kept += p.kept.count();
      offloaded += p.offloaded.count();
      if (kept + p.transient.count() + blocks_[l].beside.count() > rows_.limit.count()) return false;
    }
    return kept + rows_.after.count() <= rows_.limit.count() && offloaded <= rows_.host.count();
  }

  /// What a partial choice takes at least when it is completed by so many blocks before it.
  [[nodiscard]] double least_of(const partial& a, std::size_t before) const {
    const double host = price_of_host_ == 0 ? 0 : price_of_host_ * (static_cast<double>(a.offloaded) - host_room());
    return a.time + rest_[before] + price_of_kept_ * static_cast<double>(a.taken - room()) + host;
  }

  /// What a block's row lacks where no partial choice goes on.
  [[nodiscard]] memory_shortage narrowest(std::size_t l) const {
    constexpr auto nothing = std::numeric_limits<std::int64_t>::max();
    std::int64_t least_needed = nothing, least_offloaded = nothing;
    for (const partial& from : layers_[l + 1])
      for (std::uint32_t i = 0; i < blocks_[l].policies.size(); ++i) {
        if (!is_allowed(l, blocks_[l].policies[i])) continue;
        const std::int64_t offloaded = from.offloaded + blocks_[l].policies[i].offloaded.count();
        least_offloaded = std::min(least_offloaded, offloaded);
        if (offloaded > rows_.host.count()) continue;
        const std::int64_t taken = taken_by(l, blocks_[l].policies[i], from.taken);
        least_needed = std::min(least_needed, taken + least_before_[l] + rows_.after.count());
      }
    return least_needed == nothing ? memory_shortage{l, bytes(least_offloaded), rows_.host}
                                   : memory_shortage{l, bytes(least_needed), rows_.limit};
  }

  /// Looks at all choices of at most `cutoff_`. \returns false if the control's limits came first
  bool search() {
    const double slack = 1e-9 * (1 + std::abs(bound_) + price_of_kept_ * static_cast<double>(room()));
    const bool host_binds = rows_.host.count() < std::numeric_limits<std::int64_t>::max();
    layers_.assign(blocks_.size() + 1, {});
    layers_.back() = {partial{}};
    for (std::size_t l = blocks_.size(); l-- > 0;) {
      std::vector<partial>& next = layers_[l];
      const std::vector<priced>& by_price = priced_[kind_of_[l]];
      // as `taken_by` has it
      const std::int64_t own = room() - (rows_.limit.count() - blocks_[l].beside.count());
      const std::int64_t forward = room() - (rows_.limit.count() - blocks_[l].forward.count());
      for (std::uint32_t b = 0; b < layers_[l + 1].size(); ++b) {
        const partial& from = layers_[l + 1][b];
        if ((b & 255U) == 0 && limit_.expired()) return false;
        const double least = least_of(from, l);
        for (const priced& p : by_price) {
          if (least + p.price > cutoff_ + 2 * slack) break;  // and so of all that follow
          const partial to{std::max(std::max(from.taken, own + p.transient) + p.kept, forward),
                           from.offloaded + p.offloaded, from.time + p.time, b, p.policy};
          if (to.offloaded > rows_.host.count()) continue;
          if (to.taken + least_before_[l] + rows_.after.count() > rows_.limit.count()) continue;
          if (least_of(to, l) > cutoff_ + slack) continue;
          if (host_binds) {
            next.push_back(to);
            continue;
          }
          // most of those that take as much meet here; what is left of them is dropped with the dominated ones
          std::uint32_t& place = place_of_[(static_cast<std::uint64_t>(to.taken) * 0x9e3779b97f4a7c15ULL) >> 46U];
          if (place >= next.size() || next[place].taken != to.taken) {
            place = static_cast<std::uint32_t>(next.size());
            next.push_back(to);
          } else if (to.order() < next[place].order()) {
            next[place] = to;
          }
        }
      }
      if (next.empty()) {
        narrowest_ = narrowest(l);
        return true;
      }
      drop_dominated(next);
    }
    for (const partial& first : layers_.front())
      if (!best_ || first.time < best_->time) best_ = finished{trace(first), first.time};
    return true;
  }

  /// Leaves of the partial choices those that no other one is as good as: of the later blocks the earlier ones see what
  /// is taken alone.
  void drop_dominated(std::vector<partial>& all) const {
    std::sort(all.begin(), all.end(), [](const partial& a, const partial& b) { return a.order() < b.order(); });
    const bool host_binds = rows_.host.count() < std::numeric_limits<std::int64_t>::max();
    std::vector<std::pair<std::int64_t, std::int64_t>> front;  // taken ascending, offloaded descending
    std::size_t left = 0;
    for (const partial& next : all) {
      const std::int64_t offloaded = host_binds ? next.offloaded : 0;
      const auto after =
          std::upper_bound(front.begin(), front.end(), std::pair(next.taken, std::numeric_limits<std::int64_t>::max()));
      if (after != front.begin() && std::prev(after)->second <= offloaded) continue;
      auto last = after;
      while (last != front.end() && last->second >= offloaded) ++last;
      front.insert(front.erase(after, last), {next.taken, offloaded});
      all[left++] = next;
    }
    all.resize(left);
  }

  [[nodiscard]] std::vector<std::uint32_t> trace(partial at) const {
    std::vector<std::uint32_t> policy(blocks_.size());
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      policy[l] = at.policy;
      at = layers_[l + 1][at.after];
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
  std::vector<std::int64_t> least_before_;  ///< kept by so many first blocks
  std::vector<double> rest_;                ///< the same of time and prices
  std::int64_t least_taken_ = 0;            ///< of the room, by the last block's rows
  std::vector<std::pair<std::size_t, std::size_t>> kinds_;
  std::vector<std::size_t> kind_of_;         ///< by block: position in `kinds_`
  std::vector<std::vector<priced>> priced_;  ///< by kind, the cheapest first
  std::vector<std::vector<partial>> layers_;
  std::vector<std::uint32_t> place_of_ = std::vector<std::uint32_t>(1U << 18U);  ///< by a hash of what is taken
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
