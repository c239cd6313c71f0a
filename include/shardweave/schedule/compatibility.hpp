#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <optional>
#include <string_view>

/// \file
/// The passes of PyTorch and AutoParallel, under the names that their users know.

namespace shardweave::inline v0 {

/// Bucketing before scheduling, the scheduler's settings, bucketing after it; both bucketings are optional.
struct overlap_passes {
  std::optional<topological_span> before = std::nullopt;
  overlap_settings settings = {};
  std::optional<overlap_preserving> after = std::nullopt;
  bool keep_hidden = false;  ///< adds what hides as dependencies, for later passes that reorder

  /// The whole plan.
  [[nodiscard]] schedule plan(const task_graph& g, const solve_control& control = {}) const;
  /// The same with other buckets before scheduling.
  [[nodiscard]] schedule plan(const task_graph& g, const bucketing_result& buckets, const solve_control&) const;
};

/// A pass as a bucketing policy and as a scheduler: `Pass{}(g)` gives its buckets, `Pass{}(g, buckets)` a schedule with
/// these buckets: the pass's own schedule if they are its own, otherwise one without further merging.
template <class Pass>
struct compatible_pass {
  /// Buckets and order together.
  [[nodiscard]] schedule plan(const task_graph& g, const solve_control& control = {}) const {
    return Pass::passes().plan(g, control);
  }
  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const {
    schedule s = plan(g, control);
    return {std::move(s.buckets), std::move(s.decisions)};
  }
  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& control = {}) const {
    overlap_passes passes = Pass::passes();
    if (passes.before || passes.after) {
      schedule own = passes.plan(g, control);
      if (own.buckets == buckets.buckets) return own;
    }
    passes.after.reset();
    return passes.plan(g, buckets, control);
  }
};

/// PyTorch's overlap scheduling with function defaults, and bucketing before and after it.
struct torch_default : compatible_pass<torch_default> {
  static constexpr std::string_view name = "torch_default";
  [[nodiscard]] static overlap_passes passes() {
    return {topological_span{.span = std::nullopt, .adjacent = true, .groups = bucket_groups::all},
            {},
            overlap_preserving{}};
  }
};
/// The same without buckets.
struct torch_overlap_only : compatible_pass<torch_overlap_only> {
  static constexpr std::string_view name = "torch_overlap_only";
  [[nodiscard]] static overlap_passes passes() { return {}; }
};
/// The same with buckets after scheduling only.
struct torch_no_prebucket : compatible_pass<torch_no_prebucket> {
  static constexpr std::string_view name = "torch_no_prebucket";
  [[nodiscard]] static overlap_passes passes() { return {std::nullopt, {}, overlap_preserving{}}; }
};
/// AutoParallel's: before scheduling, buckets whose members stand within a bounded span of tasks, of gathers and
/// scatters of every group that gathers parameters, and of all-reduces of the primary one (as in its recorded results;
/// for the primary group alone set `groups = bucket_groups::primary`); a scheduler with smaller limits ahead and in
/// flight.
struct autoparallel_span_buckets : compatible_pass<autoparallel_span_buckets> {
  static constexpr std::string_view name = "autoparallel_span_buckets";
  [[nodiscard]] static overlap_passes passes() {
    return {topological_span{}, {.in_flight = gibibytes(2), .compute_ahead = 50, .candidates = 100}, std::nullopt};
  }
};
/// AutoParallel's other one: before scheduling, buckets of at most 25 MiB of values derived from parameters and of
/// values that become gradients, whatever their distance.
struct autoparallel_size_buckets : compatible_pass<autoparallel_size_buckets> {
  static constexpr std::string_view name = "autoparallel_size_buckets";
  [[nodiscard]] static overlap_passes passes() {
    return {topological_span{.cap = bytes(26'214'400),
                             .span = std::nullopt,
                             .groups = bucket_groups::all,
                             .members = bucket_members::derived},
            {.in_flight = gibibytes(2), .compute_ahead = 50, .candidates = 100},
            std::nullopt};
  }
};

static_assert(scheduling_pass<torch_default> && bucketing_policy<torch_default> && scheduler<torch_default>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/schedule/impl/compatibility.hpp>
#endif
