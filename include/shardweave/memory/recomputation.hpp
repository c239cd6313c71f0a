#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <vector>

/// \file
/// A training graph in which values are made again for the backward part, or wait for it in the host's memory.

namespace shardweave::inline v0 {

/// A graph in which tasks are repeated, and where they are from.
struct recomputed_graph {
  task_graph tasks;
  std::vector<task_index> original;  ///< by task: itself in the given graph
  std::vector<bool> again;           ///< by task: whether it repeats that one
  std::vector<bool> copies;          ///< by task: whether it copies what that one gives to the host, or back
  nanoseconds compute{};             ///< of what is done twice, collectives left out
};

/// What waits in the host's memory from the forward to the backward part.
struct host_copies {
  std::vector<char> storages = {};  ///< by storage: whether it does; empty: none
  double bytes_per_second = 0;      ///< of copies to the host, and of those back: each on a channel of its own
};

/// By storage: whether it may wait in the host's memory: a task of the forward part makes it and nothing else, and all
/// others that list it give views of it. Inputs and what collectives give may not.
/// Complexity: O(V)
[[nodiscard]] std::vector<char> copyable_storages(const task_graph& g);

/// The same step where some storages are not kept from the forward to the backward part. Each forward task that lists a
/// dropped storage and whose result a later phase wants is repeated, once, just before the first task of that phase
/// which needs it, as `NAME.again` with storages of its own; what it needs itself is repeated likewise where it is
/// dropped, else read where it is; what it gives besides, kept or wanted by nothing again, takes no memory.
/// Collectives are repeated with their waits: a gathered parameter whose storages are dropped is gathered again. What
/// no forward task reads is not made before it is wanted.
///
/// What waits in the host's memory is copied there as soon as it is made, `NAME.to_host`, which is waited for after its
/// last use in the forward part, and copied back just before it is wanted, `NAME.from_host`. Copies are collectives of
/// kind `other`, each direction on a channel of its own.
/// \param dropped  by storage: whether it is dropped; inputs never are
/// \throws error (input) if the graph's order is not topological, a task does not state its phase, `dropped` or
///         `copies.storages` has another size than the graph has storages, or a storage may not be copied
/// Complexity: O(V + E)
[[nodiscard]] recomputed_graph with_recomputation(const task_graph& g, const std::vector<char>& dropped,
                                                  const host_copies& copies = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/recomputation.hpp>
#endif
