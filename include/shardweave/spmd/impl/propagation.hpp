#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/detail/propagator.hpp>
#include <shardweave/spmd/propagation.hpp>

/// \file
/// How annotations are carried through a computation.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE propagation propagate(const spmd_cost_model& model, std::span<const annotation> annotations,
                                        const propagation_options& options) {
  return detail::propagator(model).run(annotations, options);
}

}  // namespace shardweave::inline v0
