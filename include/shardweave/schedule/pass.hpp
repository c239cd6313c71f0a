#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <concepts>
#include <string_view>

/// \file
/// Passes that decide buckets and order together.

namespace shardweave::inline v0 {

/// Decides which collectives are merged and in which order all is launched; `schedule::buckets` are the pass's own. A
/// pass is a value, as bucketing policies and schedulers are, and makes the same promises.
template <class P>
concept scheduling_pass =
    std::copy_constructible<P> && requires(const P& pass, const task_graph& g, const solve_control& control) {
      { P::name } -> std::convertible_to<std::string_view>;
      { pass.plan(g, control) } -> std::same_as<schedule>;
    };

namespace detail {
/// The schedule of a pass; a static assertion rejects anything else.
template <class P>
[[nodiscard]] schedule planned_by(const P& pass, const task_graph& g, const solve_control& control) {
  static_assert(scheduling_pass<P>,
                "A pass must have a static member name and a const member plan(task_graph, solve_control) that returns "
                "a schedule (shardweave::scheduling_pass).");
  if constexpr (scheduling_pass<P>) return pass.plan(g, control);
}
}  // namespace detail

/// A bucketing policy and then a scheduler, as one pass, with the name of the bucketing policy.
template <class Bucketing, class Scheduler>
struct two_steps {
  static constexpr std::string_view name = Bucketing::name;

  Bucketing bucketing = {};
  Scheduler order = {};

  [[nodiscard]] schedule plan(const task_graph& g, const solve_control& control = {}) const {
    const deadline clock(control);
    const bucketing_result buckets = bucket_collectives(g, bucketing, control);
    return schedule_tasks(g, buckets, order, clock.rest());
  }
};

}  // namespace shardweave::inline v0
