#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <vector>

/// \file
/// A training graph with recomputation, and with values that wait in the host's memory.

namespace shardweave::inline v0 {

/// A graph in which tasks are repeated or copied, and the tasks of the given graph that they come from.
struct recomputed_graph {
  task_graph tasks;
  std::vector<task_index> original;  ///< by task: its task in the given graph
  std::vector<bool> again;           ///< by task: whether it is a repetition
  std::vector<bool> copies;          ///< by task: whether it copies that task's result to the host, or back
  nanoseconds compute{};             ///< time of repeated tasks, without collectives
};

/// Values that wait in the host's memory from the forward to the backward part.
struct host_copies {
  std::vector<char> storages = {};  ///< by storage: whether it does; empty: none does
  double bytes_per_second = 0;      ///< of copies to the host, and of those back; each direction is a channel
};

/// By storage: whether it may wait in the host's memory. It must be the only output of a task of the forward part, and
/// all others that list it must be views. Inputs and results of collectives may not.
/// Complexity: O(V)
[[nodiscard]] std::vector<char> copyable_storages(const task_graph& g);

/// The same step without some storages between the forward and the backward part. Each forward task that lists a
/// dropped storage and whose result a later phase reads is repeated, once, just before the first task of that phase
/// which needs it, as `NAME.again` with storages of its own. Its inputs are repeated likewise where they were dropped,
/// and read as they are otherwise; outputs that are kept, or that nothing reads again, take no memory. Collectives are
/// repeated with their waits: a gathered parameter whose storages are dropped is gathered again. A dropped storage that
/// no forward task reads is not made in the forward part at all.
///
/// What waits in the host's memory is copied there as soon as it is made (`NAME.to_host`), with the wait after its last
/// use in the forward part, and copied back just before it is read (`NAME.from_host`). Copies are collectives of kind
/// `other`, each direction on a channel of its own.
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
