#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// No long runs of computations without a reduce-scatter between them: all that they make would be alive together.

namespace shardweave {
inline namespace v0 {

/// The most computations in a row of an order, between two launches of reduce-scatters or beside one.
/// Complexity: O(V)
[[nodiscard]] inline std::size_t computations_between_scatters(const task_graph& g, const schedule& s) {
  std::vector<std::size_t> left(s.buckets.size()), owner(g.size(), s.buckets.size());
  for (std::size_t b = 0; b < s.buckets.size(); ++b) {
    left[b] = s.buckets[b].members.size();
    for (const task_index t : s.buckets[b].members) owner[t] = b;
  }
  std::size_t most = 0, now = 0;
  for (const task_index t : s.order) {
    if (g.kind(t) == task_kind::compute) most = std::max(most, ++now);
    if (!g.is_collective(t) || g.collective(t).op != collective::reduce_scatter) continue;
    if (owner[t] == s.buckets.size() || --left[owner[t]] == 0) now = 0;
  }
  return most;
}

/// Cuts long runs of computations where the original order had a scatter. A run of more than `most` computations
/// between two scatters is taken in its original order, in pieces of `most`; each piece follows the one before it, and
/// the last scatter, or the bucket that it is in by now, that originally stood behind the beginning of that one and
/// before this one. What would close a cycle is left out, one dependency at a time, an earlier scatter taken if there
/// is one, and else recorded (`decision_reason::cycle`, the scatter and the computation, or two computations). Then
/// what is needed earlier is pulled up, and nothing else moves. The same order comes back where no run is too long;
/// nothing is promised where the original order has no scatter to cut at. The memory budget is not known here:
/// `within_memory` stays what it was.
///
/// Source: the cap on computations in AutoParallel's first bounded bucketing, by membership in place of names.
/// Complexity: O((V + E) log V), and one bounded search per dependency
/// \pre s is valid for g, most > 0
[[nodiscard]] inline schedule cap_computations(const task_graph& g, schedule s, std::size_t most = 8) {
  const launch_units units(g, s.buckets);
  const auto is_scatter = [&](std::uint32_t u) {
    return units.is_collective(u) && g.collective(units.first(u)).op == collective::reduce_scatter;
  };
  const std::vector<std::uint32_t> order = units_in_order(units, s.order);
  std::vector<task_index> scatters;  // in the original order
  for (task_index t = 0; t < g.size(); ++t)
    if (g.is_collective(t) && g.collective(t).op == collective::reduce_scatter) scatters.push_back(t);

  augmented_graph graph(units.graph(), order);
  for (const auto& [earlier, later] : s.after)
    if (units.unit_of(earlier) != units.unit_of(later)) graph.add(units.unit_of(earlier), units.unit_of(later));
  const auto refuse_one = [&](std::uint32_t earlier, std::uint32_t later) {
    s.decisions.push_back(
        {.reason = decision_reason::cycle, .subject = units.first(earlier), .other = units.first(later)});
  };
  const auto follow = [&](std::uint32_t earlier, std::uint32_t later) {
    if (!graph.add(earlier, later)) refuse_one(earlier, later);
  };
  // the next piece follows a scatter that stood before it, the later in the original order the better
  const auto separate = [&](std::uint32_t first, std::uint32_t next) {
    const auto behind = std::lower_bound(scatters.begin(), scatters.end(), units.first(next));
    const auto from = std::lower_bound(scatters.begin(), behind, units.first(first));
    for (auto at = behind; at != from; --at)
      if (graph.add(units.unit_of(*(at - 1)), next)) return;
    if (from != behind) refuse_one(units.unit_of(*from), next);
  };
  bool any = false;
  std::vector<std::uint32_t> run;
  const auto cut = [&] {
    if (run.size() > most) {
      any = true;
      std::sort(run.begin(), run.end());  // units are numbered in the original order
      for (std::size_t i = 1; i < run.size(); ++i) follow(run[i - 1], run[i]);
      for (std::size_t i = most; i < run.size(); i += most) separate(run[i - most], run[i]);
    }
    run.clear();
  };
  for (const std::uint32_t u : order) {
    if (g.kind(units.first(u)) == task_kind::compute) run.push_back(u);
    if (is_scatter(u)) cut();
  }
  cut();
  if (!any) return s;

  s.order.clear();
  const auto needs = [&](std::uint32_t u, const auto& f) { graph.for_each_dependency(u, f); };
  for (const std::uint32_t u : pulled_topological_order(order, needs))
    s.order.insert(s.order.end(), units.tasks(u).begin(), units.tasks(u).end());
  s.hides = hiding_records(g, s, simulate(g, s, {.validate = false}));
  return s;
}

}  // namespace v0
}  // namespace shardweave
