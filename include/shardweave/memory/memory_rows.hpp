#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/memory/block_policy.hpp>

#include <cstddef>
#include <limits>
#include <span>

/// \file
/// The memory that a sequence of blocks shares.

namespace shardweave::inline v0 {

/// One block of a sequence, in the order of the forward parts.
struct memory_block {
  std::span<const block_policy> policies = {};  ///< that it may take; see `block_policies`
  /// What the device holds while this one's forward part runs, beside the kept values of the blocks before it.
  bytes forward{};
  /// What the device holds while this one's backward part runs, beside values of blocks.
  bytes beside{};
  bool may_offload = true;  ///< not: the last one, whose values come back at once
};

/// The memory that blocks share.
struct memory_rows {
  bytes limit{};  ///< of the device
  bytes after{};  ///< held beside the kept values of all blocks between the forward and the backward parts: the loss
  bytes host = bytes(std::numeric_limits<std::int64_t>::max());  ///< offloaded by all blocks together
};

/// What a row needs at least, and has.
struct memory_shortage {
  std::size_t block = 0;  ///< whose forward or backward part, or the number of blocks: between these parts
  bytes least{};          ///< needed at least, whatever the policies
  bytes limit{};          ///< what there is: `memory_rows::limit`, or `host` where offloading is all that is left
};

}  // namespace shardweave::inline v0
