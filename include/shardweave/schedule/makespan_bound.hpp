#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/schedule/makespan_bounds.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <span>

/// \file
/// How fast no order of a task graph can be.

namespace shardweave::inline v0 {

/// How far back a join looks for what competes for a machine before it.
struct makespan_bound_options {
  std::size_t reach = 192;  ///< activities; 0 = chains alone lead to a job
  stop_token stop = {};     ///< a moment after a stop chains alone lead to what was not looked at until then
};

/// Bounds for every order of `g` with exactly these buckets under the reference timing.
/// Complexity: O((V + E) reach log reach)
[[nodiscard]] makespan_bounds makespan_bound(const task_graph& g, std::span<const bucket> buckets = {},
                                             const makespan_bound_options& options = {});

/// Bounds for every order of `g` with whatever buckets that are packed, none included; coalesced ones
/// (`bucket::coalesced`), which merge without copies, may end earlier. A collective that may be merged counts in
/// chains as the shortest launch that it can be part of, and on its channel as its part of the bucket that is
/// cheapest per byte; packing counts as nothing, but where channel and stream are weighed against each other
/// (`in_a_row`).
/// Complexity: O((V + E) reach log reach + collectives * points of the tables)
[[nodiscard]] makespan_bounds bound_of_all_bucketings(const task_graph& g, const makespan_bound_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/schedule/impl/makespan_bound.hpp>
#endif
