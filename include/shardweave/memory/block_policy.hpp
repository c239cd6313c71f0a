#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <span>
#include <vector>

/// \file
/// What one way to keep, recompute and offload the values of a block costs.

namespace shardweave::inline v0 {

/// A choice for every value of a block, and what it costs.
struct block_policy {
  std::vector<retention> values = {};
  nanoseconds time{};  ///< of what is made again, and of memory that copies to the host and back keep busy
  bytes kept{};        ///< in memory from the forward to the backward part
  bytes transient{};   ///< the most that the backward part holds beyond `kept`: gradients, and what was made again
  bytes offloaded{};   ///< to the host's memory, and back

  friend bool operator==(const block_policy&, const block_policy&) = default;
};

/// What copies to the host's memory may do.
struct offload_rates {
  bytes window{};  ///< copied while the forward part of a block computes; 0: nothing is offloaded
  /// Of the device's memory, in bytes per second: what copies take of it is lost to computation; 0: nothing is.
  double memory_bandwidth = 0;
};

/// What a policy costs. Values that are dropped are made again just before the first backward step that wants them,
/// with all that they need, once, and stay until their last use; a value that nothing wants is not made again. What is
/// kept is free after its last use, so that the backward part may hold less than `kept` while it runs.
/// Complexity: O(values + inputs + reads)
/// \throws error (input) for a wrong block, or a choice that it does not allow
/// Source: V. Korthikanti et al., Reducing activation recomputation in large transformer models (MLSys 2023), for
/// policies per value; just-in-time recomputation as in PyTorch's partitioner.
[[nodiscard]] block_policy price_policy(const recompute_block& block, std::span<const retention> choice,
                                        const offload_rates& rates = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/block_policy.hpp>
#endif
