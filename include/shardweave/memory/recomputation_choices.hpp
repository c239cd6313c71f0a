#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/memory/activation_blocks.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/choose_policies.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

/// \file
/// What a training graph keeps and makes again, so that it fits.

namespace shardweave::inline v0 {

/// What is made again, and the graph that does so.
struct recomputation_plan {
  std::optional<recomputed_graph> graph = std::nullopt;  ///< nothing if no choice fits: see `chosen.shortage`
  chosen_policies chosen = {};                           ///< its peak is that of the graph's own order, or above it
  std::vector<block_policy> policies = {};               ///< by block
  std::vector<char> dropped = {};                        ///< by storage of the given graph: whether it is made again
};

/// Usual rules, for comparison.
enum class recompute_rule : std::uint8_t {
  none,          ///< everything that the backward part reads is kept
  full,          ///< a block keeps what it must: every block is checkpointed
  selective_op,  ///< torchtitan's: a block keeps the results of attention, of reduce-scatters, and of every first of
                 ///< two products, counted in the block; all else is made again
  attention      ///< Megatron's `selective`: the core of attention alone is made again
};

/// By storage: whether it is dropped, as `with_recomputation` takes it, where all that some tasks give is made again.
/// Dropped are only storages that tasks of a block's forward part make and nothing outside of the block reads.
/// \param makes_again  asked of each forward task of a block in their order; not of inputs, views and parameters
/// Else as `dropped_by_rule`.
[[nodiscard]] std::vector<char> dropped_storages(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                 const std::function<bool(task_index)>& makes_again);

/// By storage: whether a rule drops it, as `with_recomputation` takes it. Dropped are only storages that tasks of a
/// block's forward part make and nothing outside of the block reads. Gathered parameters are no matter of a rule.
/// \param every     of so many blocks the rule applies to the last, as torchtitan counts; others keep everything
/// \param block_of  by task: the number of its block; `no_index` = in none
/// \pre tasks state their phases (`inferred_tags`); `block_of` has an entry for each task
/// \throws error (input) if `every` is 0
/// Complexity: O(V + E)
[[nodiscard]] std::vector<char> dropped_by_rule(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                recompute_rule rule, std::uint32_t every = 1);

/// The blocks of a training graph with all their policies: from these a recomputation is chosen, for one limit after
/// the other. Blocks are read off the graph (`activation_blocks_of`); equal ones share their policies
/// (`block_policies`).
class recomputation_choices {
 public:
  /// \pre `g` outlives this object
  /// \throws error as these functions
  recomputation_choices(const task_graph& g, std::span<const std::uint32_t> block_of,
                        const activation_options& options = {}, const solve_control& control = {});

  /// The quickest recomputation within a limit: a policy for every block (`choose_policies`), and the graph that makes
  /// values again and copies others to the host and back (`with_recomputation`). The limit holds for the graph's own
  /// order; one that launches collectives earlier may hold more.
  /// \param limit    of all that the graph's storages and baseline take
  /// \param control  its gap is that of the choice
  [[nodiscard]] recomputation_plan within(bytes limit, const solve_control& control = {}) const;

 private:
  const task_graph* g_;
  double host_bandwidth_;
  activation_blocks found_;
  std::vector<std::size_t> kind_;  ///< of each block
  std::vector<std::vector<block_policy>> policies_;
};

/// What a rule makes of a training graph, whatever the memory.
/// \throws error as `activation_blocks_of` and `dropped_by_rule`
/// Complexity: that of `activation_blocks_of`
[[nodiscard]] recomputation_plan recompute_by_rule(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                   recompute_rule rule, const activation_options& options = {},
                                                   std::uint32_t every = 1);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/recomputation_choices.hpp>
#endif
