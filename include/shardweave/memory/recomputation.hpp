#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <vector>

/// \file
/// A training graph in which values are made again for the backward part.

namespace shardweave::inline v0 {

/// A graph in which tasks are repeated, and where they are from.
struct recomputed_graph {
  task_graph tasks;
  std::vector<task_index> original;  ///< by task: itself in the given graph
  std::vector<bool> again;           ///< by task: whether it repeats that one
  nanoseconds compute{};             ///< of what is done twice, collectives left out
};

/// The same step where some storages are not kept from the forward to the backward part. Each forward task that lists a
/// dropped storage and whose result a later phase wants is repeated, once, just before the first task of that phase
/// which needs it, as `NAME.again` with storages of its own; what it needs itself is repeated likewise where it is
/// dropped, else read where it is; what it gives besides, kept or wanted by nothing again, takes no memory.
/// Collectives are repeated with their waits: a gathered parameter whose storages are dropped is gathered again. What
/// no forward task reads is not made before it is wanted. \param dropped  by storage: whether it is dropped; inputs
/// never are \throws error (input) if the graph's order is not topological, a task does not state its phase, or
/// `dropped` has
///         another size than the graph has storages
/// Complexity: O(V + E)
[[nodiscard]] recomputed_graph with_recomputation(const task_graph& g, const std::vector<char>& dropped);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/recomputation.hpp>
#endif
