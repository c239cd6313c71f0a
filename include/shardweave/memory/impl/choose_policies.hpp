#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/choose_policies.hpp>
#include <shardweave/memory/detail/policy_prices.hpp>
#include <shardweave/memory/detail/policy_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

/// \file
/// Definition of `choose_policies`.

namespace shardweave::inline v0 {

namespace detail {

/// Exact choice of policies by dynamic programming over the blocks, the last one first, because the rows of the last
/// ones bind. The state of a partial choice is its time, the room that it takes (what it keeps, and what its rows
/// demand), and what it offloads. Partial choices are pruned by dominance, and by their Lagrangian bound against the
/// best choice known.
class policy_chooser {
 public:
  /// \pre no row is unsatisfiable by itself (`policy_rows::shortage`); all references outlive this
  policy_chooser(const policy_rows& rows, const policy_prices& prices, double gap, const deadline& limit)
      : blocks_(rows.blocks()), rows_(rows), prices_(prices), gap_(gap), limit_(limit) {}

  chosen_policies run() {
    chosen_policies result;
    start_by_price();
    // iterative deepening: at first only choices little above the bound, then more, until none is left out that
    // matters; in small steps, since at twice the sufficient margin thirty times as many are searched
    constexpr double everything = std::numeric_limits<double>::infinity();
    double beyond = std::max(1.0, 5e-5 * std::abs(prices_.bound()));
    while (!is_enough()) {
      cutoff_ = std::min(prices_.bound() + beyond, best_ ? best_->time : everything);
      if (!best_ && cutoff_ > prices_.slowest()) cutoff_ = everything;
      if (!search()) break;
      exact_ = best_ ? best_->time <= cutoff_ : cutoff_ == everything;
      if (exact_) break;
      beyond *= 1.25;
    }
    if (!best_) {
      if (exact_) result.shortage = narrowest_;
      result.lower_bound = nanoseconds(static_cast<std::int64_t>(std::max(0.0, std::floor(prices_.bound()))));
      return result;
    }
    return answer(std::move(result));
  }

 private:
  struct partial {
    std::int64_t taken = 0, offloaded = 0;
    double time = 0;
    std::uint32_t after = 0;  ///< position in the next block's layer
    std::uint32_t policy = 0;
    /// The first in this order of all that take as much dominates them, where the host's memory is unlimited.
    [[nodiscard]] auto order() const { return std::tie(time, taken, offloaded, after, policy); }
  };
  [[nodiscard]] double least_of(const partial& a, std::size_t before) const {
    return prices_.least_of(a.time, a.taken, a.offloaded, before);
  }
  struct finished {
    std::vector<std::uint32_t> policy;
    double time = 0;
  };

  /// Whether the best known choice is proven optimal, as times are integers, or is within the gap.
  [[nodiscard]] bool is_enough() {
    if (!best_) return false;
    exact_ = best_->time <= std::ceil(prices_.bound());
    return exact_ || (gap_ > 0 && best_->time <= prices_.bound() * (1 + gap_));
  }
  /// A first feasible choice: the cheapest policies at the lowest price at which they fit; then each block, the last
  /// one first, takes the fastest policy that still fits.
  void start_by_price() {
    std::vector<std::uint32_t> policy;
    const auto at_price = [&](double price) {
      policy.clear();
      for (std::size_t l = 0; l < blocks_.size(); ++l) {
        std::uint32_t best = 0;
        std::pair least(std::numeric_limits<double>::infinity(), std::int64_t{0});
        for (std::uint32_t i = 0; i < blocks_[l].policies.size(); ++i) {
          const block_policy& p = blocks_[l].policies[i];
          if (!rows_.is_allowed(l, p)) continue;
          const std::pair cost(static_cast<double>(p.time.count()) + price * static_cast<double>(p.kept.count()) +
                                   prices_.of_host() * static_cast<double>(p.offloaded.count()),
                               p.kept.count() + p.transient.count());
          if (cost >= least) continue;
          least = cost;
          best = i;
        }
        policy.push_back(best);
      }
      return rows_.fits(policy);
    };
    double low = prices_.of_kept(), high = 1 + prices_.slowest();
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
        if (!rows_.is_allowed(l, blocks_[l].policies[i]) ||
            blocks_[l].policies[i].time >= blocks_[l].policies[best].time)
          continue;
        policy[l] = i;
        if (rows_.fits(policy)) best = i;
      }
      policy[l] = best;
    }
    double time = 0;
    for (std::size_t l = 0; l < blocks_.size(); ++l)
      time += static_cast<double>(blocks_[l].policies[policy[l]].time.count());
    best_ = finished{std::move(policy), time};
  }
  /// The shortage of a block's row where no partial choice can be extended.
  [[nodiscard]] memory_shortage narrowest(std::size_t l) const {
    constexpr auto nothing = std::numeric_limits<std::int64_t>::max();
    std::int64_t least_needed = nothing, least_offloaded = nothing;
    for (const partial& from : layers_[l + 1])
      for (std::uint32_t i = 0; i < blocks_[l].policies.size(); ++i) {
        if (!rows_.is_allowed(l, blocks_[l].policies[i])) continue;
        const std::int64_t offloaded = from.offloaded + blocks_[l].policies[i].offloaded.count();
        least_offloaded = std::min(least_offloaded, offloaded);
        if (offloaded > rows_.host()) continue;
        const std::int64_t taken = rows_.taken_by(l, blocks_[l].policies[i], from.taken);
        least_needed = std::min(least_needed, rows_.needed(taken, l));
      }
    return least_needed == nothing ? memory_shortage{l, bytes(least_offloaded), bytes(rows_.host())}
                                   : memory_shortage{l, bytes(least_needed), bytes(rows_.limit())};
  }

