#pragma once

#include <shardweave/tasks/bucket_costs.hpp>

#include <support/random_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

/// A random valid schedule: collectives that have a wait and no other user are thrown together at random, then the
/// tasks are ordered at random. A third of the buckets are groups of calls without copies. Falls back to no buckets
/// where those close a cycle.
inline shardweave::schedule random_schedule(const shardweave::task_graph& g, shardweave::random_source& random) {
  namespace sw = shardweave;
  std::vector<bool> awaited(g.size()), foreign(g.size());
  for (sw::task_index t = 0; t < g.size(); ++t) {
    if (g.completes(t) != sw::no_index) awaited[g.completes(t)] = true;
    for (const sw::task_index p : g.inputs(t))
      if (g.completes(t) != p && g.kind(t) != sw::task_kind::output) foreign[p] = true;
  }
  std::map<std::tuple<sw::collective, std::uint32_t, std::string_view, std::string_view, std::size_t>,
           std::vector<sw::task_index>>
      together;
  for (sw::task_index t = 0; t < g.size(); ++t)
    if (g.is_collective(t) && awaited[t] && !foreign[t] && g.collective(t).op != sw::collective::all_to_all)
      together[{g.collective(t).op, g.collective(t).group, g.collective(t).dtype, g.collective(t).reduce,
                random.below(6)}]
          .push_back(t);
  sw::schedule s;
  for (auto& [key, members] : together) {
    if (members.size() < 2) continue;
    if (random.chance(0.5)) std::reverse(members.begin(), members.end());
    s.buckets.push_back(sw::make_bucket(g, members));
    s.buckets.back().coalesced = members.front() % 3 == 0;
    // keep only buckets that an order can launch at once
    sw::random_source trial(1);
    if (random_order(g, s.buckets, trial).empty()) s.buckets.pop_back();
  }
  s.order = random_order(g, s.buckets, random);
  return s;
}
