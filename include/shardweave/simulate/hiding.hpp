#pragma once

#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <utility>
#include <vector>

/// \file
/// What hides what, read off a timeline, and what keeps it so.

namespace shardweave::inline v0 {

/// A record for each launched collective, and for each bucket under its first member, in launch order:
/// the tasks of the compute stream that run while it does, for how long they do, and for how long the
/// compute stream stalls at its waits. Collectives that run beside each other on different channels may be
/// hidden by the same tasks.
/// \pre `line` is of this graph and schedule
/// Complexity: O(V log V + records)
[[nodiscard]] std::vector<hiding_record> hiding_records(const task_graph& g, const schedule& s, const timeline& line);

/// What keeps hidden what the records say, under any reordering: each launch before all that hides it, and that before
/// its waits. Earlier, later, as in `schedule::after`; without repeats, ascending.
/// \pre s.hides is that of `hiding_records`
/// Complexity: O(n log n) for n = sum over the records of tasks that hide times members and waits
[[nodiscard]] std::vector<std::pair<task_index, task_index>> hiding_dependencies(const task_graph& g,
                                                                                 const schedule& s);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/simulate/impl/hiding.hpp>
#endif
