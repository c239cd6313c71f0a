#pragma once

#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <utility>
#include <vector>

/// \file
/// What hides what, read off a timeline, and what keeps it so.

namespace shardweave::inline v0 {

/// A record for each launched collective, and for each bucket under its first member, in the order in which they start
/// on their channels: the tasks of the compute stream that run meanwhile, how long they do, and how long the compute
/// stream stalls at its waits (not `timeline::tail`, for which nothing waits). Collectives that run concurrently on
/// different channels may be hidden by the same tasks.
/// \pre `line` is of this graph and schedule
/// Complexity: O(V log V + records)
[[nodiscard]] std::vector<hiding_record> hiding_records(const task_graph& g, const schedule& s, const timeline& line);

/// Dependencies that keep hidden what the records say, whatever else is reordered: a launch precedes all tasks that
/// hide it, and these precede its waits; a launch without waits has none. Pairs (earlier, later) as in
/// `schedule::after`, ascending, each once.
/// \pre s.hides is that of `hiding_records`
/// Complexity: O(n log n) for n = sum over the records of tasks that hide times members and waits
[[nodiscard]] std::vector<std::pair<task_index, task_index>> hiding_dependencies(const task_graph& g,
                                                                                 const schedule& s);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/simulate/impl/hiding.hpp>
#endif
