#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Lowered collectives between activations in pieces, pipelined with the products beside them.

namespace shardweave::inline v0 {

enum class piecewise : std::uint8_t;  // of tasks/pieces.hpp, which drags in what few need

/// A plan with collectives in pieces, and what cutting them did.
struct pipelined_graph {
  lowered_graph lowered;            ///< `task_of` names first pieces
  std::vector<piecewise> cut = {};  ///< by task of the given graph: `no` if it is left whole
  std::size_t collectives = 0;      ///< that are done in pieces
  nanoseconds longer{};             ///< computation: by how much pieces take longer than the wholes
};

/// The same plan with collectives that move no parameters and none of their gradients cut into pieces, if matrix
/// products feed or use them, or attention uses them, together with those products: what asynchronous tensor
/// parallelism does, and of gathered keys and values ring attention, but that all of them are held at the end.
///
/// A piece of a product has its share of the operations and of those operands that are cut with the collective, moves
/// the largest other one as a whole, and is no shorter than a kernel's floor; which share of the peak it reaches is
/// that of its own intensity. Attention over a piece of keys and values moves queries and results as a whole; its
/// result is there once all pieces are done. A piece of a collective takes what the table of its group says of its
/// size; copies are cut evenly, down to the floor of a kernel.
///
/// \param g       lowered from `model`; tasks that were done again are cut like their originals
/// \param choice  the strategies that it was lowered from
/// \param pieces  2 at least
/// \param wanted  by task of `g`: which collectives; empty: all such ones
/// \throws error (input) if a list is not of the graph's tasks
/// Source: the decomposition of collectives and dependent products of S. Wang et al., ASPLOS 2023.
/// Complexity: O(pieces * (V + E))
[[nodiscard]] pipelined_graph with_pipelined_collectives(const lowered_graph& g, const spmd_cost_model& model,
                                                         std::span<const strategy> choice, unsigned pieces,
                                                         std::span<const char> wanted = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/pipelined_collectives.hpp>
#endif
