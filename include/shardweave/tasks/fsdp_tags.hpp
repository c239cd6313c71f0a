#pragma once

#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <vector>

/// \file
/// Which collectives belong to sharded parameters: as stated, by their roles, or told by structure alone.

namespace shardweave::inline v0 {

/// The one graph input among the ancestors of a task, itself for an input, where it may be a parameter: its role is
/// that or not stated. `no_index` where there is none, or several. Complexity: O((V + E) log V)
[[nodiscard]] std::vector<task_index> only_parameter_above(const task_graph& g);

/// True for
///  - an all_gather with exactly one graph input among its ancestors, one that may be a parameter (it states this role
///    or none): it unshards that parameter;
///  - a reduce_scatter one of whose waits is used, and reaches the output only through tasks with a single
///    input: it shards a gradient.
/// Source: the structural rules of PyTorch's FSDP passes.
/// Complexity: O((V + E) log V)
[[nodiscard]] std::vector<bool> fsdp_tags_by_structure(const task_graph& g);

/// The tags that the graph states, where it states any; else, where collectives state roles, gathers of parameters and
/// scatters of gradients; else those by structure.
/// Complexity: O(V); by structure O((V + E) log V)
[[nodiscard]] std::vector<bool> fsdp_tags(const task_graph& g);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/fsdp_tags.hpp>
#endif
