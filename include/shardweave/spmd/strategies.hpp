#pragma once

#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/strategy_list.hpp>

/// \file
/// The strategies of every operation of a computation on a mesh.

namespace shardweave::inline v0 {

/// Enumerates the strategies of every operation: what its rule allows, less what is not valid for its tensors
/// (see `is_valid_sharding`), each once.
///
/// \throws error naming an operation that has no rule or no strategy, or whose inputs come after it
/// Complexity: one pass over the operations, and the rule's work once per distinct list
[[nodiscard]] strategy_space enumerate_strategies(const computation& graph, const device_mesh& mesh,
                                                  const compute_profile& compute, const rule_table& rules);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/strategies.hpp>
#endif
