#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/schedule/bound/detail/order_bounds.hpp>
#include <shardweave/schedule/certify_order.hpp>
#include <shardweave/tasks/launch_units.hpp>

#include <vector>

/// \file
/// Definitions of `certify_order` and `certify_all_bucketings`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE order_certificate certify_order(const task_graph& g, std::span<const bucket> buckets,
                                                  const makespan_bound_options& options) {
  const launch_units units(g, buckets);
  order_certificate c =
      detail::bounds_by(detail::network_with(units), 1 + g.groups().size(), options.reach, options.stop).proof();
  c.buckets = std::vector<bucket>(buckets.begin(), buckets.end());
  return c;
}

SHARDWEAVE_INLINE order_certificate certify_all_bucketings(const task_graph& g, const makespan_bound_options& options) {
  const launch_units units(g, {});
  return detail::bounds_by(detail::network_of_all_bucketings(g, units), 1 + g.groups().size(), options.reach,
                           options.stop)
      .proof();
}

}  // namespace shardweave::inline v0
