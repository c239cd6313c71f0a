#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// \file
/// Launches collectives early and waits for them late.

namespace shardweave::inline v0 {

/// List scheduling with the clocks of the reference timing. The compute stream takes, in the original order, tasks that
/// run without a stall; whenever it is about to be busy, each channel that would become idle meanwhile gets the
/// collective that is needed first, with the casts and views that lead to it. A wait stands before its first user, or
/// where its collective is done.
///
/// With a memory budget, the first run ignores it. If it is exceeded, the run is repeated with lookahead: a collective
/// is pulled, and a task overtakes another one, only if the bytes that this makes live fit besides all that the
/// original order has live from here to its place. A wait that no longer stalls is pulled with the collective behind
/// it, and collectives that are not needed soon leave room for the largest launch on another channel; where there is no
/// room, what only frees memory goes first, and what lags behind its place is waited for. If the peak still exceeds the
/// budget, the run is repeated with a budget that is lower by the excess, twice at most, then with an eighth of the
/// other limits; at last the original order is taken. `within_memory` tells whether the budget is kept; if not, the
/// schedule is the one with the smallest peak seen.
/// Complexity: O((V + E) log V) per run.
struct prefetch {
  static constexpr std::string_view name = "prefetch";

  /// Limit on bytes in and out of collectives that are launched, not yet waited for, and needed by a computation; one
  /// collective alone may exceed it. Absent: 2 GiB, or twice those of the largest collective if that is more, so that
  /// two may be in flight. For a collective that one of the next 8 computations needs, only bytes in flight on its own
  /// channel count.
  std::optional<bytes> in_flight = std::nullopt;
  /// How early a collective may be launched: with at most so many computations (tasks of kind `compute`) left before
  /// the first one that needs it.
  std::size_t compute_ahead = 200;
  std::optional<bytes> memory = std::nullopt;  ///< budget for the peak, inputs included

  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& control = {}) const {
    return along(g, buckets, {}, control);
  }
  /// The same with another order than the original one: a topological order of `launch_units(g, buckets.buckets)`.
  [[nodiscard]] schedule along(const task_graph& g, const bucketing_result& buckets, std::span<const std::uint32_t> by,
                               const solve_control& control = {}) const;
};

static_assert(scheduler<prefetch>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/schedule/impl/prefetch.hpp>
#endif
