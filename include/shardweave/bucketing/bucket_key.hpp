#pragma once

#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Which collectives may be merged.

namespace shardweave::inline v0 {

/// A number for each collective, equal for equal operation, group, dtype and reduction, in the order of first
/// occurrence; `no_index` for collectives that cannot be merged and for other tasks.
/// Complexity: O(V)
[[nodiscard]] std::vector<std::uint32_t> bucket_keys(const task_graph& g);

/// Why a collective cannot be a member of any bucket; nothing for those that can, and for other tasks. Reasons: its
/// operation cannot be merged, something other than its wait and the output depends on it, nothing waits for it, no
/// table prices it.
/// Complexity: O(V + E)
[[nodiscard]] std::vector<std::optional<decision>> refused_as_members(const task_graph& g);

/// Whether a collective may be a member of a bucket (`refused_as_members`).
/// Complexity: O(V + E)
[[nodiscard]] std::vector<bool> fit_for_buckets(const task_graph& g);

/// The same graph with gathers of bytes instead of their dtypes, so that gathers of one group and of several dtypes may
/// be merged: a bucket packs bytes, and its parts are reinterpreted. Decisions about the result are valid for it, and
/// not for the given graph.
/// Complexity: O(V + E), for the copy
[[nodiscard]] task_graph with_gathers_of_bytes(const task_graph& g);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/bucketing/impl/bucket_key.hpp>
#endif
