#pragma once

#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <span>

/// \file
/// Certificates of lower bounds on orders.

namespace shardweave::inline v0 {

/// A certificate of `makespan_bound(g, buckets, options).value()`, which `check_certificate` accepts.
/// \throws error as `makespan_bound` does
/// Complexity: that of the bound, and linear in the size of the certificate
[[nodiscard]] order_certificate certify_order(const task_graph& g, std::span<const bucket> buckets,
                                              const makespan_bound_options& options = {});

/// A certificate of `bound_of_all_bucketings(g, options).value()`.
/// Complexity: that of the bound, and linear in the size of the certificate
[[nodiscard]] order_certificate certify_all_bucketings(const task_graph& g, const makespan_bound_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/schedule/impl/certify_order.hpp>
#endif
