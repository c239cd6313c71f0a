#pragma once

#include <shardweave/placement/description.hpp>

#include <cstdint>
#include <vector>

/// \file
/// Which computation may hide which communication of a problem.

namespace shardweave::inline v0 {

/// Where the communication of a problem's edges may hide.
struct savings_layout {
  std::vector<hiding_place> places = {};  ///< of edges by their number; empty if the problem counts no savings
  std::vector<std::uint32_t> order = {};  ///< the vertex at each position; windows are ranges of positions
  std::vector<bool> idle = {};            ///< per vertex: whether its computation hides nothing
};

/// The places where the hideable edges of a problem may hide, in the form that it states (`counted`).
///
/// An edge that is listed as hiding earlier and as hiding later may do both (`strict_form`, `inclusive_form`). Windows
/// that are given explicitly hold in every form.
///
/// The order is that in which the vertices are listed, or, if an edge runs against it, their stable topological order
/// (`stable_topological_order`). Explicit windows are positions of the list, and a cycle has no topological order: form
/// `windows` refuses these, the others use the list.
///
/// Form `windows` goes by dependencies, within the limits that the problem states (`windows_form`). Two kinds of
/// vertices move with the communication beside them: the producer of an edge that hides earlier, which is taken to
/// depend on parameters alone, and, behind edges that hide later, chains of vertices with at most one input that end in
/// a vertex without outputs. Their computation hides nothing (`savings_layout::idle`) and delays nothing.
/// \throws error (input) in form `windows` for a cycle, naming a vertex of it, or for an edge against the list of the
///         vertices if there are explicit windows, naming the edge
/// Complexity: O((vertices + edges) log(vertices + edges)), and one pass over all strategies
template <cost_value Cost>
[[nodiscard]] savings_layout layout_of(const placement_description<Cost>& d);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/placement/impl/savings_layout.hpp>
#endif
