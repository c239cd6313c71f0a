#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/overlap/detail/overlap_facts.hpp>
#include <shardweave/schedule/overlap/detail/share_of.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

/// \file
/// Accounting of exposed time in exposure-driven scheduling.

namespace shardweave::inline v0::detail {

/// A time span of a unit, and how much of it is still free on each channel to hide communication.
struct exposure_window {
  std::uint32_t unit;
  nanoseconds lasts;
  bool is_counted;                // whether records of collectives may name the unit
  std::vector<nanoseconds> left;  // by channel; negative: the window does not apply to the channel

  [[nodiscard]] bool is_full() const {
    return std::none_of(left.begin(), left.end(), [](nanoseconds l) { return l > nanoseconds(0); });
  }
};

/// Collectives in flight, and how much of each is exposed. All of a collective's time is exposed until windows during
/// its flight hide some of it; a window hides on every channel, in launch order. Collectives complete in launch order,
/// too. Complexity: O(channels) per window and O(1) amortized per collective hidden.
class exposure_account {
 public:
  /// \param merging_saves_latency  a launch counts without latency while another one of its latency key is in flight
  /// \pre facts and units outlive this
  exposure_account(const overlap_facts& facts, const launch_units& units, std::size_t channels,
                   bool merging_saves_latency)
      : facts_(&facts),
        units_(&units),
        saves_latency_(merging_saves_latency),
        exposed_(units.size()),
        hiding_(units.size()),
        launched_at_(units.size()),
        in_flight_(channels),
        uncovered_(channels),
        waits_(channels),
        flying_(facts.latency_key_count) {
    for (std::uint32_t u = 0; u < units.size(); ++u)
      if (facts.is_start(u)) exposed_[u] = units.costs(u).duration;
  }

  [[nodiscard]] nanoseconds exposed(std::uint32_t c) const { return exposed_[c]; }
  [[nodiscard]] bool is_exposed(std::uint32_t c) const { return exposed_[c] > nanoseconds(0); }
  [[nodiscard]] bool hides(std::uint32_t v, std::uint32_t c) const {
    return std::find(hiding_[c].begin(), hiding_[c].end(), v) != hiding_[c].end();
  }
  /// The records of all collectives that something waits for, in the original order.
  [[nodiscard]] std::vector<hiding_record> records() const {
    std::vector<hiding_record> all;
    for (const std::uint32_t u : facts_->order) {
      if (!facts_->is_start(u)) continue;
      hiding_record r{.collective = units_->first(u), .exposed = exposed_[u]};
      r.hidden = units_->costs(u).duration - exposed_[u];
      for (const std::uint32_t v : hiding_[u]) r.behind.push_back(units_->first(v));
      all.push_back(std::move(r));
    }
    return all;
  }
  /// Total time of windows that no channel used.
  [[nodiscard]] nanoseconds wasted() const { return wasted_; }

  // what is in flight

  [[nodiscard]] bytes in_flight_bytes() const { return in_flight_bytes_; }
  [[nodiscard]] bool is_in_flight(std::uint32_t c) const {  // a collective that was not launched has number 0
    const auto& line = in_flight_[facts_->channel[c]];
    return !line.empty() && launched_at_[line.front()] <= launched_at_[c];
  }
  /// \pre something is in flight on the channel
  [[nodiscard]] std::uint32_t oldest_on(std::uint32_t channel) const { return in_flight_[channel].front(); }
  /// The collective in flight that was launched first; no_index: none is.
  [[nodiscard]] std::uint32_t oldest() const {
    std::uint32_t found = no_index;
    for (const auto& line : in_flight_)
      if (!line.empty() && (found == no_index || launched_at_[line.front()] < launched_at_[found]))
        found = line.front();
    return found;
  }
  /// Whether its channel is being waited for, so that another wait would be nested in that one.
  [[nodiscard]] bool is_waited_for(std::uint32_t c) const { return waits_[facts_->channel[c]] > 0; }

  void launch(std::uint32_t c) {
    const std::uint32_t channel = facts_->channel[c], latency_key = facts_->latency_key[c];
    if (saves_latency_ && latency_key != no_index && flying_[latency_key] > 0)
      exposed_[c] = std::max(nanoseconds(0), exposed_[c] - facts_->latency[c]);
    launched_at_[c] = ++launches_;
    in_flight_[channel].push_back(c);
    if (is_exposed(c)) uncovered_[channel].push_back(c);
    in_flight_bytes_ += facts_->size[c];
    if (latency_key != no_index) ++flying_[latency_key];
  }
  /// \pre `c` is the oldest on its channel
  void begin_wait(std::uint32_t c) { ++waits_[facts_->channel[c]]; }
  /// \pre the wait for it has begun
  void land(std::uint32_t c) {
    --waits_[facts_->channel[c]];
    in_flight_[facts_->channel[c]].pop_front();
    in_flight_bytes_ -= facts_->size[c];
    if (facts_->latency_key[c] != no_index) --flying_[facts_->latency_key[c]];
  }

  // windows

  /// Opens a window of `time` while `v` runs, which hides what is in flight, but not on channel `excluded`.
  [[nodiscard]] exposure_window open(std::uint32_t v, nanoseconds time, std::uint32_t excluded, bool is_counted) {
    exposure_window w{v, time, is_counted, std::vector<nanoseconds>(in_flight_.size(), nanoseconds(-1))};
    for (std::uint32_t channel = 0; channel < w.left.size(); ++channel) {
      if (channel == excluded) continue;
      w.left[channel] = time;
      auto& line = uncovered_[channel];
      while (!line.empty() && w.left[channel] > nanoseconds(0)) {
        const std::uint32_t c = line.front();
        if (is_in_flight(c) && is_exposed(c)) {
          hide(c, w);
          if (is_exposed(c)) break;
        }
        line.pop_front();
      }
    }
    return w;
  }
  /// Hides a collective by what the window has left on its channel.
  void hide(std::uint32_t c, exposure_window& w) {
    nanoseconds& left = w.left[facts_->channel[c]];
    const nanoseconds hidden = std::min(left, exposed_[c]);
    exposed_[c] -= hidden;
    left -= hidden;
    if (w.is_counted) hiding_[c].push_back(w.unit);
  }
  /// Counts what is left of the window as unused.
  void close(const exposure_window& w) {
    nanoseconds least = w.lasts;
    for (const nanoseconds l : w.left)
      if (l >= nanoseconds(0)) least = std::min(least, l);
    wasted_ = std::min(wasted_ + least, nanoseconds(most_share));
  }

 private:
  const overlap_facts* facts_;
  const launch_units* units_;
  bool saves_latency_;
  std::vector<nanoseconds> exposed_;
  std::vector<std::vector<std::uint32_t>> hiding_;
  std::vector<std::uint64_t> launched_at_;
  std::vector<std::deque<std::uint32_t>> in_flight_, uncovered_;  // by channel, in launch order
  std::vector<std::uint32_t> waits_;                              // number of waits that have begun, by channel
  std::vector<std::uint32_t> flying_;                             // by latency key
  bytes in_flight_bytes_;
  nanoseconds wasted_;
  std::uint64_t launches_ = 0;
};

}  // namespace shardweave::inline v0::detail
