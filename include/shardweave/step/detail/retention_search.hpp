#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/step/detail/is_better.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Searches over the storages that a small graph recomputes.

namespace shardweave::inline v0::detail {

/// Storages that may be recomputed: in device memory, and made by the forward part, but no inputs or parameters.
/// Complexity: O(V)
[[nodiscard]] inline std::vector<std::uint32_t> droppable_storages(const task_graph& g) {
  std::vector<char> may(g.storages().size());
  for (task_index t = 0; t < g.size(); ++t) {
    const bool makes =
        g.when(t) == phase::forward && g.kind(t) != task_kind::input && g.role(t) != task_role::parameter;
    for (std::size_t i = 0; i < g.output_count(t); ++i)
      if (const std::uint32_t s = g.output_storage(t, i); s != no_index)
        may[s] = makes && may[s] != 2 && g.storages()[s].device == storage_device::gpu ? 1 : 2;
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t s = 0; s < may.size(); ++s)
    if (may[s] == 1) found.push_back(s);
  return found;
}

/// The graph that recomputes some storages, and per block the time of what runs twice and the bytes that are kept.
/// \param dropped   by storage: whether it is recomputed
/// \param block_of  by task; `no_index` = in none
/// Complexity: O(V + E)
[[nodiscard]] inline recomputation_plan recomputation_of(const task_graph& g, const std::vector<char>& dropped,
                                                         std::span<const std::uint32_t> block_of) {
  recomputation_plan plan{.graph = with_recomputation(g, dropped), .dropped = dropped};
  const auto policy_of = [&](std::uint32_t block) -> block_policy& {
    if (block >= plan.policies.size()) plan.policies.resize(block + 1);
    return plan.policies[block];
  };
  std::vector<char> is_done(g.size());
  for (task_index t = 0; t < plan.graph->tasks.size(); ++t) {
    const task_index of = plan.graph->original[t];
    if (!plan.graph->again[t]) is_done[of] = 1;
    if (is_done[of] != 0 && plan.graph->again[t] && block_of[of] != no_index && !plan.graph->tasks.is_collective(t))
      // a task whose first run is merely deferred does not run twice
      policy_of(block_of[of]).time += plan.graph->tasks.duration(t);
  }
  std::vector<char> is_counted(dropped.begin(), dropped.end());
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.when(t) || *g.when(t) == phase::forward) continue;
    for (const task_index p : g.inputs(t)) {
      if (g.when(p) != phase::forward || g.kind(p) == task_kind::input || block_of[p] == no_index) continue;
      for (std::size_t i = 0; i < g.output_count(p); ++i)
        if (const std::uint32_t s = g.output_storage(p, i); s != no_index && is_counted[s] == 0) {
          is_counted[s] = 1;
          policy_of(block_of[p]).kept += g.storages()[s].size;
        }
    }
  }
  for (const block_policy& policy : plan.policies) {
    plan.chosen.time += policy.time;
    plan.chosen.kept += policy.kept;
  }
  return plan;
}

/// Local search: changes whether one storage is recomputed, or, where that gains nothing and the best plan is feasible
/// (of finite step), two storages, as long as plans get better.
/// \param dropped  by storage: whether `best` recomputes it
/// \param free     storages that may change
/// \param tries    plans that are made, at most
/// \param make     the plan for a choice of `dropped`
/// \param is_over  whether a limit was reached
template <class Plan, class Make, class IsOver>
[[nodiscard]] Plan search_retention(Plan best, std::vector<char> dropped, const std::vector<std::uint32_t>& free,
                                    std::size_t tries, const Make& make, const IsOver& is_over) {
  const auto flip = [&](std::uint32_t s) { dropped[s] = dropped[s] != 0 ? 0 : 1; };
  const auto is_improved = [&](std::uint32_t a, std::uint32_t b) {
    if (tries == 0 || is_over()) return false;
    --tries;
    flip(a);
    if (b != a) flip(b);
    Plan other = make(dropped);
    if (is_better(other, best)) {
      best = std::move(other);
      return true;
    }
    flip(a);
    if (b != a) flip(b);
    return false;
  };
  const auto is_any_improved = [&](bool pairs) {
    bool any = false;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (!pairs) any = is_improved(free[i], free[i]) || any;
      for (std::size_t j = i + 1; pairs && j < free.size(); ++j)
        if (is_improved(free[i], free[j])) return true;
    }
    return any;
  };
  while (tries > 0 && !is_over())
    if (!is_any_improved(false) && !(std::isfinite(static_cast<double>(best.step)) && is_any_improved(true))) break;
  return best;
}

/// Exhaustive search over what is recomputed: the best plan if it ends before `below`, otherwise `best`. Only choices
/// whose bound is below both are ordered, by ascending bound.
/// \param free   storages that may change
/// \param make   the plan for a choice of `dropped`, without an order
/// \param bound  a lower bound on the makespan of such a plan
/// \param order  orders such a plan
/// \pre less than 32 storages are free
/// Complexity: a plan and a bound for each of 2^free choices, and the orders
template <class Plan, class Make, class Bound, class Order, class IsOver>
[[nodiscard]] Plan search_all_retention(Plan best, double below, std::vector<char> dropped,
                                        const std::vector<std::uint32_t>& free, const Make& make, const Bound& bound,
                                        const Order& order, const IsOver& is_over) {
  const auto to_beat = [&] { return std::min(below, static_cast<double>(best.step)); };
  std::vector<std::pair<double, Plan>> made;
  for (std::uint32_t some = 0; some < (1U << free.size()) && !is_over(); ++some) {
    for (std::size_t i = 0; i < free.size(); ++i) dropped[free[i]] = (some >> i & 1U) != 0 ? 1 : 0;
    Plan plan = make(dropped);
    const double least = bound(plan);
    if (least < to_beat()) made.emplace_back(least, std::move(plan));
  }
  std::ranges::stable_sort(made, {}, [](const auto& of) { return of.first; });
  for (auto& [least, plan] : made) {
    if (least >= to_beat() || is_over()) break;
    order(plan);
    if (is_better(plan, best)) best = std::move(plan);
  }
  return best;
}

}  // namespace shardweave::inline v0::detail
