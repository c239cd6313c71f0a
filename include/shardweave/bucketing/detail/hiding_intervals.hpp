#pragma once

#include <shardweave/bucketing/detail/overlap_account.hpp>
#include <shardweave/bucketing/detail/overlap_timeline.hpp>
#include <shardweave/tasks/launch_units.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Whether hidden collectives of a channel stay hidden after a merge.

namespace shardweave::inline v0::detail {

/// Intervals of launches, waits and hiding tasks on the timeline of one channel. A channel works in order, so a wait
/// completes all earlier launches on it. Hence a collective stays hidden as long as no other one of its channel is
/// launched before it and waited for before the end of what hides it: that wait would complete it too early.
/// Complexity: O(n * m) per query for n collectives and m hiding tasks between the merged launch and wait.
class hiding_intervals {
 public:
  /// \pre all arguments outlive this
  hiding_intervals(const launch_units& units, const overlap_account& account) : units_(&units), account_(&account) {}

  /// Whether everything hidden stays so if `c` joins the members, launched at `start` and waited for at `wait`.
  /// \param line  of the channel
  /// \pre members is not empty; start and wait are those of its first member, or of `c`
  [[nodiscard]] bool stay(const overlap_timeline& line, std::span<const std::uint32_t> members, std::uint32_t c,
                          std::uint32_t start, std::uint32_t wait) {
    const std::uint32_t seed = members.front();
    const auto at = [&](std::uint32_t u) { return line.event_of(u); };
    const interval all{at(start), at(wait)};
    inside_.clear();
    running_.assign(1, all);
    const auto own = [&](std::uint32_t u) {
      for (const std::uint32_t h : account_->hidden_by[u]) {
        if (at(h) <= all.from || at(h) >= all.to) return false;
        inside_.push_back({all.from, at(h)});
      }
      return true;
    };
    if (!own(c) || !std::all_of(members.begin(), members.end(), own)) return false;
    const std::uint32_t latest = std::max(at(c), at(seed));
    const std::uint32_t earliest = std::min(at(account_->wait_of[c]), at(account_->wait_of[seed]));
    const auto look = [&](std::uint32_t event) {
      const std::uint32_t u = line.unit_at(event);
      const std::uint32_t launched = account_->is_start(u) ? u : account_->start_of[u];
      if (launched == no_index || launched == c || !account_->is_start(launched) ||
          std::find(members.begin(), members.end(), launched) != members.end() ||
          units_->channel(launched) != units_->channel(c))
        return;
      running_.push_back({at(launched), at(account_->wait_of[launched])});
      for (const std::uint32_t h : account_->hidden_by[launched]) inside_.push_back({at(launched), at(h)});
    };
    for (auto e = line.next(all.from); e != overlap_timeline::none && e < latest; e = line.next(e)) look(e);
    for (auto e = line.previous(all.to); e != overlap_timeline::none && e > earliest; e = line.previous(e)) look(e);
    return std::none_of(running_.begin(), running_.end(), [&](const interval& outer) {
      return std::any_of(inside_.begin(), inside_.end(), [&](const interval& i) { return outer.encloses(i); });
    });
  }

 private:
  struct interval {
    std::uint32_t from, to;
    [[nodiscard]] bool encloses(const interval& other) const { return from < other.from && other.to < to; }
  };

  const launch_units* units_;
  const overlap_account* account_;
  std::vector<interval> running_, inside_;  // from launch to wait; from launch to hiding task
};

}  // namespace shardweave::inline v0::detail
