#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <span>

/// \file
/// From chosen strategies to tasks: the computation and communication of one device.

namespace shardweave::inline v0 {
/// The tasks of one device, in the order of the operations.
///
/// An operation becomes one task: `compute` if its rule states floating-point operations, `view` if it only changes the
/// description of its first argument (whose storage it shares), `input`, `output`, otherwise `other`. An operation
/// computed in blocks (`block_ring`) becomes those blocks and the exchanges between them. Where the sharding of an
/// argument differs from that of its producer, the steps of a redistribution precede the operation: copies that pack, a
/// collective on the group of a mesh dimension, its wait, copies that unpack; a mere slice is a view. Consumers that
/// need a value in the same form share these steps as far as they coincide (see `lowering_options`). Groups are the
/// mesh dimensions; tables price every collective that occurs, at any size. Each task states its phase and its role;
/// collectives that gather parameters or scatter gradients are tagged (`inferred_tags`).
///
/// \param chosen  one strategy per operation of `model.operations()`
/// \throws error naming the operation whose strategy does not exist, or the argument that cannot be redistributed as
///         required; (stopped) if the stop is requested before the end
/// Complexity: O(V + E) steps of redistribution
[[nodiscard]] lowered_graph lower(const spmd_cost_model& model, std::span<const strategy> chosen,
                                  const lowering_options& options = {}, const stop_token& stop = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/lower.hpp>
#endif
