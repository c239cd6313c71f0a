#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <string_view>
#include <vector>

/// \file
/// Hides communication behind computation by an account of what is still exposed.

namespace shardweave::inline v0 {

/// What exposure-driven scheduling does: the order, and in `hides` the scheduler's own account, that is how much of
/// each collective it expects to be exposed and the tasks that it counts on to hide the rest. Tasks stand as they were
/// taken, inputs between others. Statistics: those of `overlap_counts` by this account (`collectives`, `fully_exposed`,
/// `fully_hidden`, `potentially_hidden`, `missed`, `exposed_ns`, `hideable_exposed_ns`), `wasted_compute_ns` (time of
/// tasks behind which nothing was left to launch on some channel) and `computations_between_scatters`.
/// Complexity: that of `overlap_scheduler`
[[nodiscard]] schedule account_of_overlap(const task_graph& g, const bucketing_result& buckets,
                                          const overlap_settings& settings = {});

/// Inputs first, in the original order, and outputs last; the rest as it is.
/// Complexity: O(V log V)
void inputs_first(const task_graph& g, std::vector<task_index>& order);

/// One task after the other is taken, those first that the next computation needs; computations keep their order.
/// While a task runs, and while the stream stalls at a wait, what is in flight on each channel is counted as hidden
/// for that long, and then the most urgent collectives that can be reached without computing are launched behind it.
/// The account of what is still exposed decides when waits are taken. Memory is kept near what the original order
/// needs, but is no guarantee: `prefetch` and `search` give one.
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
