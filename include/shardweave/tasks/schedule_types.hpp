#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What bucketing and scheduling decide: buckets, order, records of what hides what, and why not.

namespace shardweave::inline v0 {

/// Collectives that are launched as one: two or more of one operation, group, reduction and dtype. The
/// order of members is the order in which they are packed.
struct bucket {
  std::vector<task_index> members = {};
  std::uint32_t channel = 0;  ///< position of their group in `task_graph::groups()`
  bytes bytes_in = {};        ///< sums over the members
  bytes bytes_out = {};
  /// Launched as one group of calls on the members' own buffers: nothing is copied. Not part of the reference rule,
  /// by which every bucket is packed.
  bool coalesced = false;
  friend bool operator==(const bucket&, const bucket&) = default;
};

/// Of each task the first member of its bucket, under which its launch is recorded; itself if it is in none.
/// \pre members are among the tasks
/// Complexity: O(tasks)
[[nodiscard]] inline std::vector<task_index> launch_leaders(std::size_t tasks, std::span<const bucket> buckets) {
  std::vector<task_index> leader(tasks);
  std::iota(leader.begin(), leader.end(), task_index{0});
  for (const bucket& b : buckets)
    for (const task_index t : b.members) leader[t] = b.members.front();
  return leader;
}

/// The position of each task's bucket; `no_index` of those in none.
/// \pre members are among the tasks
/// Complexity: O(tasks)
[[nodiscard]] inline std::vector<std::uint32_t> bucket_of_tasks(std::size_t tasks, std::span<const bucket> buckets) {
  std::vector<std::uint32_t> owner(tasks, no_index);
  for (std::uint32_t b = 0; b < buckets.size(); ++b)
    for (const task_index t : buckets[b].members) owner[t] = b;
  return owner;
}

/// Why something was not done.
enum class decision_reason : std::uint8_t {
  dependency,       ///< one needs the other's result
  cycle,            ///< merging would close a cycle through other buckets
  byte_cap,         ///< the bucket would grow beyond its cap
  foreign_user,     ///< something other than its wait and the output uses the collective
  no_wait,          ///< nothing waits for the collective
  unpriced,         ///< no duration table prices the merged collective
  no_gain,          ///< the copies would cost more than the merged collective saves
  alone,            ///< no partner of the same key was left
  memory_limit,     ///< memory would not suffice
  in_flight_limit,  ///< too many bytes would be in flight
  distance_limit,   ///< too far ahead of its first use, or behind the first member of its bucket
  not_mergeable,    ///< collectives of this operation are launched alone
  other_role,       ///< it moves something else than what is bucketed: neither parameters nor their gradients
  other_group,      ///< collectives of this group are not bucketed
  overlap           ///< something that is hidden would be exposed
};

/// The name that files use, for example "byte_cap".
[[nodiscard]] constexpr std::string_view to_string(decision_reason reason) {
  constexpr std::string_view names[] = {"dependency",   "cycle",           "byte_cap",       "foreign_user",
                                        "no_wait",      "unpriced",        "no_gain",        "alone",
                                        "memory_limit", "in_flight_limit", "distance_limit", "not_mergeable",
                                        "other_role",   "other_group",     "overlap"};
  return names[static_cast<std::size_t>(reason)];
}

/// One refusal, as data.
struct decision {
  decision_reason reason = decision_reason::dependency;
  task_index subject = no_index;  ///< the collective that was refused
  task_index other = no_index;    ///< what stood in the way: a member, a user; `no_index` if nothing did
  std::int64_t found = 0;         ///< of limits: the amount it would have been
  std::int64_t limit = 0;         ///< of limits: the amount allowed
  friend bool operator==(const decision&, const decision&) = default;
};

/// How far one launched collective (or bucket, under its first member) is hidden, and behind what.
struct hiding_record {
  task_index collective = no_index;
  std::vector<task_index> behind = {};  ///< tasks of the compute stream that run while it does
  nanoseconds hidden = {};
  nanoseconds exposed = {};
  friend bool operator==(const hiding_record&, const hiding_record&) = default;
};

/// A named figure that a policy reports of its own work.
struct statistic {
  std::string name = {};
  double value = 0;
  friend bool operator==(const statistic&, const statistic&) = default;
};

/// What a bucketing policy gives. No task is in two buckets, and the task graph with each bucket drawn
/// together into one vertex has no cycle.
struct bucketing_result {
  std::vector<bucket> buckets = {};
  std::vector<decision> decisions = {};
  friend bool operator==(const bucketing_result&, const bucketing_result&) = default;
};

/// What a scheduler gives. `validate_schedule` (simulate/) tells what makes one valid.
struct schedule {
  std::vector<task_index> order = {};
  std::vector<bucket> buckets = {};
  std::vector<std::pair<task_index, task_index>> after = {};  ///< added dependencies: earlier, later
  std::vector<hiding_record> hides = {};
  std::vector<decision> decisions = {};
  std::vector<statistic> statistics = {};
  bool within_memory = true;  ///< false: no order within the memory budget was found; this is the best one
  friend bool operator==(const schedule&, const schedule&) = default;
};

}  // namespace shardweave::inline v0
