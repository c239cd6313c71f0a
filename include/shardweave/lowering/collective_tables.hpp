#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Times of collectives as tables over sizes, so that buckets can be priced without the cost model.

namespace shardweave::inline v0 {

/// The size that cost models take: the larger of a rank's buffers, from the bytes that a rank puts in.
[[nodiscard]] constexpr bytes largest_buffer(collective op, bytes bytes_in, group_shape group) {
  return op == collective::all_gather ? bytes_in * group.ranks() : bytes_in;
}

/// Grid of sizes in tables: spaced evenly on a logarithmic scale, up to the first one that is not below the limit.
[[nodiscard]] std::vector<std::int64_t> table_sizes(const lowering_options& options, double limit);

/// A table for each kind of collective on each group that occurs among the tasks, with all sizes that occur and those
/// of the grid (`table_sizes`). Kinds without a price (`collective::other`) have none.
/// \param shapes  of the groups, by their number
/// Complexity: one estimate per point.
[[nodiscard]] std::vector<duration_table> collective_tables(std::span<const task_record> tasks,
                                                            const any_collectives& model,
                                                            std::span<const group_shape> shapes,
                                                            const lowering_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/collective_tables.hpp>
#endif
