#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <span>
#include <vector>

/// \file
/// What a bucket costs: the merged collective, the copies into and out of its buffers, and what these copies save.

namespace shardweave::inline v0 {

/// Times of one launched bucket. Packing and unpacking occupy the compute stream.
struct bucket_costs {
  nanoseconds pack;
  nanoseconds duration;
  nanoseconds unpack;
};

/// A bucket of these members, with its channel and sums filled in.
/// \pre members are collectives of one group, at least one
/// Complexity: O(members)
[[nodiscard]] bucket make_bucket(const task_graph& g, std::vector<task_index> members);

/// The costs of a bucket by the graph's duration tables and device figures.
/// \throws error naming the operation and group for which there is no table
[[nodiscard]] bucket_costs costs_of(const task_graph& g, const bucket& b);

/// Casts that packing does on the way: the only need of a gather in one of the buckets, and used by nothing else.
/// \param is_cast  tells casts by their operation
/// Complexity: O(members)
template <class IsCast>
[[nodiscard]] std::vector<task_index> absorbed_casts(const task_graph& g, std::span<const bucket> buckets,
                                                     const IsCast& is_cast);
[[nodiscard]] std::vector<task_index> absorbed_casts(const task_graph& g, std::span<const bucket> buckets);

/// The graph in which absorbed casts take only what packing reads more because of them: the wide source instead of the
/// narrow copy. The reference rule does not credit them, so this is for a second opinion on the same buckets; memory
/// stays that of casts that are done apart.
/// Complexity: O(V + E), for the copy
[[nodiscard]] task_graph with_absorbed_casts(const task_graph& g, std::span<const bucket> buckets);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/bucket_costs.hpp>
#endif
