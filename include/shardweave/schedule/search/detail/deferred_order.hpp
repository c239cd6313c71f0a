#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Deferral of work behind a collective that it can hide.

namespace shardweave::inline v0::detail {

/// An order in which work that a collective does not depend on stands right behind its launch, to hide it: tasks that
/// come before it with all that depends on them, the latest first, if they take longer than the load they bring to its
/// channel, and while no other channel is busy behind it for longer than the collective runs. Defers enough to hide
/// `amount`.
/// Source: the order of two machines in a row (S. M. Johnson, 1954): a job that is shorter on the second machine than
/// on the first goes last.
/// \param order  a topological order of the units
/// Complexity: O(V + E), and up to `most` (64) units per unit before the launch
[[nodiscard]] inline std::vector<std::uint32_t> deferred_order(const task_graph& g, const launch_units& units,
                                                               std::span<const std::uint32_t> order,
                                                               std::uint32_t launch, nanoseconds amount) {
  constexpr std::size_t most = 64;  // units that are deferred together
  enum class state : std::uint8_t { free, needed, put_off };
  std::vector<state> states(units.size(), state::free);
  std::vector<std::uint32_t> place(units.size()), seen(units.size(), no_index), closure;
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const std::uint32_t end = place[launch];
  states[launch] = state::needed;
  std::vector<nanoseconds> behind(g.groups().size()), more(g.groups().size());
  behind[units.channel(launch)] = units.costs(launch).duration;
  const nanoseconds runs = behind[units.channel(launch)];
  nanoseconds put_off;
  for (std::uint32_t i = end + 1; i-- > 0;) {
    const std::uint32_t u = order[i];
    if (states[u] == state::needed) {
      for (const auto& e : units.graph().in(u)) states[e.source] = state::needed;
      continue;
    }
    const auto works = [&](std::uint32_t v) {
      return !units.is_collective(v) && g.completes(units.first(v)) == no_index &&
             units.costs(v).duration > nanoseconds(0);
    };
    if (states[u] == state::put_off || !works(u) || put_off >= amount + behind[units.channel(launch)] - runs) continue;
    closure.assign(1, u);
    seen[u] = u;
    std::fill(more.begin(), more.end(), nanoseconds(0));
    nanoseconds takes;
    for (std::size_t k = 0; k < closure.size() && closure.size() <= most; ++k) {
      const std::uint32_t v = closure[k];
      if (works(v)) takes += units.costs(v).duration;
      if (units.is_collective(v)) more[units.channel(v)] += units.costs(v).duration;
      for (const auto& e : units.graph().out(v))
        if (seen[e.target] != u && states[e.target] == state::free && place[e.target] < end) {
          seen[e.target] = u;
          closure.push_back(e.target);
        }
    }
    bool pays = closure.size() <= most && takes > more[units.channel(launch)];
    for (std::uint32_t c = 0; c < more.size(); ++c)
      pays = pays && (c == units.channel(launch) || behind[c] + more[c] <= runs);
    if (!pays) continue;
    put_off += takes;
    for (std::uint32_t c = 0; c < more.size(); ++c) behind[c] += more[c];
    for (const std::uint32_t v : closure) states[v] = state::put_off;
  }
  std::vector<std::uint32_t> result;
  result.reserve(order.size());
  for (const bool later : {false, true})
    for (std::uint32_t i = 0; i <= end; ++i)
      if ((states[order[i]] == state::put_off) == later) result.push_back(order[i]);
  result.insert(result.end(), order.begin() + end + 1, order.end());
  return result;
}

}  // namespace shardweave::inline v0::detail
