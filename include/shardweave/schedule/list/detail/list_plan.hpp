#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/unit_memory.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Data about a graph that all runs of the list scheduler behind `prefetch` share.

namespace shardweave::inline v0::detail {

/// Units, the computations that need them, and what each collective must wait for. A collective may be pulled, that is,
/// launched before its turn, together with its prelude: casts and views that lead only to it, and waits at their start.
/// Other units that it depends on are its blockers. Complexity: O(V + E), and 64 tasks per collective pulled.
struct list_plan {
  /// \param by  a topological order of the units to follow; empty: the one nearest to the original order
  list_plan(const task_graph& graph, std::span<const bucket> buckets, std::span<const std::uint32_t> by = {})
      : g(graph),
        units(graph, buckets),
        uses(graph),
        order(by.empty() ? units.order().begin() : by.begin(), by.empty() ? units.order().end() : by.end()),
        rank(units.size()),
        need(units.size(), no_index),
        compute_before(units.size() + 1),
        blockers(units.size()),
        blocks(units.size()),
        prelude(units.size()),
        by_hand(!by.empty()) {
    set_order();
  }

  /// The most live bytes while each unit runs in `order`, by rank.
  [[nodiscard]] std::vector<bytes> memory_in_order() const {
    unit_memory memory(g, units, uses);
    std::vector<bytes> along;
    along.reserve(units.size());
    for (const std::uint32_t u : order) {
      memory.restart_peak();
      memory.run(u);
      along.push_back(memory.peak());
    }
    return along;
  }

  [[nodiscard]] task_kind kind(std::uint32_t u) const { return g.kind(units.first(u)); }
  [[nodiscard]] bool is_compute(std::uint32_t u) const { return kind(u) == task_kind::compute; }

  [[nodiscard]] bool is_wait(std::uint32_t u) const { return g.completes(units.first(u)) != no_index; }

  const task_graph& g;
  launch_units units;
  storage_uses uses;
  std::vector<std::uint32_t> order;           // the order that the list follows
  std::vector<std::uint32_t> rank;            // place in `order`
  std::vector<std::uint32_t> need;            // rank of the first computation that needs the unit; no_index: none does
  std::vector<std::uint32_t> compute_before;  // number of computations at lower ranks
  std::vector<std::uint32_t> blockers;  // of a collective: number of units that must be done before it may be pulled
  std::vector<std::vector<std::uint32_t>> blocks;   // the reverse
  std::vector<std::vector<std::uint32_t>> prelude;  // of a collective: light tasks and waits that lead to it, by rank
  bool by_hand;                                     // whether `order` was given by the caller

 private:
  void set_order() {
    const std::size_t n = units.size();
    for (std::uint32_t i = 0; i < n; ++i) {
      rank[order[i]] = i;
      compute_before[i + 1] = compute_before[i] + (is_compute(order[i]) ? 1 : 0);
    }
    std::fill(need.begin(), need.end(), no_index);
    for (std::size_t i = n; i-- > 0;) {
      const std::uint32_t u = order[i];
      if (is_compute(u))
        need[u] = rank[u];
      else
        for (const auto& e : units.graph().out(u)) need[u] = std::min(need[u], need[e.target]);
    }
    for (std::vector<std::uint32_t>& some : blocks) some.clear();
    std::vector<std::uint32_t> seen(n, no_index);
    for (std::uint32_t u = 0; u < n; ++u)
      if (units.is_collective(u)) find_prelude(u, seen);
  }

  /// Finds the casts and views before a collective, which are pulled with it; computations, waits and other collectives
  /// are not. Beyond a number of tasks nothing is pulled.
  void find_prelude(std::uint32_t u, std::vector<std::uint32_t>& seen) {
    const std::size_t most = 64 * units.tasks(u).size();
    std::vector<std::uint32_t> found = {u}, stops;
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const auto& e : units.graph().in(found[i])) {
        if (seen[e.source] == u) continue;
        seen[e.source] = u;
        const task_kind k = kind(e.source);
        // in a given order, work that no computation needs keeps its place
        const bool stays = by_hand && need[u] == no_index && units.costs(e.source).duration > nanoseconds(0);
        const bool pulled = k == task_kind::view || (k == task_kind::other && !stays) || k == task_kind::input;
        (pulled && found.size() <= most ? found : stops).push_back(e.source);
      }
    found.erase(found.begin());
    std::copy_if(stops.begin(), stops.end(), std::back_inserter(found), [this](auto s) { return is_wait(s); });
    std::sort(found.begin(), found.end(), [this](auto a, auto b) { return rank[a] < rank[b]; });
    for (const std::uint32_t s : stops) blocks[s].push_back(u);
    blockers[u] = static_cast<std::uint32_t>(stops.size());
    prelude[u] = std::move(found);
  }
};

}  // namespace shardweave::inline v0::detail
