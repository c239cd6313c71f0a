#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <string_view>

/// \file
/// The original order, with as few changes as buckets require.

namespace shardweave::inline v0 {

/// Emits tasks by their place in the original order as soon as all they depend on is emitted; a bucket stands at the
/// place of its first member, or at the first place after that where all its members may start. Without buckets a
/// topological original order is returned unchanged.
/// Complexity: O((V + E) log V)
struct in_order {
  static constexpr std::string_view name = "in_order";

  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& = {}) const {
    schedule s;
    s.buckets = buckets.buckets;
    s.decisions = buckets.decisions;
    const launch_units units(g, s.buckets);
    s.order.reserve(g.size());
    for (const std::uint32_t u : units.order())
      for (const task_index t : units.tasks(u)) s.order.push_back(t);
    s.hides = hiding_records(g, s, simulate(g, s, {.validate = false}));
    return s;
  }
};

static_assert(scheduler<in_order>);

}  // namespace shardweave::inline v0
