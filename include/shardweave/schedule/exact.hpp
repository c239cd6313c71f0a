#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

/// \file
/// Optimal orders of small task graphs.

namespace shardweave::inline v0 {

/// Branch and bound over all orders, for graphs of some dozens of tasks. Starts with the order of `prefetch`; the
/// statistic `proven` is 1 if no order with these buckets within the memory ends earlier than the one returned, 0 if
/// `states` (or the control) ended the search before that was known, the graph has more than 4,096 launches (it is then
/// not searched), or something has to come after a member of a bucket alone, and could precede its launch.
/// Complexity: exponential without a limit; memory grows with the states visited
struct exact {
  static constexpr std::string_view name = "exact";

  std::optional<bytes> memory = std::nullopt;  ///< budget for the peak, inputs included
  std::size_t states = 2'000'000;              ///< at most; `control.iterations` limits them, too

  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& control = {}) const;
};

static_assert(scheduler<exact>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/schedule/impl/exact.hpp>
#endif
