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
/// The blocks of a task graph: its storages that live from the forward to the backward part, with their lifetimes.

namespace shardweave::inline v0 {

/// Which values may be dropped or offloaded.
struct activation_options {
  bytes least = mebibytes(1);  ///< smaller storages are kept
  /// Gathered parameters are dropped and gathered again. That time does not count: it is communication, whose exposure
  /// depends on the order.
  bool regather = false;
  /// Bandwidth of copies to the host's memory, and of those back, in bytes per second; 0: no values are offloaded.
  /// Copies of a block must be done when the forward part of the next block ends, after those of earlier blocks. The
  /// bandwidth of device memory that copies use counts as lost computation time.
  double host_bandwidth = 0;
};

/// The blocks of a task graph for the choice of policies. All members are by block, in the order of the forward parts.
struct activation_blocks {
  std::vector<recompute_block> blocks = {};
  std::vector<std::vector<std::uint32_t>> storages = {};  ///< by block and value: its storage
  std::vector<memory_block> rows = {};                    ///< by block, without policies: `forward` and `beside`
  std::vector<offload_rates> rates = {};                  ///< by block
  bytes after{};                                          ///< see `memory_rows`

  /// By storage of the graph: whether these policies choose `how` for it. \pre one policy per block
  [[nodiscard]] std::vector<char> held(retention how, std::size_t storage_count,
                                       std::span<const block_policy* const> policies) const {
    std::vector<char> result(storage_count);
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::size_t v = 0; v < storages[b].size(); ++v)
        result[storages[b][v]] = static_cast<char>(policies[b]->values[v] == how);
    return result;
  }
};

/// Reads the blocks of a training graph. The values of a block are what its forward tasks allocate and its backward
/// tasks read; the tasks that list a storage make it, in the sum of their durations, from what they read. A value that
/// was gathered from shards is recomputed by gathering, at its full time, as if nothing hid it. Always kept are values
/// that other blocks read, values smaller than `options.least`, and all but the largest 16 others of a block (12 where
/// values may be offloaded, which then the four largest may that arrive in time). Gradients and all else that is live
/// are counted in the graph's own order.
/// \param block_of  by task: the number of its block, counted in the order of the forward parts; `no_index` = in none
/// \pre the graph's order is topological, and tasks state their phases
/// \throws error (input) if a block lacks a part, forward parts do not begin in the order of the numbers or backward
///         parts in the opposite one, or the last block's backward part begins before its forward part ends
/// Complexity: O(V + E), and for every forward task the values of its block
[[nodiscard]] activation_blocks activation_blocks_of(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                     const activation_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/activation_blocks.hpp>
#endif
