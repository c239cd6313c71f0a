#pragma once

#include <cstddef>

/// \file
/// Limits of a search for a proof.

namespace shardweave::inline v0::detail {

/// Effort of a search for a proof.
struct proof_effort {
  std::size_t root_steps;                          ///< of the ascent at the root, before labels are removed
  static constexpr std::size_t node_steps = 200;   ///< of the ascent in other subproblems
  std::size_t nodes;                               ///< subproblems, at most
  std::size_t work;                                ///< of a dynamic program, see `certify_options`
  static constexpr std::size_t price_steps = 200;  ///< of prices of savings at the root; a sixth of it elsewhere
};

}  // namespace shardweave::inline v0::detail
