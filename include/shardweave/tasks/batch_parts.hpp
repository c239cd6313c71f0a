#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <functional>
#include <span>
#include <vector>

/// \file
/// A batch done in parts that take turns, so that one computes while another communicates.

namespace shardweave::inline v0 {

/// What each task of the graph of one part is in a batch of several.
enum class part_use : std::uint8_t {
  shared,   ///< it needs nothing of the batch: done once, for all parts
  of_part,  ///< each part has its own
  of_sum    ///< done once, on the sum of what the parts give it
};

/// Which tasks are done once. A task is `of_part` if it is an input of the batch, or if one of its inputs or the
/// collective that it completes is `of_part`, and so is a collective whose wait is; `after` does not count. It is
/// `of_sum` instead if it is additive, its role is `gradient`, and it has users, all of them `of_sum`; a wait only
/// together with its collective. The `output` is `of_sum`. All other tasks are `shared`.
///
/// \pre the graph's order is topological
/// \param of_batch  by task: of inputs, whether each part has its own
/// \param additive  by task: whether it gives of a sum of arguments the sum of its results: transfers, copies, views
/// \returns by task
/// \throws error (input) if a list is not of the graph's tasks
/// Complexity: O(V + E); where a wait is of a part and its collective by itself is not, again from there
[[nodiscard]] std::vector<part_use> uses_of_parts(const task_graph& g, std::span<const char> of_batch,
                                                  std::span<const char> additive);

/// The graph of a batch in parts, and where the tasks of the given graph went.
struct graph_of_parts {
  task_graph tasks;
  std::vector<task_index> original;             ///< by task; of a sum: the task whose results it adds up
  std::vector<std::vector<task_index>> copies;  ///< by part and task of the given graph; those done once are in all
  std::vector<task_index> sums;                 ///< which tasks add up, ascending
};

/// The tasks of a batch of so many equal parts. What needs nothing of the batch is there once, and so is what is done
/// on a sum; before that the gradients of the parts are added up, part by part, in the memory of the first where nobody
/// else reads it. The `output` returns sums of gradients, and whatever else the parts give.
///
/// The parts take turns in the graph's order: each goes on until it would wait for a collective of its own, the next
/// one fills the time. What is done once stands before the first part that needs it, or after the last one that gives
/// to it. A wait belongs to its collective: both are of a part, or neither.
///
/// \param g         of one part; its order is topological
/// \param use       by task, as `uses_of_parts` says
/// \param parts     2 at least
/// \param sum_time  what adding up two values of so many bytes takes; asked for each sum
/// \throws error (input) if the list is not of the graph's tasks, there are less than two parts, or what is done once
///         needs a part that is not added up
/// Complexity: O(parts * (V + E))
[[nodiscard]] graph_of_parts with_batch_parts(const task_graph& g, std::span<const part_use> use, unsigned parts,
                                              const std::function<nanoseconds(bytes)>& sum_time);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/batch_parts.hpp>
#endif
