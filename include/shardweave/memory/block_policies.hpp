#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <cstddef>
#include <vector>

/// \file
/// All policies of a block that are worth a thought.

namespace shardweave::inline v0 {

/// More choices than that in one block are refused: there are two policies for each of them, or three.
inline constexpr std::size_t most_block_choices = 20;

/// The policies of a block that no other one is as good as in time, kept, transient and offloaded bytes alike, the
/// quickest first. What is best for any rows and any prices on these four is among them, if prices are not negative.
///
/// At most `rates.window` bytes are offloaded, beside values that may be nothing else. A value that may be nothing at
/// all is refused.
/// Complexity: all choices within the window, each in O(values + inputs + reads)
/// \throws error (input) for a wrong block, or one in which more than `most_block_choices` values have a choice;
///         (stopped) if the control's limits came first
[[nodiscard]] std::vector<block_policy> block_policies(const recompute_block& block, const offload_rates& rates = {},
                                                       const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/block_policies.hpp>
#endif
