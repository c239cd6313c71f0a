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
/// Choice of the values that a training graph keeps or recomputes within a limit.

namespace shardweave::inline v0 {

/// A choice of recomputation, and the graph that carries it out.
struct recomputation_plan {
  std::optional<recomputed_graph> graph = std::nullopt;  ///< nothing if no choice fits; see `chosen.shortage`
  chosen_policies chosen = {};                           ///< its `peak` is at least that of the graph's own order
  std::vector<block_policy> policies = {};               ///< by block
  std::vector<char> dropped = {};                        ///< by storage of the given graph: whether it is recomputed
};

/// Usual rules of recomputation, for comparison.
enum class recompute_rule : std::uint8_t {
  none,  ///< everything that the backward part reads is kept
  full,  ///< a block keeps what it must: every block is checkpointed
  /// torchtitan's: a block keeps the results of attention, of reduce-scatters, and of its first, third, ... product;
  /// all else is recomputed
  selective_op,
  attention  ///< Megatron's `selective`: only the core of attention is recomputed
};

/// By storage: whether it is dropped, as `with_recomputation` takes it, if all results of some tasks are recomputed.
/// Only storages are dropped that tasks of a block's forward part make and nothing outside of the block reads.
/// \param makes_again  whether to recompute a task's results; asked of forward tasks of blocks in their order, but not
///                     of inputs, views and parameters
/// Otherwise as `dropped_by_rule`.
[[nodiscard]] std::vector<char> dropped_storages(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                 const std::function<bool(task_index)>& makes_again);

/// By storage: whether a rule drops it, as `with_recomputation` takes it. Only storages are dropped that tasks of a
/// block's forward part make and nothing outside of the block reads. Rules do not apply to gathered parameters.
/// \param every     the rule applies to the last of every so many blocks, as torchtitan counts; the others keep
///                  everything
/// \param block_of  by task: the number of its block; `no_index` = in none
/// \pre tasks state their phases (`inferred_tags`); `block_of` has an entry for each task
/// \throws error (input) if `every` is 0
/// Complexity: O(V + E)
[[nodiscard]] std::vector<char> dropped_by_rule(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                recompute_rule rule, std::uint32_t every = 1);

/// The blocks of a training graph with all their policies, from which a recomputation is chosen for any limit. Blocks
/// are read off the graph (`activation_blocks_of`); equal ones share their policies (`block_policies`).
class recomputation_choices {
 public:
  /// \pre `g` outlives this object
  /// \throws error as these functions
  recomputation_choices(const task_graph& g, std::span<const std::uint32_t> block_of,
                        const activation_options& options = {}, const solve_control& control = {});

  /// The fastest recomputation within a limit: a policy for every block (`choose_policies`), and the graph that
  /// recomputes values and copies others to the host and back (`with_recomputation`). The limit holds for the graph's
  /// own order; an order that launches collectives earlier may hold more.
  /// \param limit    on all storages of the graph with its baseline
  /// \param control  its gap applies to the choice of policies
  [[nodiscard]] recomputation_plan within(bytes limit, const solve_control& control = {}) const;

 private:
  const task_graph* g_;
  double host_bandwidth_;
  activation_blocks found_;
  std::vector<std::size_t> kind_;  ///< by block: its position in `policies_`
  std::vector<std::vector<block_policy>> policies_;
};

/// The recomputation by a rule, whatever the memory.
/// \throws error as `activation_blocks_of` and `dropped_by_rule`
/// Complexity: that of `activation_blocks_of`
[[nodiscard]] recomputation_plan recompute_by_rule(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                   recompute_rule rule, const activation_options& options = {},
                                                   std::uint32_t every = 1);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/recomputation_choices.hpp>
#endif