  /// Enumerates all choices of at most `cutoff_`. \returns false if the control's limits came first
  bool search() {
    const double slack = prices_.slack();
    const bool host_binds = rows_.host_binds();
    layers_.assign(blocks_.size() + 1, {});
    layers_.back() = {partial{}};
    for (std::size_t l = blocks_.size(); l-- > 0;) {
      std::vector<partial>& next = layers_[l];
      const std::span<const priced_policy> by_price = prices_.by_price(l);
      const auto [backward, forward] = rows_.taken_by_rows(l);
      for (std::uint32_t b = 0; b < layers_[l + 1].size(); ++b) {
        const partial& from = layers_[l + 1][b];
        if ((b & 255U) == 0 && limit_.expired()) return false;
        const double least = least_of(from, l);
        for (const priced_policy& p : by_price) {
          if (least + p.price > cutoff_ + 2 * slack) break;  // reduced costs ascend
          const partial to{std::max(std::max(from.taken, backward + p.transient) + p.kept, forward),
                           from.offloaded + p.offloaded, from.time + p.time, b, p.policy};
          if (to.offloaded > rows_.host()) continue;
          if (rows_.needed(to.taken, l) > rows_.limit()) continue;
          if (least_of(to, l) > cutoff_ + slack) continue;
          if (host_binds) {
            next.push_back(to);
            continue;
          }
          // most states of equal room meet here; what remains of them is removed with the dominated ones
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

  /// Keeps the partial choices that no other one dominates in time, room and, if limited, offloaded bytes.
  void drop_dominated(std::vector<partial>& all) const {
    std::sort(all.begin(), all.end(), [](const partial& a, const partial& b) { return a.order() < b.order(); });
    const bool host_binds = rows_.host_binds();
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
    result.peak = std::max(result.peak, result.kept + bytes(rows_.needed(0, 0)));
    const auto proven = nanoseconds(static_cast<std::int64_t>(std::max(0.0, std::ceil(prices_.bound()))));
    result.lower_bound = exact_ ? result.time : std::min(proven, result.time);
    result.price = prices_.of_kept();
    return result;
  }

  std::span<const memory_block> blocks_;
  const policy_rows& rows_;
  const policy_prices& prices_;
  double gap_;
  const deadline& limit_;
  std::vector<std::vector<partial>> layers_;
  /// By a hash of the room that is taken.
  std::vector<std::uint32_t> place_of_ = std::vector<std::uint32_t>(1U << 18U);
  std::optional<finished> best_;
  memory_shortage narrowest_;
  double cutoff_ = 0;
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
  const detail::policy_rows shared(blocks, rows);
  if (auto shortage = shared.shortage()) return {.shortage = shortage};
  const detail::policy_prices prices(shared);
  return detail::policy_chooser(shared, prices, control.gap, limit).run();
}

}  // namespace shardweave::inline v0
