#pragma once

#include <shardweave/spmd/annotation.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <span>

/// \file
/// A few placements, carried through a computation.

namespace shardweave::inline v0 {

/// Carries annotations through a computation, one mesh dimension apart from the other, and states what they determine
/// as constraints. A solver then has less to decide; a user sees how far an annotation reaches.
///
/// Priority by priority annotations are set, then spread until nothing changes: an operation keeps the ways whose
/// arguments its producers can give, and, if it has one user, whose result that user can take; if no way is left it
/// keeps all, and the edge is a boundary. Parameters, inputs and constants do not follow their users. Gradients and
/// tangents are annotated with what they belong to. Of several annotations of one result along one mesh dimension the
/// last one set decides: that of the highest priority number, and of those the last listed. What is bound to be cut is
/// pinned, unless pairing decides about it.
///
/// It does not look at costs: a plan that redistributes where it need not is no longer found. Where annotations leave a
/// plan without such detours, and that is the best one, the optimum stays.
///
/// \throws error (constraint) naming the annotation, if no operation fits, or one cannot lie so and what it offers
/// Complexity: O(edges * ways) per placement that goes
[[nodiscard]] propagation propagate(const spmd_cost_model& model, std::span<const annotation> annotations,
                                    const propagation_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/propagation.hpp>
#endif
