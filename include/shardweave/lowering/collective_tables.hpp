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
/// Times of collectives as tables, so that buckets can be priced without the cost model.

namespace shardweave::inline v0 {

/// The size that cost models ask for: the larger of a rank's buffers, given what a rank puts in.
[[nodiscard]] constexpr bytes largest_buffer(collective op, bytes bytes_in, group_shape group) {
  return op == collective::all_gather ? bytes_in * group.ranks() : bytes_in;
}

/// The sizes that tables have a point for besides those that occur: evenly on a logarithmic scale, the last one the
/// first that is not below the limit.
[[nodiscard]] std::vector<std::int64_t> table_sizes(const lowering_options& options, double limit);

/// A table for each operation that has a price on each group that some task uses, through every size that occurs and
/// through points in between, evenly on a logarithmic scale.
/// \param shapes  of the groups, by their position
/// Complexity: one estimate per point.
[[nodiscard]] std::vector<duration_table> collective_tables(std::span<const task_record> tasks,
                                                            const any_collectives& model,
                                                            std::span<const group_shape> shapes,
                                                            const lowering_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/collective_tables.hpp>
#endif
