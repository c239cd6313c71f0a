#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

/// \file
/// What hides what, read off a timeline.

namespace shardweave {
inline namespace v0 {

/// A record for each launched collective, and for each bucket under its first member, in launch order:
/// the tasks of the compute stream that run while it does, for how long they do, and for how long the
/// compute stream stalls at its waits. Collectives that run beside each other on different channels may be
/// hidden by the same tasks.
/// \pre `line` is of this graph and schedule
/// Complexity: O(V log V + records)
[[nodiscard]] inline std::vector<hiding_record> hiding_records(const task_graph& g, const schedule& s,
                                                               const timeline& line) {
  std::vector<task_index> leader(g.size());
  for (task_index t = 0; t < g.size(); ++t) leader[t] = t;
  for (const bucket& b : s.buckets)
    for (const task_index t : b.members) leader[t] = b.members.front();

  std::vector<task_index> working;  // on the compute stream, by time
  std::vector<nanoseconds> exposed(g.size());
  for (const task_index t : s.order) {
    if (g.is_collective(t)) continue;
    if (g.kind(t) != task_kind::wait) {
      if (line.end[t] > line.start[t]) working.push_back(t);
    } else if (g.completes(t) != no_index) {
      exposed[leader[g.completes(t)]] += line.end[t] - line.start[t];
    }
  }

  std::vector<hiding_record> records;
  std::vector<bool> listed(g.size());
  for (const task_index t : s.order) {
    if (!g.is_collective(t) || listed[leader[t]]) continue;
    listed[leader[t]] = true;
    hiding_record record{.collective = leader[t], .exposed = exposed[leader[t]]};
    const nanoseconds start = line.start[t], end = line.end[t];
    auto at = std::partition_point(working.begin(), working.end(), [&](task_index w) { return line.end[w] <= start; });
    for (; at != working.end() && line.start[*at] < end; ++at) {
      record.behind.push_back(*at);
      record.hidden += std::min(end, line.end[*at]) - std::max(start, line.start[*at]);
    }
    records.push_back(std::move(record));
  }
  std::stable_sort(records.begin(), records.end(), [&](const hiding_record& a, const hiding_record& b) {
    return line.start[a.collective] < line.start[b.collective];
  });
  return records;
}

}  // namespace v0
}  // namespace shardweave
