#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <cstddef>
#include <vector>

/// \file
/// The Pareto-optimal policies of a block.

namespace shardweave::inline v0 {

/// The most values with a choice in one block; policies are enumerated, two or three choices for each of them: 20 with
/// two take 0.4 s of CPU, one more twice as long.
inline constexpr std::size_t most_block_choices = 20;

/// The policies of a block that no other one dominates in time, kept, transient and offloaded bytes, the fastest first.
/// They contain an optimum for any rows and for any prices on these four that are not negative.
///
/// At most `rates.window` bytes are offloaded, not counting values that may only be offloaded. A value that may be
/// neither kept, dropped nor offloaded is refused.
/// Complexity: all choices within the window, each in O(values + inputs + reads)
/// \throws error (input) for an invalid block, or one in which more than `most_block_choices` values have a choice;
///         (stopped) if the control's limits came first
[[nodiscard]] std::vector<block_policy> block_policies(const recompute_block& block, const offload_rates& rates = {},
                                                       const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/block_policies.hpp>
#endif
