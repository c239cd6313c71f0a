#pragma once

#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <vector>

/// \file
/// What tasks are for in training, where a graph does not state it: told by the names of its inputs and by structure.

namespace shardweave::inline v0 {

/// What each task is for: as it states, else as names and structure tell (`fsdp_tags`). What can be told by neither
/// stays unknown.
///  - An input that a tagged gather has alone above it, or that is stated to be one, is a parameter; one called
///    `tangent...` is a gradient.
///  - A task behind an optimizer's state is of the update. In a graph into which gradients come, what is behind them is
///    backward; all else is forward, unless the graph returns nothing but what is behind them: then it is backward too.
///  - What comes from parameters alone is a parameter. What the backward phase returns is a gradient, and so is what is
///    used for gradients and for updates only. All else of the forward and backward phase are activations.
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
