#pragma once

#include <shardweave/memory/held_values.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <vector>

/// \file
/// Memory that the operations of a model hold between the forward and the backward part, for any placement.

namespace shardweave::inline v0 {

/// State that an optimizer holds for each parameter, by strategy.
/// \param state_per_element  bytes of every element of a parameter
[[nodiscard]] std::vector<held_form> optimizer_state_of(const spmd_cost_model& model, double state_per_element);

/// Derives from a training graph what a device holds around the end of its forward part, under every strategy, and the
/// time of recomputing each value. All amounts are lower bounds: a lowered graph never holds or computes less.
///
/// The moment is the run of one operation among the last of the forward and the first of the backward part: that with
/// the most bytes held, as estimated before placement, by values made before and read after it (divided over all
/// devices) and by its own arguments and results (at least). A product of the last layer, for instance, reads a
/// gathered weight and an activation and writes another one, while all values kept for other layers are live. In every
/// order, all operations that it depends on have run by then, those that depend on it have not, and its arguments and
/// results are in memory: these count in full, once (`at_work`), and are not among the values.
///
/// A value is an operation's result with all views of it. It may be kept as the operation gives it, in the form of a
/// view on the way to a reader, or in the smallest form on the way from there to a reader (of partial sums: their
/// reduction). Layers that are placed alike have their values listed once, with their number, and choose independently:
/// what a layer's values are recomputed from in another layer counts as available. To lose little by that, a value that
/// only another layer's recomputation needs belongs to that layer: a layer's input, and what the layer before it
/// computes for nothing else.
///
/// \param constraints  whose ties tell which operations are placed alike
/// \param state_per_element  bytes of optimizer state of every element of a parameter
/// Complexity: one redistribution per pair of classes of the tables of edges to readers, and a few passes over the
/// graph with four words per vertex
[[nodiscard]] held_values held_values_of(const spmd_cost_model& model, const constraint_set& constraints,
                                         double state_per_element);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/held_values_of.hpp>
#endif
