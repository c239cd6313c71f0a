#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

/// \file
/// The concept of a scheduler, and the comparison of schedules.

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

/// The quality of a schedule: one that keeps the memory budget is better than one that does not; of two that do, the
/// one that ends first, of two that do not, the one with the smaller peak. Ties go to fewer launches.
struct schedule_price {
  bytes excess;  ///< peak above the budget
  nanoseconds end_to_end;
  std::size_t launches = 0;
  friend bool operator<(const schedule_price& a, const schedule_price& b) {
    return std::tie(a.excess, a.end_to_end, a.launches) < std::tie(b.excess, b.end_to_end, b.launches);
  }
};

/// The price of a schedule by the reference timing. \pre s is valid
[[nodiscard]] inline schedule_price price_of(const task_graph& g, const schedule& s,
                                             std::optional<bytes> memory = std::nullopt) {
  const timeline line = simulate(g, s, {.validate = false});
  return {memory && line.peak > *memory ? line.peak - *memory : bytes(0), line.end_to_end, line.collectives};
}

}  // namespace shardweave::inline v0
