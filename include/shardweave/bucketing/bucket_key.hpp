#pragma once

#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Which collectives look alike enough to be launched as one.

namespace shardweave::inline v0 {

/// A number for each collective: equal numbers for equal operation, group, dtype and reduction, in the order
/// in which they first come; `no_index` for what cannot be merged and for other tasks.
/// Complexity: O(V)
[[nodiscard]] std::vector<std::uint32_t> bucket_keys(const task_graph& g);

/// Why a collective can be a member of no bucket; nothing for those that can, and for other tasks: its operation cannot
/// be merged, something but its wait and the output uses it, nothing waits for it, no table prices it.
/// Complexity: O(V + E)
[[nodiscard]] std::vector<std::optional<decision>> refused_as_members(const task_graph& g);

/// The collectives that `refused_as_members` has nothing against.
/// Complexity: O(V + E)
[[nodiscard]] std::vector<bool> fit_for_buckets(const task_graph& g);

/// The same graph with gathers that move bytes, whatever they hold: gathers of one group are alike then, of several
/// dtypes too. A bucket of these packs bytes, and its parts are read as what they are. It is a graph of its own: what
/// is decided on it is valid for it, and not for the graph that tells dtypes apart.
/// Complexity: O(V + E), for the copy
[[nodiscard]] task_graph with_gathers_of_bytes(const task_graph& g);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/bucketing/impl/bucket_key.hpp>
#endif
