#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// Why no order of a task graph ends before a time, as data about the graph as it is stated.

namespace shardweave::inline v0 {

/// A piece of work on the compute stream or on a channel, by number: 3 t is task t itself, of a collective its launch
/// (of a bucket: packing); 3 t + 1 is a collective's run on its channel, 3 t + 2 a bucket's unpacking. A bucket stands
/// under the first of its members in the order of the graph.
using activity_number = std::uint32_t;

/// Work of one machine, all of which comes before one activity (or, backward, after it): that begins no earlier than
/// the first of the work can, all of it and the least way from there take.
struct order_join {
  activity_number activity = 0;
  std::vector<activity_number> work = {};
};

/// Work that leads to a collective (or, backward, follows it).
struct order_job {
  task_index collective = no_index;
  std::vector<activity_number> work = {};
};

/// The compute stream and a channel as two machines in a row, around one collective: what leads to it is done before it
/// is launched, and so is the work for each other collective that runs before it; the others run after it. Backward,
/// the same with time reversed.
struct order_row {
  task_index collective = no_index;
  bool backward = false;
  std::vector<order_job> jobs = {};  ///< of the collective itself, of others of its channel, and of one more channel
  /// Of the three sums that the end is no less than: all work of the stream, what stands before the collective with it
  /// and its channel after it, the same with the other channel after it. None: the jobs by Johnson's rule.
  std::vector<std::int64_t> weights = {};
};

/// A proof that no valid order ends before `lower_bound` by the reference timing: with exactly these buckets, or with
/// whatever buckets that are packed. Either `together` or `row` concludes.
struct order_certificate {
  nanoseconds lower_bound = {};
  std::optional<std::vector<bucket>> buckets = std::nullopt;  ///< nothing: with any; their sums need not be filled in
  std::vector<order_join> heads = {};                         ///< what activities begin after, beyond chains
  std::vector<order_join> tails = {};                         ///< what they end before
  std::vector<activity_number> together = {};  ///< of one machine: before, during and after them is the bound
  std::optional<order_row> row = std::nullopt;
};

/// Proofs about one task graph, as a file has them.
struct order_certificates {
  std::string problem = {};         ///< the graph's name, for people
  bool of_fused_durations = false;  ///< of the graph with `task_graph::fused_durations`
  std::vector<order_certificate> proofs = {};
};

}  // namespace shardweave::inline v0
