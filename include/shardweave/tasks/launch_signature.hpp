#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/content_hash.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Numbers by which ranks find out whether they launch the same.

namespace shardweave {
inline namespace v0 {

/// One number per channel: a hash of what is launched on it in the order of the schedule, each launch with operation,
/// dtype, reduction, and the sizes of its members in the order in which they are packed. Names do not count, nor does
/// what other channels do. Ranks of a process group that find different numbers for it must not run these schedules:
/// their collectives would wait for each other for ever.
/// \pre s is valid for g
/// Complexity: O(V)
[[nodiscard]] inline std::vector<std::uint64_t> launch_signature(const task_graph& g, const schedule& s) {
  std::vector<detail::content_hasher> channels(g.groups().size());
  std::vector<std::size_t> owner(g.size(), s.buckets.size()), left;
  for (std::size_t b = 0; b < s.buckets.size(); ++b) {
    left.push_back(s.buckets[b].members.size());
    for (const task_index t : s.buckets[b].members) owner[t] = b;
  }
  const auto add = [&](detail::content_hasher& h, task_index t) {
    h.add(g.collective(t).bytes_in.count());
    h.add(g.collective(t).bytes_out.count());
  };
  for (const task_index t : s.order) {
    if (!g.is_collective(t)) continue;
    const bool bucketed = owner[t] < s.buckets.size();
    if (bucketed && --left[owner[t]] > 0) continue;  // launched with its last member
    const collective_info c = g.collective(t);
    detail::content_hasher& h = channels[c.group];
    h.add(c.op);
    h.add(c.dtype);
    h.add(c.reduce);
    h.add(static_cast<std::int64_t>(bucketed ? s.buckets[owner[t]].members.size() : 1));
    if (!bucketed) add(h, t);
    if (bucketed)
      for (const task_index m : s.buckets[owner[t]].members) add(h, m);
  }
  std::vector<std::uint64_t> numbers;
  for (const detail::content_hasher& h : channels) numbers.push_back(h.value());
  return numbers;
}

}  // namespace v0
}  // namespace shardweave
