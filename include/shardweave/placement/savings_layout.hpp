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
  std::vector<std::uint32_t> order = {};  ///< the vertex at each position that windows speak of
  std::vector<bool> idle = {};            ///< per vertex: its computation hides nothing
};

/// Where the hideable edges of a problem may hide, in the form that it states (`counted`).
///
/// An edge that is listed as hiding earlier and as hiding later may do both; see `strict_form` and `inclusive_form`
/// for what that means. A window that is given as such holds in every form.
///
/// The order is that in which the vertices are listed, or, if an edge runs against it, their stable topological order
/// (`stable_topological_order`). Windows that are given as such are positions of the list, and a cycle has no other
/// order: form `windows` refuses these, the others go by the list.
///
/// Form `windows` asks what waits for what, within the limits that the problem states (`windows_form`). What an edge
/// that hides earlier carries comes of parameters, so whatever computed it may run at any time before, and a chain of
/// vertices with one input that ends in a result may run at any time after: vertices of both kinds move with their
/// communication, and neither hide anything nor make anything wait.
/// \throws error (input) in form `windows` for a cycle, naming a vertex of it, or for an edge against the list of the
///         vertices if there are windows of that, naming the edge
/// Complexity: O((vertices + edges) log) and the strategies once
template <cost_value Cost>
[[nodiscard]] savings_layout layout_of(const placement_description<Cost>& d);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/placement/impl/savings_layout.hpp>
#endif
