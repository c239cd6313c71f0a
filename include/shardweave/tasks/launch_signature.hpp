#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/tasks/content_hash.hpp>
#include <shardweave/tasks/detail/lower_median.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// \file
/// How ranks come to launch the same: durations on which they agree, and numbers by which they find out.

namespace shardweave::inline v0 {

/// One number per channel: a hash of what is launched on it in the order of the schedule, each launch with operation,
/// dtype, reduction, and the sizes of its members in the order in which they are packed. Names do not count, nor does
/// what other channels do. Ranks of a process group that find different numbers for it must not run these schedules:
/// their collectives would wait for each other for ever.
/// \pre s is valid for g
/// Complexity: O(V)
[[nodiscard]] inline std::vector<std::uint64_t> launch_signature(const task_graph& g, const schedule& s) {
  std::vector<detail::content_hasher> channels(g.groups().size());
  const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
  std::vector<std::size_t> left;
  for (const bucket& b : s.buckets) left.push_back(b.members.size());
  const auto add = [&](detail::content_hasher& h, task_index t) {
    h.add(g.collective(t).bytes_in.count());
    h.add(g.collective(t).bytes_out.count());
  };
  for (const task_index t : s.order) {
    if (!g.is_collective(t)) continue;
    const bool bucketed = owner[t] != no_index;
    if (bucketed && --left[owner[t]] > 0) continue;  // launched with its last member
    const collective_info c = g.collective(t);
    detail::content_hasher& h = channels[c.group];
    h.add(name_of(c.op));
    if (c.op == collective::other) h.add(g.op(t));
    h.add(c.dtype);
    h.add(c.reduce);
    h.add(static_cast<std::int64_t>(bucketed ? s.buckets[owner[t]].members.size() : 1));
    if (!bucketed) add(h, t);
    if (bucketed && s.buckets[owner[t]].coalesced) h.add("coalesced");
    if (bucketed)
      for (const task_index m : s.buckets[owner[t]].members) add(h, m);
  }
  std::vector<std::uint64_t> numbers;
  for (const detail::content_hasher& h : channels) numbers.push_back(h.value());
  return numbers;
}

/// What one rank believes its tasks take.
struct rank_durations {
  std::uint64_t tasks = 0;  ///< a hash of names, operations and kinds: what must be the same on all ranks
  std::vector<nanoseconds> durations = {};
  friend bool operator==(const rank_durations&, const rank_durations&) = default;
};

/// The durations of a graph's tasks, with the hash by which `with_agreed_durations` compares ranks.
/// Complexity: O(V)
[[nodiscard]] inline rank_durations durations_of(const task_graph& g) {
  detail::content_hasher tasks;
  rank_durations all;
  for (task_index t = 0; t < g.size(); ++t) {
    tasks.add(g.name_of(t));
    tasks.add(g.op(t));
    tasks.add(to_string(g.kind(t)));
    all.durations.push_back(g.duration(t));
  }
  all.tasks = tasks.value();
  return all;
}

/// The graph with durations on which all ranks agree: task by task the lower median of theirs. Ranks measure
/// differently, and would otherwise decide differently.
/// \throws error naming the rank whose tasks are not those of the graph
/// Complexity: O(V ranks)
[[nodiscard]] inline task_graph with_agreed_durations(const task_graph& g, std::span<const rank_durations> ranks) {
  const rank_durations own = durations_of(g);
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r].tasks != own.tasks || ranks[r].durations.size() != g.size())
      refuse(error_category::input, "tasks differ across ranks: those of rank " + std::to_string(r) +
                                        " have other names, operations or kinds than those of the graph");
  if (ranks.empty()) return g;
  std::vector<nanoseconds> agreed, one(ranks.size());
  for (task_index t = 0; t < g.size(); ++t) {
    for (std::size_t r = 0; r < ranks.size(); ++r) one[r] = ranks[r].durations[t];
    agreed.push_back(detail::lower_median(one));
  }
  return g.with_durations(agreed);
}

}  // namespace shardweave::inline v0
