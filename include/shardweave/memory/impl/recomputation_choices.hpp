#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/memory/block_policies.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

/// \file
/// Definitions of `recomputation_choices` and of the rules.

namespace shardweave::inline v0 {

namespace detail {

[[nodiscard]] inline bool does_the_same(const recompute_block& a, const recompute_block& b) {
  const auto same_value = [](const block_value& x, const block_value& y) {
    return x.size == y.size && x.time == y.time && x.inputs == y.inputs && x.made_with == y.made_with &&
           x.may_keep == y.may_keep && x.may_drop == y.may_drop && x.may_offload == y.may_offload;
  };
  const auto same_step = [](const backward_step& x, const backward_step& y) {
    return x.reads == y.reads && x.gradients == y.gradients;
  };
  return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_value) &&
         std::equal(a.backward.begin(), a.backward.end(), b.backward.begin(), b.backward.end(), same_step);
}

/// The plan of chosen policies.
/// \param rows  those of `found`, with the policies that `chosen` refers to
/// \param host_bandwidth  of copies, if any
[[nodiscard]] inline recomputation_plan recomputation_by(const task_graph& g, const activation_blocks& found,
                                                         std::span<const memory_block> rows, chosen_policies chosen,
                                                         double host_bandwidth = 0) {
  recomputation_plan plan;
  plan.chosen = std::move(chosen);
  if (plan.chosen.policy.empty() && !found.blocks.empty()) return plan;
  std::vector<const block_policy*> of_block;
  for (std::size_t b = 0; b < found.blocks.size(); ++b) {
    of_block.push_back(&rows[b].policies[plan.chosen.policy[b]]);
    plan.policies.push_back(*of_block.back());
  }
  const auto held = [&](retention how) { return found.held(how, g.storages().size(), of_block); };
  host_copies copies;
  if (plan.chosen.offloaded > bytes(0)) copies = {held(retention::offload), host_bandwidth};
  plan.dropped = held(retention::recompute);
  plan.graph = with_recomputation(g, plan.dropped, copies);
  return plan;
}

}  // namespace detail

SHARDWEAVE_INLINE recomputation_choices::recomputation_choices(const task_graph& g,
                                                               std::span<const std::uint32_t> block_of,
                                                               const activation_options& options,
                                                               const solve_control& control)
    : g_(&g), host_bandwidth_(options.host_bandwidth), found_(activation_blocks_of(g, block_of, options)) {
  const deadline clock(control);
  std::vector<std::size_t> first;  // block of each kind
  for (std::size_t b = 0; b < found_.blocks.size(); ++b) {
    const auto same = [&](std::size_t a) {
      return found_.rates[a].window == found_.rates[b].window &&
             detail::does_the_same(found_.blocks[a], found_.blocks[b]);
    };
    const auto known = std::find_if(first.begin(), first.end(), same);
    kind_.push_back(static_cast<std::size_t>(known - first.begin()));
    if (known != first.end()) continue;
    first.push_back(b);
    policies_.push_back(block_policies(found_.blocks[b], found_.rates[b], clock.rest_for_part()));
  }
}

SHARDWEAVE_INLINE recomputation_plan recomputation_choices::within(bytes limit, const solve_control& control) const {
  std::vector<memory_block> rows = found_.rows;
  for (std::size_t b = 0; b < rows.size(); ++b) rows[b].policies = policies_[kind_[b]];
  return detail::recomputation_by(
      *g_, found_, rows, choose_policies(rows, {.limit = limit, .after = found_.after}, control), host_bandwidth_);
}

SHARDWEAVE_INLINE recomputation_plan recompute_by_rule(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                       recompute_rule rule, const activation_options& options,
                                                       std::uint32_t every) {
  activation_blocks found = activation_blocks_of(g, block_of, options);
  const std::vector<char> dropped = dropped_by_rule(g, block_of, rule, every);
  const bool by_operator = rule == recompute_rule::selective_op || rule == recompute_rule::attention;
  std::deque<block_policy> policies;
  for (std::size_t b = 0; b < found.blocks.size(); ++b) {
    std::vector<retention> choice;
    for (std::size_t v = 0; v < found.blocks[b].values.size(); ++v) {
      const block_value& value = found.blocks[b].values[v];
      const bool keeps =
          by_operator ? dropped[found.storages[b][v]] == 0 : rule == recompute_rule::none || (b + 1) % every != 0;
      choice.push_back(value.may_keep && (keeps || !value.may_drop) ? retention::keep : retention::recompute);
    }
    policies.push_back(price_policy(found.blocks[b], choice));
    found.rows[b].policies = std::span(&policies.back(), 1);
  }
  constexpr auto everything = bytes(std::int64_t{1} << 62);
  return detail::recomputation_by(g, found, found.rows,
                                  choose_policies(found.rows, {.limit = everything, .after = found.after}));
}

SHARDWEAVE_INLINE std::vector<char> dropped_storages(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                     const std::function<bool(task_index)>& makes_again) {
  SHARDWEAVE_EXPECTS(block_of.size() == g.size());
  std::vector<char> dropped(g.storages().size());
  for (task_index t = 0; t < g.size(); ++t) {
    if (block_of[t] == no_index || g.when(t) != phase::forward || g.kind(t) == task_kind::input ||
        g.kind(t) == task_kind::view || g.role(t) == task_role::parameter || !makes_again(t))
      continue;
    for (std::size_t i = 0; i < g.output_count(t); ++i)
      if (const std::uint32_t s = g.output_storage(t, i); s != no_index) dropped[s] = 1;
  }
  // what another block or a task outside of blocks reads must be kept
  for (task_index t = 0; t < g.size(); ++t)
    for (const task_index p : g.inputs(t))
      if (block_of[p] != block_of[t])
        for (std::size_t i = 0; i < g.output_count(p); ++i)
          if (const std::uint32_t s = g.output_storage(p, i); s != no_index) dropped[s] = 0;
  return dropped;
}

SHARDWEAVE_INLINE std::vector<char> dropped_by_rule(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                    recompute_rule rule, std::uint32_t every) {
  if (every == 0) refuse(error_category::input, "a rule applies to one of every 0 blocks, expected at least 1");
  using enum recompute_rule;
  std::map<std::uint32_t, std::uint32_t> products;  // counted by block
  return dropped_storages(g, block_of, [&](task_index t) {
    if (rule == none || (block_of[t] + 1) % every != 0) return false;
    if (rule == full) return true;
    const std::string_view op = g.op(t);
    // the result of a wait is that of its collective
    const task_index launched = g.kind(t) == task_kind::wait ? g.completes(t) : t;
    const bool is_moved = launched != no_index && g.is_collective(launched);
    if (rule == attention) return op == "sdpa" || (is_moved && g.collective(launched).op == collective::shift);
    if (is_moved) return g.collective(launched).op != collective::reduce_scatter;
    if (op == "sdpa") return false;
    return op != "einsum" || ++products[block_of[t]] % 2 == 0;
  });
}

}  // namespace shardweave::inline v0
