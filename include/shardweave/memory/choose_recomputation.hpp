#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/memory/activation_blocks.hpp>
#include <shardweave/memory/block_policies.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/choose_policies.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/memory/recompute_block.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// What a training graph keeps and makes again, so that it fits.

namespace shardweave {
inline namespace v0 {

/// What is made again, and the graph that does so.
struct recomputation_plan {
  std::optional<recomputed_graph> graph = std::nullopt;  ///< nothing if no choice fits: see `chosen.shortage`
  chosen_policies chosen = {};                           ///< its peak is that of the graph's own order, or above it
  std::vector<block_policy> policies = {};               ///< by block
};

/// Usual rules, for comparison.
enum class recompute_rule : std::uint8_t {
  none,  ///< everything that the backward part reads is kept
  full,  ///< a block keeps what it must: every block is checkpointed
};

namespace detail {

[[nodiscard]] inline bool does_the_same(const recompute_block& a, const recompute_block& b) {
  const auto same_value = [](const block_value& x, const block_value& y) {
    return x.size == y.size && x.time == y.time && x.inputs == y.inputs && x.may_keep == y.may_keep &&
           x.may_drop == y.may_drop && x.may_offload == y.may_offload;
  };
  const auto same_step = [](const backward_step& x, const backward_step& y) {
    return x.reads == y.reads && x.gradients == y.gradients;
  };
  return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_value) &&
         std::equal(a.backward.begin(), a.backward.end(), b.backward.begin(), b.backward.end(), same_step);
}

[[nodiscard]] inline recomputation_plan recomputation_by(const task_graph& g, const activation_blocks& found,
                                                         chosen_policies chosen) {
  recomputation_plan plan;
  plan.chosen = std::move(chosen);
  if (plan.chosen.policy.empty() && !found.blocks.empty()) return plan;
  std::vector<const block_policy*> of_block;
  for (std::size_t b = 0; b < found.blocks.size(); ++b) {
    of_block.push_back(&found.rows[b].policies[plan.chosen.policy[b]]);
    plan.policies.push_back(*of_block.back());
  }
  plan.graph = with_recomputation(g, found.dropped(g.storages().size(), of_block));
  return plan;
}

}  // namespace detail

/// The quickest recomputation within a limit: blocks are read off the graph (`activation_blocks_of`), equal ones share
/// their policies (`block_policies`), one is chosen for each (`choose_policies`), and the graph is written
/// (`with_recomputation`). The limit holds for the graph's own order; one that launches collectives earlier may hold
/// more.
/// \param limit  of all that the graph's storages and baseline take
/// \throws error as these functions
[[nodiscard]] inline recomputation_plan choose_recomputation(const task_graph& g,
                                                             std::span<const std::uint32_t> block_of, bytes limit,
                                                             const activation_options& options = {},
                                                             const solve_control& control = {}) {
  const deadline clock(control);
  activation_blocks found = activation_blocks_of(g, block_of, options);
  std::deque<std::pair<const recompute_block*, std::vector<block_policy>>> kinds;  // addresses stay
  for (std::size_t b = 0; b < found.blocks.size(); ++b) {
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return detail::does_the_same(*kind.first, found.blocks[b]);
    });
    if (known == kinds.end())
      kinds.emplace_back(&found.blocks[b], block_policies(found.blocks[b], {}, clock.rest_for_part()));
    found.rows[b].policies = known == kinds.end() ? kinds.back().second : known->second;
  }
  solve_control rest = clock.rest_for_part();
  rest.gap = control.gap;
  return detail::recomputation_by(g, found, choose_policies(found.rows, {.limit = limit, .after = found.after}, rest));
}

/// The same by a rule, whatever the memory.
[[nodiscard]] inline recomputation_plan recompute_by_rule(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                          recompute_rule rule, const activation_options& options = {}) {
  activation_blocks found = activation_blocks_of(g, block_of, options);
  std::deque<block_policy> policies;
  for (std::size_t b = 0; b < found.blocks.size(); ++b) {
    std::vector<retention> choice;
    for (const block_value& value : found.blocks[b].values)
      choice.push_back(value.may_keep && (rule == recompute_rule::none || !value.may_drop) ? retention::keep
                                                                                           : retention::recompute);
    policies.push_back(price_policy(found.blocks[b], choice));
    found.rows[b].policies = std::span(&policies.back(), 1);
  }
  constexpr auto everything = bytes(std::int64_t{1} << 62);
  return detail::recomputation_by(g, found, choose_policies(found.rows, {.limit = everything, .after = found.after}));
}

}  // namespace v0
}  // namespace shardweave
