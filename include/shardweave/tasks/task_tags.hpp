#pragma once

#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <vector>

/// \file
/// What tasks are for in training, where a graph does not state it: told by the names of its inputs and by structure.

namespace shardweave::inline v0 {

/// What each task is for: as it states, else as names and structure tell (`fsdp_tags`). What can be told by neither
/// stays unknown.
///  - Inputs: a parameter is an input that states `is_param` or, if none does, the only one that a tagged gather
///    depends on (`only_parameter_above`). An input whose name begins with `tangent` is a gradient.
///  - Phases: what depends on optimizer state is of the update; what depends on an input that is a gradient is
///    backward. All else is forward, or backward if there are such inputs and all results of the graph depend on them
///    or on optimizer state. Where no input has a role, no phase is inferred.
///  - Roles: what is computed from parameters alone is a parameter. In the backward phase, what the graph returns and
///    what is used for gradients and updates only is a gradient. All else of the forward and backward phase are
///    activations.
///
/// Source: the tagging of AutoParallel's first bucketing pass (what is derived from parameters, what ends in
/// gradients). Complexity: O((V + E) log V)
[[nodiscard]] std::vector<task_tags> inferred_tags(const task_graph& g);

/// The same graph, whose tasks state what can be told of them.
/// Complexity: O((V + E) log V)
[[nodiscard]] task_graph with_inferred_tags(const task_graph& g);

/// Collectives by what they move: true for an all_gather of what is derived from parameters alone, and for a
/// reduce_scatter or all_reduce of what becomes gradients alone.
/// Complexity: O((V + E) log V)
[[nodiscard]] std::vector<bool> derived_tags(const task_graph& g);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/task_tags.hpp>
#endif
