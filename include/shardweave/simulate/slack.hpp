#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// What more time of a task would cost the step.

namespace shardweave::inline v0 {

/// How much longer each task may take before the step ends later, in this order and with these buckets: if one takes
/// `d` longer and all else what it did, the step ends later by what of `d` is above its slack. Members of a bucket have
/// the slack of its launch, a wait that of a stall in its place.
/// \pre `line` is what `simulate` gives for this graph and schedule
/// \returns by task, none below 0
/// Complexity: O(V)
/// Source: total float of the critical path method, with the launches of a channel in their order.
[[nodiscard]] inline std::vector<nanoseconds> slacks_of(const task_graph& g, const schedule& s, const timeline& line) {
  const nanoseconds end = line.end_to_end;
  std::vector<nanoseconds> slack(g.size()),
      latest(g.size(), end);                                 // when a launch must be over, under its first member
  std::vector<nanoseconds> channel(g.groups().size(), end);  // when it must be free for what comes behind
  const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
  std::vector<bool> is_launched(s.buckets.size()), is_unpacked(s.buckets.size());
  std::vector<task_index> first_wait(s.buckets.size(), no_index);
  const std::vector<task_index> leader = launch_leaders(g.size(), s.buckets);
  for (const task_index t : s.order) {
    const task_index c = g.is_collective(t) ? no_index : g.completes(t);
    if (c == no_index || owner[c] == no_index || is_unpacked[owner[c]]) continue;
    is_unpacked[owner[c]] = true;
    first_wait[owner[c]] = t;
  }
  nanoseconds late = end;  // when the compute stream must have come so far
  for (std::size_t at = s.order.size(); at-- > 0;) {
    const task_index t = s.order[at];
    if (!g.is_collective(t)) {
      const task_index c = g.completes(t);
      if (c != no_index && owner[c] != no_index && first_wait[owner[c]] == t)
        late -= line.buckets[owner[c]].unpack_end - line.buckets[owner[c]].unpack_start;
      slack[t] = late - line.end[t];
      if (c != no_index) {
        latest[leader[c]] = std::min(latest[leader[c]], late);
      } else if (g.kind(t) != task_kind::wait) {  // one that completes nothing takes no time either
        late -= g.duration(t);
      }
      continue;
    }
    const std::uint32_t b = owner[t];
    if (b != no_index && is_launched[b]) continue;  // by its last member
    const task_index c = leader[t];
    nanoseconds& free = channel[g.collective(t).group];
    free = std::min(latest[c], free);
    latest[c] = free;
    slack[c] = free - line.end[c];
    free -= line.end[c] - line.start[c];
    late = std::min(late, free);
    if (b == no_index) continue;
    is_launched[b] = true;
    late -= costs_of(g, s.buckets[b]).pack;
  }
  for (const bucket& b : s.buckets)
    for (const task_index t : b.members) slack[t] = slack[b.members.front()];
  return slack;
}

}  // namespace shardweave::inline v0
