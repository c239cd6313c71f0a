#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/spmd/block_ring.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstdint>

/// \file
/// What the tasks of an operation that is done in blocks take.

namespace shardweave::inline v0 {

/// Times of the tasks that `lower` makes of a `block_ring`, to the nanosecond: n blocks one after the other, n - 1
/// exchanges of parts of the arguments, each beside the block before the one that needs it, and, where results go
/// round, as many sums as exchanges before the last of n exchanges, and a conversion.
struct ring_tasks {
  std::int64_t blocks = 0;
  nanoseconds block{}, later_block{};  ///< the first one, and each after it, which adds to what is there
  nanoseconds add{}, finish{};         ///< of results that go round
  nanoseconds part{}, sums{};          ///< an exchange of parts, and one of results

  ring_tasks(const block_ring& ring, const spmd_cost_model& model)
      : blocks(ring.blocks),
        block(from_microseconds(ring.block_us)),
        later_block(block + from_microseconds(ring.merge_us)),
        add(from_microseconds(ring.add_us)),
        finish(from_microseconds(ring.finish_us)),
        part(from_microseconds(model.exchange_us(ring.part, ring.mesh_dim))),
        sums(ring.sums > bytes(0) ? from_microseconds(model.exchange_us(ring.sums, ring.mesh_dim)) : nanoseconds()) {}

  /// Of all blocks, which every result comes after.
  [[nodiscard]] nanoseconds all_blocks() const { return block + later_block * (blocks - 1); }
  /// Of what else is computed, which only the results that go round come after.
  [[nodiscard]] nanoseconds all_sums() const { return add * (blocks - 1) + finish; }
  [[nodiscard]] nanoseconds all_exchanges() const { return part * (blocks - 1) + sums * blocks; }
};

/// What an operation computes itself that all its results come after, to the nanosecond as `lower` has it.
[[nodiscard]] inline nanoseconds own_time(const spmd_cost_model& model, std::uint32_t v, strategy s) {
  if (const block_ring* ring = model.strategies(v).ring(s)) return ring_tasks(*ring, model).all_blocks();
  return from_microseconds(model.vertex_cost(v, s));
}

}  // namespace shardweave::inline v0
