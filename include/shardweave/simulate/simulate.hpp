#pragma once

#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

/// \file
/// What a schedule takes: time to the nanosecond, memory to the byte.

namespace shardweave::inline v0 {

/// What `simulate` checks and keeps.
struct simulate_options {
  bool validate = true;         ///< refuse an invalid schedule before anything else
  bool memory_samples = false;  ///< keep the live bytes after every task
};

/// Walks the order with one compute stream and one channel per process group, by the reference rule of the
/// file formats: a collective starts when it is launched and its channel is free, a wait stalls the compute
/// stream until its collective is done, a bucket is packed before its launch and unpacked at its first wait.
///
/// \throws error of `validate_schedule`, unless switched off, and of `costs_of`
/// Complexity: O(V + E)
[[nodiscard]] timeline simulate(const task_graph& g, const schedule& s, const simulate_options& options = {});

/// The original order, as it stands.
/// \throws error if that order is not topological
[[nodiscard]] timeline simulate(const task_graph& g, const simulate_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/simulate/impl/simulate.hpp>
#endif
