#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/detail/strategy_enumerator.hpp>
#include <shardweave/spmd/strategies.hpp>

/// \file
/// How strategies are enumerated.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE strategy_space enumerate_strategies(const computation& graph, const device_mesh& mesh,
                                                      const compute_profile& compute, const rule_table& rules) {
  return detail::strategy_enumerator(graph, mesh, compute, rules).run();
}

}  // namespace shardweave::inline v0
