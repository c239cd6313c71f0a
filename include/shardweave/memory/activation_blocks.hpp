#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/memory_rows.hpp>
#include <shardweave/memory/recompute_block.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// The blocks of a task graph: which of its storages live from the forward to the backward part, and when.

namespace shardweave::inline v0 {

/// What counts as a value that may be dropped.
struct activation_options {
  bytes least = mebibytes(1);  ///< smaller storages are kept
  /// Parameters that were gathered are dropped and gathered again. That time is not counted: it is communication, which
  /// hides or not as the order has it.
  bool regather = false;
  /// Of copies to the host's memory and of those back, in bytes per second; 0: nothing waits there. What a block copies
  /// is there when the forward part of the next one ends, after what earlier blocks copy; and what copies take of the
  /// device's memory counts as time.
  double host_bandwidth = 0;
};

/// A task graph's blocks as memory sees them. All of it is by block, in the order of the forward parts.
struct activation_blocks {
  std::vector<recompute_block> blocks = {};
  std::vector<std::vector<std::uint32_t>> storages = {};  ///< of each block, by value
  std::vector<memory_block> rows = {};                    ///< without policies: `forward` and `beside`
  std::vector<offload_rates> rates = {};                  ///< of each block
  bytes after{};                                          ///< see `memory_rows`

  /// By storage of the graph: whether such policies keep it so. \pre one policy per block
  [[nodiscard]] std::vector<char> held(retention how, std::size_t storage_count,
                                       std::span<const block_policy* const> policies) const {
    std::vector<char> result(storage_count);
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::size_t v = 0; v < storages[b].size(); ++v)
        result[storages[b][v]] = static_cast<char>(policies[b]->values[v] == how);
    return result;
  }
};

/// Reads the blocks of a training graph off it: what a block's forward tasks allocate and its backward tasks read are
/// its values; the tasks that list a storage make it, in their summed durations, from what they read. What was gathered
/// of a shard is made again by gathering, in a time that counts as if nothing hid it. Kept whatever the policy is what
/// other blocks read, what is smaller than `options.least`, and of more than 16 large values of a block (12 where
/// values may wait in the host's memory, as the four largest of those may that get there in time) the smallest.
/// Gradients and everything else that lives is counted as the graph's own order has it.
/// \param block_of  by task: the number of its block, counted in the order of the forward parts; `no_index` = in none
/// \pre the graph's order is topological, and tasks state their phases
/// \throws error (input) if a block lacks a part, forward parts do not begin in the order of the numbers or backward
///         parts in the opposite one
/// Complexity: O(V + E), and for every forward task the values of its block
[[nodiscard]] activation_blocks activation_blocks_of(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                     const activation_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/activation_blocks.hpp>
#endif
