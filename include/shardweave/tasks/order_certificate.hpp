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

/// Activities (`work`) of one machine, the compute stream or a channel, that all precede `activity`. It begins no
/// earlier than the sum of the least of their heads, the time of all of them, and the least of the longest chains from
/// each of them to it. In `tails`, the same with time reversed.
struct order_join {
  activity_number activity = 0;
  std::vector<activity_number> work = {};
};

/// Work that leads to a collective (or, backward, follows it).
struct order_job {
  task_index collective = no_index;
  std::vector<activity_number> work = {};
};

/// The compute stream and a channel as the two machines of a flow shop, around one collective. Before it is launched
/// runs the work that leads to it, and for each other collective that runs before it the work that leads to that one;
/// the remaining collectives run after it. Backward: the same with time reversed.
struct order_row {
  task_index collective = no_index;
  bool backward = false;
  std::vector<order_job> jobs = {};  ///< of the collective itself, of others of its channel, and of one more channel
  /// Weights, 0 to 1,000,000 and not all 0, of three lower bounds on the end, of which the weighted mean is proven: all
  /// work of the stream; its work before the collective, then this and the later ones of its channel; its work before
  /// the collective, then the later ones of the other channel. Empty: one channel only, by Johnson's rule.
  std::vector<std::int64_t> weights = {};
};

/// A proof that no valid order ends before `lower_bound` by the reference timing: with exactly these buckets, or with
/// whatever buckets that are packed. Either `together` or `row` concludes.
struct order_certificate {
  nanoseconds lower_bound = {};
  std::optional<std::vector<bucket>> buckets = std::nullopt;  ///< nothing: with any; their sums need not be filled in
  std::vector<order_join> heads = {};                         ///< begins of activities, where later than by chains
  std::vector<order_join> tails = {};                         ///< the same with time reversed
  /// Activities of one machine: least head + time of all of them + least tail is the bound.
  std::vector<activity_number> together = {};
  std::optional<order_row> row = std::nullopt;
};

/// Proofs about one task graph, as a file has them.
struct order_certificates {
  std::string problem = {};         ///< the graph's name, for people
  bool of_fused_durations = false;  ///< of the graph with `task_graph::fused_durations`
  std::vector<order_certificate> proofs = {};
};

}  // namespace shardweave::inline v0
