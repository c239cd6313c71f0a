#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/tasks/task.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

/// \file
/// An engine whose clock moves by the durations that it is told.

namespace shardweave::inline v0 {

/// Takes every duration at its word: nothing is slower than the task graph says, and nothing takes time that it
/// does not mention. Models `collective_engine`; `replay` with it is `simulate` reached by another way, which is
/// what it is for: it shows that replay and simulator understand a schedule alike.
/// Memory: one span per operation. Each call is O(1).
class virtual_engine {
 public:
  static constexpr std::string_view name = "virtual";

  void connect(std::span<const process_group> groups) {
    free_at_.assign(groups.size(), now_);
    spans_.clear();
  }
  std::size_t run(const compute_call& work) { return advance_to(now_ + work.duration); }
  /// \pre the channel is one of those of `connect`
  std::size_t start(const collective_call& call) {
    SHARDWEAVE_EXPECTS(call.channel < free_at_.size());
    nanoseconds& free_at = free_at_[call.channel];
    const nanoseconds begin = std::max(now_, free_at);
    free_at = begin + call.duration;
    return record({begin, free_at});
  }
  /// \pre `operation` was returned by `start`
  std::size_t wait(std::size_t operation) {
    SHARDWEAVE_EXPECTS(operation < spans_.size());
    return advance_to(std::max(now_, spans_[operation].end));
  }
  /// The compute stream waits for all channels.
  void finish() {
    for (const nanoseconds free_at : free_at_) now_ = std::max(now_, free_at);
  }
  /// Goes on from one replay to the next.
  [[nodiscard]] nanoseconds now() const { return now_; }
  /// \pre `operation` is one since the last `connect`
  [[nodiscard]] time_span span(std::size_t operation) const { return spans_[operation]; }

 private:
  std::size_t advance_to(nanoseconds end) {
    const nanoseconds begin = now_;
    now_ = end;
    return record({begin, end});
  }
  std::size_t record(const time_span& span) {
    spans_.push_back(span);
    return spans_.size() - 1;
  }

  nanoseconds now_;
  std::vector<nanoseconds> free_at_;
  std::vector<time_span> spans_;
};

static_assert(collective_engine<virtual_engine>);

}  // namespace shardweave::inline v0
