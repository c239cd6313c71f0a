#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <string_view>
#include <vector>

/// \file
/// Exposure-driven scheduling: hides communication behind computation.

namespace shardweave::inline v0 {

/// The order of exposure-driven scheduling, with the scheduler's own account in `hides`: the time of each collective
/// that it expects to be exposed, and the tasks that hide the rest. Tasks stand as they were taken, inputs among the
/// others. Statistics: those of `overlap_counts` by this account (`collectives`, `fully_exposed`, `fully_hidden`,
/// `potentially_hidden`, `missed`, `exposed_ns`, `hideable_exposed_ns`), `wasted_compute_ns` (time that could have
/// hidden communication and hid none on any channel) and `computations_between_scatters`.
/// Complexity: that of `overlap_scheduler`
[[nodiscard]] schedule account_of_overlap(const task_graph& g, const bucketing_result& buckets,
                                          const overlap_settings& settings = {});

/// Moves inputs to the front, in the original order, and outputs to the end; the rest keeps its order.
/// Complexity: O(V log V)
void inputs_first(const task_graph& g, std::vector<task_index>& order);

/// Takes one task after the other, those first that the next computation needs; computations keep their order. While a
/// task runs, or the stream stalls at a wait, collectives in flight on each channel count as hidden for that time, and
/// then the most urgent collectives that can be reached without a computation are launched behind it. The account of
/// exposed time decides when waits are taken. Memory stays near that of the original order, without guarantee;
/// `prefetch` and `search` guarantee a limit.
///
/// Source: PyTorch's overlap scheduling; on the captured training graphs the order is the same, task by task.
/// Complexity: O((V + E) log V) and `candidates` per window
struct overlap_scheduler {
  static constexpr std::string_view name = "overlap";

  overlap_settings settings = {};

  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& = {}) const;
};

static_assert(scheduler<overlap_scheduler>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/schedule/impl/overlap_scheduler.hpp>
#endif
