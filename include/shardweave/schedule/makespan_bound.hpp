#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

/// \file
/// How fast no order of a task graph can be.

namespace shardweave::inline v0 {

/// Lower bounds on the end to end time of every valid order, from the weakest argument to the strongest.
struct makespan_bounds {
  nanoseconds compute;        ///< all work of the compute stream, packing included
  nanoseconds channel;        ///< the busiest channel
  nanoseconds critical_path;  ///< the longest chain of dependencies
  /// The compute stream, and each channel, as one machine whose jobs are released when what leads to them can be
  /// done at the earliest and are followed by what must come after them. Where chains join, what leads to the join
  /// and what follows it is itself bounded machine by machine.
  nanoseconds released;
  /// The compute stream and one channel as two machines in a row: the work that must be communicated itself
  /// cannot hide a long first or last collective.
  nanoseconds in_a_row;
  [[nodiscard]] nanoseconds value() const { return std::max({compute, channel, critical_path, released, in_a_row}); }

  /// Which argument gives the value.
  [[nodiscard]] std::string_view limited_by() const {
    if (value() == compute) return "compute";
    if (value() == channel) return "channel";
    if (value() == critical_path) return "critical_path";
    return value() == released ? "released" : "in_a_row";
  }
};

/// How far back a join looks for what competes for a machine before it.
struct makespan_bound_options {
  std::size_t reach = 192;  ///< activities; 0 = chains alone lead to a job
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
