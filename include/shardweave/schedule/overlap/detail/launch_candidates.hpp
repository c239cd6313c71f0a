#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/unit_progress.hpp>
#include <shardweave/schedule/overlap/detail/exposure_account.hpp>
#include <shardweave/schedule/overlap/detail/overlap_facts.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/tasks/schedule_types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The collectives that may be launched in a window, by urgency.

namespace shardweave::inline v0::detail {

/// Collectives that are not launched and are needed within a number of computations, or by none. A window considers the
/// first of them in the original order. The most urgent are those that the next computation needs, then those that no
/// computation needs and that lead to a reduction, then the rest by need; for equal need, those of which the window
/// hides most.
/// Complexity: O(log V) per launch; O(n (channels + log n)) per window for n candidates.
class launch_candidates {
 public:
  /// \pre all arguments outlive this
  launch_candidates(const overlap_facts& facts, const unit_progress& progress, const exposure_account& account,
                    const overlap_settings& settings, std::size_t channels)
      : facts_(&facts),
        progress_(&progress),
        account_(&account),
        settings_(&settings),
        open_(channels),
        by_need_(facts.compute_count),
        groups_(facts.key_count) {
    for (const std::uint32_t c : facts.order) {
      if (!facts.is_start(c)) continue;
      if (facts.need[c] == overlap_facts::never || facts.need[c] <= settings.compute_ahead)
        open_[facts.channel[c]].insert(facts.rank[c]);
      else
        by_need_[facts.need[c]].push_back(c);
    }
  }

  /// To be called when `c` was launched, in its turn or early.
  void launch(std::uint32_t c) { open_[facts_->channel[c]].erase(facts_->rank[c]); }
  /// To be called after each computation: adds the collectives that have come within reach.
  void advance() {
    const std::size_t need = progress_->computed() + settings_->compute_ahead;
    if (need >= by_need_.size()) return;
    for (const std::uint32_t c : by_need_[need])
      if (!progress_->is_done(c)) open_[facts_->channel[c]].insert(facts_->rank[c]);
  }

  /// The candidates for which the window has time left on their channels, by urgency. A copy, because other windows may
  /// be opened within this one.
  [[nodiscard]] std::vector<std::uint32_t> look(const exposure_window& w) {
    collect(w);
    drop_unreachable();
    std::sort(found_.begin(), found_.end(), [this](const candidate& a, const candidate& b) {
      if (settings_->group_by_key) {
        const key_group& x = groups_[facts_->key[a.unit]];
        const key_group& y = groups_[facts_->key[b.unit]];
        if (x.first != y.first) return std::tuple(x.first, -x.size) < std::tuple(y.first, -y.size);
      }
      return a.urgency < b.urgency;
    });
    std::vector<std::uint32_t> units;
    units.reserve(found_.size());
    for (const candidate& c : found_) units.push_back(c.unit);
    return units;
  }
  /// The largest rank of a candidate of the last `look`, reachable or not.
  [[nodiscard]] std::uint32_t farthest() const { return farthest_; }

 private:
  using urgency_key = std::tuple<int, std::uint32_t, std::int64_t, std::uint32_t>;  // class, need, -hidden, rank
  struct candidate {
    urgency_key urgency;
    std::uint32_t unit;
  };
  /// Candidates that may be merged; they are listed together, at the place of the most urgent one.
  struct key_group {
    urgency_key first;
    std::int64_t size = 0;
    std::uint64_t window = 0;
  };

  [[nodiscard]] urgency_key urgency_of(std::uint32_t c, const exposure_window& w) const {
    const bool on_path = facts_->need[c] != overlap_facts::never;
    const int kind = facts_->need[c] == progress_->computed() + 1 ? 0
                     : !on_path && facts_->feeds_scatter[c]       ? 1
                     : on_path                                    ? 2
                                                                  : 3;
    const nanoseconds hidden = std::min(w.left[facts_->channel[c]], account_->exposed(c));
    return {kind, facts_->need[c], -hidden.count(), facts_->rank[c]};
  }
  void collect(const exposure_window& w) {
    found_.clear();
    std::vector<std::pair<std::set<std::uint32_t>::const_iterator, std::uint32_t>> at;
    for (std::uint32_t channel = 0; channel < w.left.size(); ++channel)
      if (w.left[channel] > nanoseconds(0) && !open_[channel].empty()) at.emplace_back(open_[channel].begin(), channel);
    ++window_;
    farthest_ = 0;
    for (std::size_t i = 0; i < settings_->candidates && !at.empty(); ++i) {
      auto first = at.begin();
      for (auto other = at.begin(); other != at.end(); ++other)
        if (*other->first < *first->first) first = other;
      const std::uint32_t c = facts_->order[*first->first];
      if (++first->first == open_[first->second].end()) at.erase(first);
      const urgency_key u = urgency_of(c, w);
      if (settings_->group_by_key) {
        key_group& group = groups_[facts_->key[c]];
        if (group.window != window_) group = {u, 0, window_};
        group.first = std::min(group.first, u);
        ++group.size;
      }
      found_.push_back({u, c});
      farthest_ = std::max(farthest_, facts_->rank[c]);
    }
  }
  /// Removes collectives that depend on a later computation, and so cannot be reached; but not those whose size exceeds
  /// what may be in flight, for which room is made all the same.
  void drop_unreachable() {
    const auto is_beyond = [this](const candidate& c) {
      return facts_->compute_before[c.unit] > progress_->computed();
    };
    bytes most = account_->in_flight_bytes();
    for (const candidate& c : found_)
      if (!is_beyond(c)) most += facts_->size[c.unit];
    std::erase_if(found_, [&](const candidate& c) {
      return is_beyond(c) && most + facts_->size[c.unit] <= settings_->in_flight;
    });
  }

  const overlap_facts* facts_;
  const unit_progress* progress_;
  const exposure_account* account_;
  const overlap_settings* settings_;
  std::vector<std::set<std::uint32_t>> open_;        // ranks, by channel
  std::vector<std::vector<std::uint32_t>> by_need_;  // those that are too far ahead
  std::vector<key_group> groups_;
  std::vector<candidate> found_;
  std::uint64_t window_ = 0;
  std::uint32_t farthest_ = 0;
};

}  // namespace shardweave::inline v0::detail
