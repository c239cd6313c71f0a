#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/simulate/hiding.hpp>

#include <algorithm>

/// \file
/// What hides what.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<hiding_record> hiding_records(const task_graph& g, const schedule& s,
                                                            const timeline& line) {
  const std::vector<task_index> leader = launch_leaders(g.size(), s.buckets);

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

SHARDWEAVE_INLINE std::vector<std::pair<task_index, task_index>> hiding_dependencies(const task_graph& g,
                                                                                     const schedule& s) {
  std::vector<std::vector<task_index>> members(g.size()), waits(g.size());
  const std::vector<task_index> leader = launch_leaders(g.size(), s.buckets);
  for (task_index t = 0; t < g.size(); ++t) {
    if (g.is_collective(t)) members[leader[t]].push_back(t);
    if (g.completes(t) != no_index) waits[leader[g.completes(t)]].push_back(t);
  }
  std::vector<std::pair<task_index, task_index>> pairs;
  for (const hiding_record& r : s.hides) {
    if (waits[r.collective].empty()) continue;  // nothing would be exposed
    for (const task_index t : r.behind) {
      for (const task_index m : members[r.collective]) pairs.emplace_back(m, t);
      for (const task_index w : waits[r.collective]) pairs.emplace_back(t, w);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace shardweave::inline v0
