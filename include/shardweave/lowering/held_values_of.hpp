#pragma once

#include <shardweave/memory/held_values.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <vector>

/// \file
/// What the operations of a model hold between forward and backward part, whatever the placement.

namespace shardweave::inline v0 {

/// What an optimizer holds of every parameter: for each, its state under every strategy.
/// \param state_per_element  bytes of every element of a parameter
[[nodiscard]] std::vector<held_form> optimizer_state_of(const spmd_cost_model& model, double state_per_element);

/// Reads off a training graph what a device holds around the end of its forward part, under every strategy, and what it
/// takes to make each value again: for bounds, so never more than a lowered graph holds and does.
///
/// The moment is while the operation runs, one of the last of the forward or the first of the backward part, with which
/// most is held: the bytes that operations after it read of operations before it, cut over all devices, and what it
/// reads and gives itself, at least. A product of the last layer reads a gathered weight and an activation then, and
/// gives another one, beside all that is kept of the other layers. In every order all that comes before it has run, all
/// that comes after it has not, and its arguments and results are there, whatever becomes of them afterwards: so they
/// count in full, once, and are none of the values.
///
/// A value is an operation's result with all views of it. It is kept as its operation gives it, or as one of the views
/// on the way to a reader takes it, or in whatever is smallest on the way from there to a reader (of partial sums that
/// is what their reduction leaves). Values of the layers that are placed alike stand there once, with their number, and
/// each layer chooses for itself: when it makes values again, what they are made of in another layer is taken to be
/// there. So that this leaves little out, a value of which only those of another layer are made belongs to that one:
/// what a layer is given, and what the layer before it made for nothing else.
///
/// \param constraints  whose ties tell which operations are placed alike
/// \param state_per_element  bytes of optimizer state of every element of a parameter
/// Complexity: one redistribution per pair of classes of the tables of edges to readers, and a few passes over the
/// graph with four words a vertex
[[nodiscard]] held_values held_values_of(const spmd_cost_model& model, const constraint_set& constraints,
                                         double state_per_element);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/held_values_of.hpp>
#endif
