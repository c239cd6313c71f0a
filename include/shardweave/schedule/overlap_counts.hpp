#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Counts of collectives that can be hidden, and that are.

namespace shardweave::inline v0 {

/// Per unit, whether it is a collective that could be hidden: some computation is independent of it, so that both may
/// run concurrently. All others precede or follow every computation in any order.
/// Complexity: O((V + E) computations / 64), less if such computations are found early; O(V) memory
[[nodiscard]] inline std::vector<bool> potentially_hidden(const task_graph& g, const launch_units& units) {
  std::vector<bool> found(units.size());
  std::vector<std::uint32_t> open, computations;
  for (const std::uint32_t u : units.order()) {
    if (g.kind(units.first(u)) == task_kind::compute) computations.push_back(u);
    if (units.is_collective(u)) open.push_back(u);
  }
  // per unit: which of a block of 64 computations it depends on, or that depend on it
  std::vector<std::uint64_t> before(units.size()), behind(units.size());
  for (std::size_t from = 0; from < computations.size() && !open.empty(); from += 64) {
    const std::size_t to = std::min(from + 64, computations.size());
    std::fill(before.begin(), before.end(), 0);
    std::fill(behind.begin(), behind.end(), 0);
    for (std::size_t i = from; i < to; ++i)
      before[computations[i]] = behind[computations[i]] = std::uint64_t{1} << (i - from);
    const auto order = units.order();
    for (const std::uint32_t u : order)
      for (const auto& e : units.graph().in(u)) before[u] |= before[e.source];
    for (std::size_t i = order.size(); i-- > 0;)
      for (const auto& e : units.graph().out(order[i])) behind[order[i]] |= behind[e.target];
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - (to - from));
    std::erase_if(open, [&](std::uint32_t u) {
      if ((before[u] | behind[u]) == all) return false;
      found[u] = true;
      return true;
    });
  }
  return found;
}

/// Launches by how much of them is hidden, according to records of the simulator or of a scheduler.
struct overlap_counts {
  std::size_t collectives = 0;
  std::size_t fully_exposed = 0;       ///< of nonzero duration, with nothing hidden
  std::size_t fully_hidden = 0;        ///< nothing exposed
  std::size_t potentially_hidden = 0;  ///< could be hidden (`shardweave::potentially_hidden`)
  std::size_t missed = 0;              ///< could be hidden, but are fully exposed
  nanoseconds exposed;
  nanoseconds hideable_exposed;  ///< of those that could be hidden
};

/// \pre units are those of the buckets that the records speak of
/// Complexity: that of `potentially_hidden`, and O(records)
[[nodiscard]] inline overlap_counts counts_of_overlap(const task_graph& g, const launch_units& units,
                                                      std::span<const hiding_record> hides) {
  const std::vector<bool> could = potentially_hidden(g, units);
  overlap_counts counts;
  for (const hiding_record& r : hides) {
    const bool exposed = r.hidden == nanoseconds(0) && r.exposed > nanoseconds(0);
    const bool can = could[units.unit_of(r.collective)];
    ++counts.collectives;
    counts.fully_exposed += exposed;
    counts.fully_hidden += r.exposed == nanoseconds(0);
    counts.potentially_hidden += can;
    counts.missed += can && exposed;
    counts.exposed += r.exposed;
    if (can) counts.hideable_exposed += r.exposed;
  }
  return counts;
}
/// The same for a schedule. \pre s is valid for g
[[nodiscard]] inline overlap_counts counts_of_overlap(const task_graph& g, const schedule& s) {
  return counts_of_overlap(g, launch_units(g, s.buckets), s.hides);
}

/// The most computations of an order without a launch of a reduce-scatter in between: their results are live together.
/// Complexity: O(V)
[[nodiscard]] inline std::size_t computations_between_scatters(const task_graph& g, const schedule& s) {
  const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
  std::vector<std::size_t> left;
  for (const bucket& b : s.buckets) left.push_back(b.members.size());
  std::size_t most = 0, now = 0;
  for (const task_index t : s.order) {
    if (g.kind(t) == task_kind::compute) most = std::max(most, ++now);
    if (!g.is_collective(t) || g.collective(t).op != collective::reduce_scatter) continue;
    if (owner[t] == no_index || --left[owner[t]] == 0) now = 0;
  }
  return most;
}

}  // namespace shardweave::inline v0
