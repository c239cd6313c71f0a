#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/memory/activation_blocks.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A lowered plan that recomputes values so that its timeline fits a limit.

namespace shardweave::inline v0 {

/// A lowered plan with recomputation, and its order.
struct fitted_plan {
  lowered_graph lowered = {};
  schedule order = {};
  recomputation_plan chosen = {};  ///< without its graph, which is `lowered.tasks`
  nanoseconds time{};              ///< of what runs twice
  nanoseconds end{};               ///< makespan
  bool regathers = false;          ///< parameters are gathered again for the backward part
};

/// The lowered plan of a recomputation, without an order. \pre the recomputation has a graph
/// Complexity: O(V)
[[nodiscard]] inline fitted_plan with_again(const lowered_graph& given, recomputation_plan chosen, bool regathers) {
  recomputed_graph graph = *std::move(chosen.graph);
  chosen.graph.reset();
  fitted_plan plan{.chosen = std::move(chosen), .time = graph.compute, .regathers = regathers};
  std::vector<task_index> now(given.tasks.size(), no_index);
  for (task_index t = 0; t < graph.tasks.size(); ++t) {
    task_origin from = given.origin[graph.original[t]];
    from.again = from.again || graph.again[t];
    plan.lowered.origin.push_back(from);
    if (now[graph.original[t]] == no_index) now[graph.original[t]] = t;
  }
  for (const task_index t : given.task_of) plan.lowered.task_of.push_back(now[t]);
  plan.lowered.tasks = std::move(graph.tasks);
  return plan;
}

/// The block of each task's operation, as `activation_blocks_of` takes it: blocks that have a forward and a backward
/// part are numbered anew, in their order. In others nothing can be recomputed; their tasks are in none.
/// \param block_of  by operation; ~0 = in none
/// \pre tasks state their phases
/// Complexity: O(V + blocks)
[[nodiscard]] inline std::vector<std::uint32_t> blocks_of_tasks(const lowered_graph& lowered,
                                                                std::span<const std::uint32_t> block_of) {
  const task_graph& g = lowered.tasks;
  std::vector<std::uint32_t> result;
  std::vector<std::array<bool, 2>> has;  // by block: a forward part, a later one
  for (task_index t = 0; t < g.size(); ++t) {
    const std::uint32_t block = block_of[lowered.origin[t].operation];
    result.push_back(block == ~0U ? no_index : block);
    if (block == ~0U || g.kind(t) == task_kind::input || g.kind(t) == task_kind::output) continue;
    if (has.size() <= block) has.resize(block + 1);
    has[block][g.when(t) && *g.when(t) != phase::forward ? 1 : 0] = true;
  }
  std::vector<std::uint32_t> now(has.size(), no_index);
  std::uint32_t count = 0;
  for (std::size_t b = 0; b < has.size(); ++b)
    if (has[b][0] && has[b][1]) now[b] = count++;
  for (std::uint32_t& block : result) block = block < now.size() ? now[block] : no_index;
  return result;
}

/// What recomputation is to reach, and other means to save memory.
struct fitting_options {
  /// Bytes that the choice of values aims at, at most the limit; less leaves room for buckets and for early launches.
  /// Nothing: the limit.
  std::optional<bytes> aim = std::nullopt;
  /// Whether parameters are gathered again for the backward part; nothing: both are tried.
  std::optional<bool> regathers = std::nullopt;
  double host_bandwidth = 0;  ///< of values that wait in the host's memory (`activation_options`); 0: none do
};

/// The fastest plan with recomputation whose timeline holds at most `limit`; nothing if none was found, or a limit of
/// the control came first.
/// The chosen values fit in the graph's own order; an order that launches collectives early may hold more. Then the
/// choice is repeated for a smaller limit, a few times. Where a plan is exposed (waits) for more than an eighth of its
/// time, it lacks room for buckets and early launches: then smaller limits are tried, too, while that gives a faster
/// plan.
/// \param lowered   by a lowering that does not gather parameters again, which recomputation could make a third time
/// \param block_of  by operation: its repeated layer; ~0 = in none
/// \param order     gives a task graph buckets and an order, within `limit` if it can
/// Complexity: at most 24 choices of what is recomputed, with an order each
template <class Order>
[[nodiscard]] std::optional<fitted_plan> fit_by_recomputation(const lowered_graph& lowered,
                                                              std::span<const std::uint32_t> block_of, bytes limit,
                                                              const Order& order, const fitting_options& options = {},
                                                              const solve_control& control = {}) {
  // for each spare, without and with gathering again: at most 2 * 3 * 4 choices. LLaMA-3 8B on 8x8 within 12 to 20 GiB
  // and 70B within 25 and 40 have the same steps with 1 and with 8
  constexpr int most_tries = 4;
  // of 11 small plans that wait 8 are quicker with less room for values, with half of these spares 9
  const std::array spares{bytes(0), bytes(limit.count() / 24), bytes(limit.count() / 12)};
  const deadline clock(control);
  const std::vector<std::uint32_t> blocks = blocks_of_tasks(lowered, block_of);
  std::optional<fitted_plan> best;
  for (const bool again : {false, true}) {
    if (options.regathers && *options.regathers != again) continue;
    std::optional<recomputation_choices> choices;
    try_to(
        [&] {
          const activation_options how{.regather = again, .host_bandwidth = options.host_bandwidth};
          choices.emplace(lowered.tasks, blocks, how, clock.rest_for_part());
        },
        [](const error& e) { return e.category() == error_category::stopped; });
    if (!choices) break;
    const bytes first = std::min(options.aim.value_or(limit), limit);
    bytes aim = first;
    // Makes the plan for this aim, or for a smaller one if it does not fit.
    // \returns whether a smaller aim is worth a try: the plan waits, and is the fastest so far
    const auto lacks_room = [&] {
      for (int i = 0; i < most_tries && aim > bytes(0); ++i) {
        solve_control rest = clock.rest_for_part();
        rest.gap = 1e-2;  // of the time of recomputation, which is a small part of the step
        auto chosen = choices->within(aim, rest);
        if (!chosen.graph || control.stop.stop_requested()) return false;
        fitted_plan plan = with_again(lowered, std::move(chosen), again);
        if (control.stop.stop_requested()) return false;
        plan.order = order(plan.lowered.tasks);
        const timeline line = simulate(plan.lowered.tasks, plan.order, {.validate = false});
        plan.end = line.end_to_end;
        if (line.peak <= limit) {
          const bool waits = line.exposed.count() > line.end_to_end.count() / 8;
          const bool is_quicker = !best || plan.end < best->end;
          if (is_quicker) best = std::move(plan);
          return waits && is_quicker;
        }
        aim -= line.peak - limit;
        if (clock.expired()) return false;
      }
      return false;
    };
    for (const bytes spare : spares)
      if (first - spare <= aim) {
        aim = first - spare;
        if (!lacks_room() || clock.expired()) break;
      }
    if (clock.expired()) break;
  }
  return best;
}

}  // namespace shardweave::inline v0
