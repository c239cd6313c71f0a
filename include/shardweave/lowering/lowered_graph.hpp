#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <vector>

/// \file
/// What lowering gives: a task graph that knows where its tasks come from.

namespace shardweave::inline v0 {

/// The operation for which a task was made.
struct task_origin {
  /// "The operation itself", not the way of an argument to it.
  static constexpr std::uint32_t own_work = no_index;

  std::uint32_t operation = 0;        ///< index in the computation
  std::uint32_t argument = own_work;  ///< which argument the task brings; of a shared way, the first user's
  bool again = false;                 ///< done once more for the backward phase (`regather_parameters`)
  [[nodiscard]] bool is_redistribution() const { return argument != own_work; }
  friend bool operator==(const task_origin&, const task_origin&) = default;
};

/// What is shared, made again and counted as memory when a plan becomes tasks.
struct lowering_options {
  /// A value redistributed alike for several users is redistributed once. Across the border between forward
  /// and backward that would keep gathered parameters and activations alive in between, so there each phase
  /// does its own, unless this is set.
  bool share_across_phases = false;
  /// Values of the forward phase that depend on one parameter alone, and for which it was redistributed, are
  /// made again for the backward phase, from the parameter's shards, rather than kept alive in between. That
  /// is what sharded data parallelism usually does; it takes time that no placement cost contains.
  bool regather_parameters = false;
  /// The result of a wait is the memory of its collective. Off, it counts as memory of its own, as
  /// task graphs captured from compilers have it: gathered values then count twice while the wait runs.
  bool wait_shares_storage = false;
  /// Tables of collective times get so many points for each doubling of the size.
  int table_points_per_octave = 4;
  /// Tables reach this size, or what all collectives of their kind move together if that is more.
  bytes table_limit = gibibytes(1);
};

/// Task `t` was made for `origin[t].operation`; operation `v` is done by task `task_of[v]`, or ends with it, if it is
/// done in blocks.
struct lowered_graph {
  task_graph tasks;
  std::vector<task_origin> origin;
  std::vector<task_index> task_of;

  /// Durations of what operations do themselves: the compute part of the placement's cost, and what is done again.
  [[nodiscard]] nanoseconds compute_time() const { return sum(false); }
  /// Durations of collectives and of the copies around them: the communication part of the placement's cost, less
  /// what was saved by doing equal redistributions once, and what is done again.
  [[nodiscard]] nanoseconds communication_time() const { return sum(true); }

 private:
  [[nodiscard]] nanoseconds sum(bool redistribution) const {
    nanoseconds total;
    for (task_index t = 0; t < origin.size(); ++t)
      if (origin[t].is_redistribution() == redistribution) total += tasks.duration(t);
    return total;
  }
};

}  // namespace shardweave::inline v0
