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
/// Collectives between activations cut into pieces, and pipelined with the products beside them.

namespace shardweave::inline v0 {

enum class piecewise : std::uint8_t;  // of tasks/pieces.hpp, whose includes few users of this header need

/// A plan with collectives in pieces, and figures about the cut.
struct pipelined_graph {
  lowered_graph lowered;            ///< `task_of` names the first pieces
  std::vector<piecewise> cut = {};  ///< by task of the given graph: how it is cut; `no`: it is whole
  std::size_t collectives = 0;      ///< number of collectives in pieces
  nanoseconds longer{};             ///< by how much the pieces of computation take longer than the whole tasks
};

/// The same plan with collectives cut into pieces: all-gathers, reduce-scatters and all-reduces that move neither
/// parameters nor their gradients, and that matrix products feed or read or attention reads; together with these
/// products. This is asynchronous tensor parallelism, and for gathered keys and values ring attention, except that all
/// of them are in memory at the end.
///
/// A piece of a product has its part of the operations and of the operands that are cut with the collective, moves the
/// largest other operand as a whole, and takes at least a kernel's launch; its share of the peak rate follows from its
/// own arithmetic intensity. Attention over a piece of keys and values moves queries and results as a whole; its result
/// exists after all pieces. A piece of a collective takes the time of its size by the table of its group; copies are
/// cut evenly, down to the launch of a kernel.
///
/// \param g       lowered from `model`; repeated tasks are cut like their originals
/// \param choice  the strategies that it was lowered from
/// \param pieces  2 at least
/// \param wanted  by task of `g`: whether to cut that collective; empty: all that may be
/// \throws error (input) if a list is not of the graph's tasks, or there are less than two pieces
/// Source: the decomposition of collectives and dependent products of S. Wang et al., ASPLOS 2023.
/// Complexity: O(pieces * (V + E))
[[nodiscard]] pipelined_graph with_pipelined_collectives(const lowered_graph& g, const spmd_cost_model& model,
                                                         std::span<const strategy> choice, unsigned pieces,
                                                         std::span<const char> wanted = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/pipelined_collectives.hpp>
#endif
