#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>

/// \file
/// Definition of `spmd_lowering::work`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE lowered_work spmd_lowering::work(const spmd_cost_model& model, unsigned threads) const {
  return lowered_work(model, options, threads);
}

}  // namespace shardweave::inline v0
