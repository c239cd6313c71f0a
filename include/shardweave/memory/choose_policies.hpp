#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/memory/memory_rows.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// \file
/// One policy for each block of a sequence, within the memory of the device.

namespace shardweave::inline v0 {

/// A policy for every block.
struct chosen_policies {
  std::vector<std::uint32_t> policy = {};  ///< by block: position in its `policies`; empty: no choice was found
  nanoseconds time{};                      ///< sum over the blocks
  bytes kept{};                            ///< sum over the blocks
  bytes offloaded{};
  bytes peak{};               ///< the largest demand of any row
  nanoseconds lower_bound{};  ///< no choice within the rows takes less; equal to `time` if that is proven optimal
  std::optional<memory_shortage> shortage = std::nullopt;  ///< if no choice fits
  double price = 0;  ///< ns per byte of `limit`, the multiplier of the bound: an estimate that may be zero, or steep

  [[nodiscard]] bool is_proven() const { return !policy.empty() && lower_bound == time; }
};

/// The fastest choice of policies within the rows of memory. With `S`, the bytes that a block and those before it keep,
///
///     while its forward part runs:            what the blocks before it keep + its `forward` <= limit
///     while its backward part runs:           S + its transient + its `beside`               <= limit
///     between forward and backward parts:     what all blocks keep + `after`                 <= limit
///     on the host, at any time:               what all blocks offload                        <= host
///
/// The backward parts run in the opposite order, so nothing of later blocks is kept any more. The choice is optimal
/// unless the control's limits come first or its gap is reached; then it is the best one found, if any, with a valid
/// bound.
///
/// Method: dynamic programming over the blocks, with partial choices pruned by a Lagrangian bound (a price per byte
/// that is kept, and one per byte that is offloaded, as for a knapsack).
/// Complexity: O(blocks * policies * partial choices that are left); 32 blocks of 545 policies take milliseconds
/// \throws error (input) if a block has no policy, or only such that offload though it may not
[[nodiscard]] chosen_policies choose_policies(std::span<const memory_block> blocks, const memory_rows& rows,
                                              const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/choose_policies.hpp>
#endif
