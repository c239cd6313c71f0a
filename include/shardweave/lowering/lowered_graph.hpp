#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <vector>

/// \file
/// The result of lowering: a task graph, and the operation that each task comes from.

namespace shardweave::inline v0 {

/// The operation for which a task was made.
struct task_origin {
  /// The operation itself, not the redistribution of an argument.
  static constexpr std::uint32_t own_work = no_index;

  std::uint32_t operation = 0;  ///< index in the computation
  /// The argument that the task redistributes; of a shared redistribution, that of the first consumer.
  std::uint32_t argument = own_work;
  bool again = false;  ///< a repetition for the backward phase (`regather_parameters`)
  [[nodiscard]] bool is_redistribution() const { return argument != own_work; }
  friend bool operator==(const task_origin&, const task_origin&) = default;
};

/// Options of lowering: sharing of redistributions, regathering, and memory of collectives.
struct lowering_options {
  /// Whether a redistribution that consumers share may serve both phases. Otherwise the forward and the backward phase
  /// each do their own, since sharing would keep gathered parameters and activations live in between.
  bool share_across_phases = false;
  /// Whether values of the forward phase that depend on a single parameter, and for which that was redistributed, are
  /// recomputed for the backward phase from the parameter's shards, and not kept. Sharded data parallelism usually does
  /// so; the time is not part of any placement cost.
  bool regather_parameters = false;
  /// Whether the result of a wait shares the storage of its collective. Otherwise it has its own, as in task graphs
  /// captured from compilers: gathered values then count twice while the wait runs.
  bool wait_shares_storage = false;
  /// Points of the tables of collective times per doubling of the size.
  int table_points_per_octave = 4;
  /// The least size that tables reach; more if all collectives of a kind together move more.
  bytes table_limit = gibibytes(1);
};

/// Task `t` comes from operation `origin[t].operation`; `task_of[v]` is the task of operation `v`, or the last one if
/// `v` is computed in blocks.
struct lowered_graph {
  task_graph tasks;
  std::vector<task_origin> origin;
  std::vector<task_index> task_of;

  /// Durations of the operations' own tasks, added up: the computation part of the placement's cost, plus repetitions.
  [[nodiscard]] nanoseconds compute_time() const { return sum(false); }
  /// Durations of collectives and of copies around them, added up: the communication part of the placement's cost, less
  /// what sharing of equal redistributions saves, plus repetitions.
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
