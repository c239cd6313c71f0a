#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/rules.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// Operators that take some arguments block by block, while the blocks go round the ranks that share them out.

namespace shardweave::inline v0 {

/// How a device does an operator whose `ring_arguments` are cut along a mesh dimension: in as many blocks as there are
/// ranks, first with its own part of these arguments, then with that of the rank before it, and so on. The next part is
/// on its way (`collective::shift`) while a block is computed, so that two of them lie in memory. Results that stay are
/// added up in f32 by the blocks themselves; those that belong to the parts go round with them, once more than the
/// parts, so that they end where their part is from.
///
/// Source: H. Liu, M. Zaharia, P. Abbeel, Ring Attention with Blockwise Transformers, ICLR 2024 (arXiv 2310.01889).
/// That blocks take equal time under a causal mask is what ranks with equal shares of early and late positions have:
/// those of W. Brandon et al., Striped Attention (arXiv 2311.09431), and the zigzag of Megatron's and PyTorch's.
struct block_ring {
  std::size_t mesh_dim = 0;  ///< along which blocks go round
  std::int64_t blocks = 2;   ///< as many as ranks
  double block_us = 0;       ///< of one block
  double merge_us = 0;       ///< every block but the first: adding results that stay to the sums of the blocks before
  double add_us = 0;         ///< every block but the first: adding results that go round to those that arrived
  double finish_us = 0;      ///< once: converting what came home
  bytes part{};              ///< what goes round of the arguments, of one rank
  bytes sums{};              ///< of the results, in f32
  bytes stays{};             ///< of the results that stay, in f32

  /// Of all blocks, with what they add up themselves.
  [[nodiscard]] double blocks_us() const {
    return static_cast<double>(blocks) * block_us + static_cast<double>(blocks - 1) * merge_us;
  }
  /// What adding results that go round takes beside them.
  [[nodiscard]] double sums_us() const { return static_cast<double>(blocks - 1) * add_us + finish_us; }
  /// How often results go round; the arguments do so once less than there are blocks.
  [[nodiscard]] std::int64_t exchanges_of_sums() const { return sums > bytes(0) ? blocks : 0; }

  friend bool operator==(const block_ring&, const block_ring&) = default;
};

/// How a strategy of an operation is done; nothing if nothing goes round.
/// \param local     the operation with its tensors as they lie on a device
/// \param block_us  what it takes with its own parts of the arguments
/// \throws error (input) if the arguments are cut along two mesh dimensions, of which one would have to wait for the
///         other
[[nodiscard]] std::optional<block_ring> ring_of(const operation_view& local, const mesh_strategy& placed,
                                                const ring_arguments& round, double block_us, const device_mesh& mesh,
                                                const compute_profile& compute);

/// What a ring waits for its own exchanges, if nothing but it runs: what its blocks cannot hide.
/// \param part_us, sums_us  of one exchange
/// Complexity: O(blocks)
[[nodiscard]] double unhidden_us(const block_ring& ring, double part_us, double sums_us);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/block_ring.hpp>
#endif
