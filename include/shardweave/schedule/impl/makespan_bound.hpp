#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/schedule/bound/detail/order_bounds.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/tasks/launch_units.hpp>

/// \file
/// Definitions of `makespan_bound` and `bound_of_all_bucketings`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE makespan_bounds makespan_bound(const task_graph& g, std::span<const bucket> buckets,
                                                 const makespan_bound_options& options) {
  const launch_units units(g, buckets);
  return detail::bounds_by(detail::network_with(units), 1 + g.groups().size(), options.reach, options.stop).bounds();
}

SHARDWEAVE_INLINE makespan_bounds bound_of_all_bucketings(const task_graph& g, const makespan_bound_options& options) {
  const launch_units units(g, {});
  return detail::bounds_by(detail::network_of_all_bucketings(g, units), 1 + g.groups().size(), options.reach,
                           options.stop)
      .bounds();
}

}  // namespace shardweave::inline v0
