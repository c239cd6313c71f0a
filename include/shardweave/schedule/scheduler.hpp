#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <concepts>
#include <string_view>

/// \file
/// The concept of a scheduler.

namespace shardweave::inline v0 {

/// Decides the order in which tasks, collectives and buckets are launched.
///
/// A scheduler is a value: its settings are data members, the call is const, and one object may serve several threads.
/// It also promises that
///  - its result passes `validate_schedule` and holds exactly the given buckets, unless its settings allow others;
///  - equal input, settings and seed give equal orders, unless the user sets a time limit;
///  - `within_memory` is false if it was told a memory budget and its order exceeds it.
template <class S>
concept scheduler =
    std::copy_constructible<S> &&
    requires(const S& policy, const task_graph& g, const bucketing_result& buckets, const solve_control& control) {
      { S::name } -> std::convertible_to<std::string_view>;
      { policy(g, buckets, control) } -> std::same_as<schedule>;
    };

/// The schedule of a task graph and its buckets by a policy.
template <class S>
[[nodiscard]] schedule schedule_tasks(const task_graph& g, const bucketing_result& buckets, const S& policy,
                                      const solve_control& control = {}) {
  static_assert(scheduler<S>,
                "A scheduler must have a static member name and a const call (task_graph, bucketing_result, "
                "solve_control) that returns a schedule (shardweave::scheduler).");
  if constexpr (scheduler<S>) return policy(g, buckets, control);
}

}  // namespace shardweave::inline v0
