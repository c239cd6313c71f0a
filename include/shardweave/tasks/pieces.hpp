#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

/// \file
/// Collectives in pieces, together with the products that feed or use them, so that one piece moves while another is
/// computed.

namespace shardweave::inline v0 {

/// How a task may be computed in pieces, each of a part of its rows.
enum class piecewise : std::uint8_t {
  no,         ///< not: it needs all of its arguments at once, or pieces would gain nothing
  passes_on,  ///< copies and views: in pieces only on the way between a product and a collective
  product,    ///< a piece of it can run while other pieces of its arguments or results are transferred
  sum         ///< the same, but its result is complete only after the last piece: attention over pieces of the keys
};

/// Which tasks to do in pieces: every wanted collective that a product feeds, or a product or sum uses, its wait, these
/// products, and what passes pieces on between them. A product may use a collective's result beside others that do not.
///
/// \param how     by task; of collectives and waits it does not count
/// \param wanted  by task: which collectives may be done in pieces
/// \returns by task: `no` where it is left whole, else how it is done; collectives and waits pass on
/// \throws error (input) if a list is not of the graph's tasks
/// Complexity: O(V + E), and for each collective the tasks on the ways to what feeds it
[[nodiscard]] std::vector<piecewise> tasks_in_pieces(const task_graph& g, std::span<const piecewise> how,
                                                     std::span<const char> wanted);

/// A graph some of whose tasks are done in pieces, and where its tasks are from.
struct graph_in_pieces {
  task_graph tasks;
  std::vector<task_index> original;  ///< by task
  nanoseconds longer{};              ///< computation: by how much pieces take longer than the wholes
};

/// The same step with some tasks cut into so many pieces. Piece i of a task needs piece i of those of its arguments
/// that are cut and all of the others; whoever is not cut needs all pieces, as all do that use a sum. The pieces of a
/// task share its storages: the first one allocates them. They stand one after the other where the task stood, as
/// `NAME.1of2` and so on.
///
/// \param cut      by task: `no` leaves it whole; a collective and its wait together
/// \param pieces   2 at least
/// \param time_of  how long a piece of a task takes; asked for each task that is cut
/// \throws error (input) if a list is not of the graph's tasks, there are less than two pieces, or a collective is
///         cut and its wait is not, or the other way round
/// Complexity: O(pieces * (V + E))
[[nodiscard]] graph_in_pieces with_pieces(const task_graph& g, std::span<const piecewise> cut, unsigned pieces,
                                          const std::function<nanoseconds(task_index)>& time_of);

/// An order of the graph in pieces from one of the whole: where cut tasks stand next to each other, up to the wait of
/// one of their collectives or the use of a sum, all first pieces come before all second ones. Buckets with a member
/// that is cut are dissolved; what else a schedule tells is left out.
///
/// \pre the order is valid for the whole graph `g`, whose tasks were cut so
/// Complexity: linear in the pieces, and for each wait in the tasks since the last one that is whole
[[nodiscard]] schedule in_pieces(const task_graph& g, const schedule& whole, std::span<const piecewise> cut,
                                 unsigned pieces);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/pieces.hpp>
#endif
