#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/spmd/block_ring.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstdint>

/// \file
/// Times of the tasks of an operation that is computed in blocks.

namespace shardweave::inline v0 {

/// Times, to the nanosecond, of the tasks that `lower` makes of a `block_ring`: n blocks in sequence; n - 1 exchanges
/// of parts of the arguments, each concurrent with the block before the one that needs it; and, where partial results
/// travel around the ring, n exchanges of them, a sum before each but the first, and a final conversion.
struct ring_tasks {
  std::int64_t blocks = 0;
  nanoseconds block{}, later_block{};  ///< the first block, and each later one, which accumulates
  nanoseconds add{}, finish{};         ///< of results that travel around the ring
  nanoseconds part{}, sums{};          ///< an exchange of arguments, and one of results

  ring_tasks(const block_ring& ring, const spmd_cost_model& model)
      : blocks(ring.blocks),
        block(from_microseconds(ring.block_us)),
        later_block(block + from_microseconds(ring.merge_us)),
        add(from_microseconds(ring.add_us)),
        finish(from_microseconds(ring.finish_us)),
        part(from_microseconds(model.exchange_us(ring.part, ring.mesh_dim))),
        sums(ring.sums > bytes(0) ? from_microseconds(model.exchange_us(ring.sums, ring.mesh_dim)) : nanoseconds()) {}

  /// The time of all blocks, on which every result depends.
  [[nodiscard]] nanoseconds all_blocks() const { return block + later_block * (blocks - 1); }
  /// The time of other computation, on which only results that travel around the ring depend.
  [[nodiscard]] nanoseconds all_sums() const { return add * (blocks - 1) + finish; }
  [[nodiscard]] nanoseconds all_exchanges() const { return part * (blocks - 1) + sums * blocks; }
};

/// The time of an operation's own computation on which all its results depend, to the nanosecond as `lower` has it.
[[nodiscard]] inline nanoseconds own_time(const spmd_cost_model& model, std::uint32_t v, strategy s) {
  if (const block_ring* ring = model.strategies(v).ring(s)) return ring_tasks(*ring, model).all_blocks();
  return from_microseconds(model.vertex_cost(v, s));
}

}  // namespace shardweave::inline v0
