#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

/// \file
/// Lower bounds on the peak memory over all orders of a task graph.

namespace shardweave::inline v0::detail {

/// Bytes that are live while a task runs, in any order and with any buckets: storages made by its predecessors and read
/// by itself or its successors, and storages that are never freed.
/// \param at  no collective
/// \pre tasks stand behind those that they depend on; `uses` is of `g`
/// Complexity: O(V + E)
[[nodiscard]] inline bytes held_in_any_order(const task_graph& g, const storage_uses& uses, task_index at) {
  std::vector<bool> is_before(g.size()), is_after(g.size()), is_made(g.storages().size()), is_read(is_made.size()),
      is_initial(is_made.size());
  const auto for_each_need = [&](task_index t, const auto& visit) {
    for (const task_index p : g.inputs(t)) visit(p);
    for (const task_index p : g.after(t)) visit(p);
    if (const task_index c = g.completes(t); c != no_index) visit(c);
  };
  const auto makes = [&](task_index t) {
    for (const std::uint32_t s : uses.listed(t)) is_made[s] = true;
  };
  is_before[at] = true;
  for (task_index t = at + 1; t-- > 0;) {
    if (!is_before[t]) continue;
    for_each_need(t, [&](task_index p) { is_before[p] = true; });
    if (!g.is_collective(t))
      makes(t);  // a collective may be a part of a bucket, whose results exist only after its wait
    if (const task_index c = g.completes(t); c != no_index) makes(c);
  }
  is_after[at] = true;
  for (task_index t = at; t < g.size(); ++t) {
    for_each_need(t, [&](task_index p) {
      if (is_after[p]) is_after[t] = true;
    });
    if (!is_after[t]) continue;
    for (const std::uint32_t s : uses.used(t)) is_read[s] = true;
  }
  for (const std::uint32_t s : uses.initial()) is_initial[s] = true;
  bytes held = uses.baseline();
  for (std::uint32_t s = 0; s < is_made.size(); ++s) {
    const bool stays = is_read[s] || uses.user_count(s) == 0 || !uses.is_releasable(s);
    if (is_initial[s] && !stays) held -= uses.size(s);
    if (!is_initial[s] && is_made[s] && stays) held += uses.size(s);
  }
  return held;
}

/// Whether every order of a task graph, with any buckets, certainly holds more than `limit` at some time. Tests up to
/// 16 computations, those at which the graph's own order holds most; false proves nothing.
/// \pre tasks stand behind those that they depend on
/// Complexity: O(V + E), 16 times at most
[[nodiscard]] inline bool exceeds_in_any_order(const task_graph& g, bytes limit) {
  constexpr std::size_t tries = 16;
  const storage_uses uses(g);
  memory_tracker own(uses, g.storages().size());
  std::vector<std::pair<bytes, task_index>> above;
  for (task_index t = 0; t < g.size(); ++t) {
    own.restart_peak();
    own.run(t);
    if (g.kind(t) == task_kind::compute && own.peak() > limit) above.emplace_back(own.peak(), t);
  }
  const auto end = above.begin() + static_cast<std::ptrdiff_t>(std::min(tries, above.size()));
  std::partial_sort(above.begin(), end, above.end(), std::greater<>());
  return std::any_of(above.begin(), end, [&](const auto& at) { return held_in_any_order(g, uses, at.second) > limit; });
}

}  // namespace shardweave::inline v0::detail
