#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/memory/block_policy.hpp>

#include <cstddef>
#include <limits>
#include <span>

/// \file
/// Limits on the memory that a sequence of blocks shares.

namespace shardweave::inline v0 {

/// One block of a sequence, in the order of the forward parts.
struct memory_block {
  std::span<const block_policy> policies = {};  ///< its alternatives; see `block_policies`
  /// Bytes live during its forward part, besides kept values of the blocks before it.
  bytes forward{};
  /// Bytes live during its backward part, besides values of blocks.
  bytes beside{};
  bool may_offload = true;  ///< false for the last one, whose values are needed at once
};

/// Limits on memory, and what is live besides blocks.
struct memory_rows {
  bytes limit{};  ///< of the device
  bytes after{};  ///< live, besides kept values, between the forward and the backward parts: the loss
  bytes host = bytes(std::numeric_limits<std::int64_t>::max());  ///< limit on bytes offloaded by all blocks together
};

/// A row that no choice of policies can satisfy.
struct memory_shortage {
  std::size_t block = 0;  ///< whose forward or backward part; the number of blocks: between the parts
  bytes least{};          ///< demand of the row under any policies
  bytes limit{};          ///< `memory_rows::limit`, or `host` where only offloading is left
};

}  // namespace shardweave::inline v0
