#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/schedule/makespan_bounds.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <span>

/// \file
/// Lower bounds on the makespan over all orders of a task graph.

namespace shardweave::inline v0 {

/// Effort of the bounds.
struct makespan_bound_options {
  /// Where chains join: how many of the nearest predecessors (successors) the one-machine bounds on release (delivery)
  /// times count (`makespan_bounds::released`). 0: only chains count.
  std::size_t reach = 192;
  stop_token stop = {};  ///< shortly after a stop the rest is bounded by chains only
};

/// Lower bounds for every order of `g` with exactly these buckets under the reference timing.
/// \throws error (input) as the constructor of `launch_units`
/// Complexity: O((V + E) reach log reach)
[[nodiscard]] makespan_bounds makespan_bound(const task_graph& g, std::span<const bucket> buckets = {},
                                             const makespan_bound_options& options = {});

/// Lower bounds for every order of `g` with any packed buckets, including none; coalesced ones (`bucket::coalesced`),
/// which merge without copies, may end earlier. A collective that may be merged counts in chains as the shortest launch
/// that it can be part of, and as load of its channel by the cheapest rate per byte; packing counts only where channel
/// and compute stream are weighed against each other (`in_a_row`).
/// Complexity: O((V + E) reach log reach + collectives * points of the tables)
[[nodiscard]] makespan_bounds bound_of_all_bucketings(const task_graph& g, const makespan_bound_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/schedule/impl/makespan_bound.hpp>
#endif
