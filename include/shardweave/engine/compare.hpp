#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

/// \file
/// How far a prediction is from what was measured.

namespace shardweave::inline v0 {

/// One figure, predicted and measured.
struct compared_time {
  nanoseconds predicted;
  nanoseconds measured;

  /// Measured less predicted: positive where it took longer.
  [[nodiscard]] constexpr nanoseconds error() const { return measured - predicted; }
  /// The error as a share of what was predicted: 0.1 = took 10 % longer. Infinite where nothing was predicted
  /// and something measured.
  [[nodiscard]] constexpr double relative_error() const {
    if (error() == nanoseconds(0)) return 0;
    if (predicted == nanoseconds(0)) return std::numeric_limits<double>::infinity();
    return static_cast<double>(error().count()) / static_cast<double>(predicted.count());
  }
  friend bool operator==(const compared_time&, const compared_time&) = default;
};

/// Two timelines of one schedule beside each other.
struct timeline_comparison {
  compared_time end_to_end;
  compared_time compute;
  compared_time packing;
  compared_time communication;
  compared_time exposed;
  compared_time tail;
  std::vector<compared_time> channels = {};  ///< time in which each channel is busy, by process group
  task_index worst = no_index;               ///< the task whose end is farthest off, the first of such
  compared_time worst_end;                   ///< when it ends
};

/// Compares the timelines of one schedule; either may be simulated or measured.
/// \throws error if they differ in the number of tasks or channels
/// Complexity: O(tasks + channels)
[[nodiscard]] inline timeline_comparison compare(const timeline& predicted, const timeline& measured) {
  const auto equal_counts = [](const char* what, std::size_t expected, std::size_t found) {
    if (expected != found)
      refuse(error_category::input, "the measured timeline has " + std::to_string(found) + " " + what + ", expected " +
                                        std::to_string(expected) + " as the predicted one");
  };
  equal_counts("tasks", predicted.end.size(), measured.end.size());
  equal_counts("channels", predicted.channel_busy.size(), measured.channel_busy.size());

  timeline_comparison c{.end_to_end = {predicted.end_to_end, measured.end_to_end},
                        .compute = {predicted.compute, measured.compute},
                        .packing = {predicted.packing, measured.packing},
                        .communication = {predicted.communication, measured.communication},
                        .exposed = {predicted.exposed, measured.exposed},
                        .tail = {predicted.tail, measured.tail},
                        .worst_end = {}};
  for (std::size_t i = 0; i < predicted.channel_busy.size(); ++i)
    c.channels.push_back({predicted.channel_busy[i], measured.channel_busy[i]});
  const auto distance = [](const compared_time& t) { return t.error() < nanoseconds(0) ? -t.error() : t.error(); };
  for (task_index t = 0; t < predicted.end.size(); ++t) {
    const compared_time end{predicted.end[t], measured.end[t]};
    if (c.worst != no_index && distance(end) <= distance(c.worst_end)) continue;
    c.worst = t;
    c.worst_end = end;
  }
  return c;
}

}  // namespace shardweave::inline v0
