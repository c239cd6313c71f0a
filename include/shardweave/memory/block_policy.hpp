#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <span>
#include <vector>

/// \file
/// The cost of one policy for the values of a block: kept, recomputed or offloaded.

namespace shardweave::inline v0 {

/// A choice for every value of a block, and what it costs.
struct block_policy {
  std::vector<retention> values = {};
  nanoseconds time{};  ///< of recomputation, and of memory bandwidth lost to copies to the host and back
  bytes kept{};        ///< in memory from the forward to the backward part
  bytes transient{};   ///< the most that the backward part holds beyond `kept`: gradients and recomputed values
  bytes offloaded{};   ///< to the host's memory, and back

  friend bool operator==(const block_policy&, const block_policy&) = default;
};

/// Limits and cost of copies to the host's memory.
struct offload_rates {
  bytes window{};  ///< copied while the forward part of a block computes; 0: nothing is offloaded
  /// Bandwidth of the device's memory, in bytes per second: copies take their share of it from computation; 0: copies
  /// are free.
  double memory_bandwidth = 0;
};

/// The cost of a policy. Dropped values are recomputed just before the first backward step that reads them, with all
/// that they need (the last input first), once, and stay until their last use; a value that nothing reads is not
/// recomputed. Values of one operation are recomputed together, and stay until each was read once. Kept values are
/// freed after their last use, so the backward part may hold less than `kept` while it runs.
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
