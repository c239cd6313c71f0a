#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/memory/memory_rows.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// \file
/// One policy for every block of a sequence, within the memory of the device.

namespace shardweave::inline v0 {

/// A policy for every block.
struct chosen_policies {
  std::vector<std::uint32_t> policy = {};  ///< of each block, a position in its `policies`; empty: there is none
  nanoseconds time{};                      ///< of all of them
  bytes kept{};                            ///< by all of them
  bytes offloaded{};
  bytes peak{};               ///< the most that a row needs
  nanoseconds lower_bound{};  ///< no choice within the rows takes less; equal to `time` if that is proven
  std::optional<memory_shortage> shortage = std::nullopt;  ///< if no choice fits
  double price = 0;  ///< about what a byte less of `limit` costs, in ns: of the bound, so that it may be zero or steep

  [[nodiscard]] bool is_proven() const { return !policy.empty() && lower_bound == time; }
};

/// The quickest choice of policies within the rows. With `S` what the blocks up to some one keep,
///
///     while its forward part runs:            what the blocks before it keep + its `forward` <= limit
///     while its backward part runs:           S + its transient + its `beside`               <= limit
///     between forward and backward parts:     what all blocks keep + `after`                 <= limit
///
/// The backward parts run in the opposite order, so that of the later blocks nothing is kept any more. The answer is
/// exact unless the control's limits come first, or its gap is enough; then it is the best one found, if there is one,
/// with a valid bound.
///
/// Method: dynamic programming over the blocks, and bounds by prices on what is kept and offloaded (the Lagrangian
/// relaxation of a knapsack), which leave few partial choices.
/// Complexity: O(blocks * policies * partial choices that are left); 32 blocks of 545 policies take milliseconds
/// \throws error (input) if a block has no policies, or its only ones offload where it may not
[[nodiscard]] chosen_policies choose_policies(std::span<const memory_block> blocks, const memory_rows& rows,
                                              const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/choose_policies.hpp>
#endif
