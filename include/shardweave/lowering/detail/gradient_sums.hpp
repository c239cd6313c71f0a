#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/lowering/detail/part_uses.hpp>
#include <shardweave/lowering/detail/trained_parameters.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/optimizer_step.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/tasks/batch_parts.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// What micro-batches accumulate.

namespace shardweave::inline v0::detail {

/// Which results of a forward and backward part are accumulated over micro-batches, the time that takes, and which
/// tasks run on the sums only, in the last micro-batch.
struct gradient_sums {
  std::vector<char> is_last_alone;  ///< by task: whether it runs in the last micro-batch only
  std::vector<char> is_added;       ///< by task: whether its results are accumulated
  std::vector<char> needs_memory;   ///< by task: whether the sum cannot be in the first result's memory
  std::vector<nanoseconds> time;    ///< by task: time of adding the results of one micro-batch
  nanoseconds all;                  ///< sum of `time`

  /// Accumulates gradients as the part returns them, reduced.
  /// \param accumulation  time of adding all of them
  gradient_sums(const task_graph& g, const trained_parameters& parameters, nanoseconds accumulation)
      : gradient_sums(g) {
    double done = 0;
    for (const trained_layer& layer : parameters.layers())
      for (const trained_parameter& p : layer.parameters) {
        is_added[p.gradient] = 1;
        time[p.gradient] = parameters.share(accumulation, done, p.updated);
      }
    all = accumulation;
  }
  /// Accumulates the values from which only transfers, copies and conversions lead to gradients, before the first
  /// transfer.
  gradient_sums(const lowered_graph& part, const spmd_cost_model& model, const optimizer_options& options)
      : gradient_sums(part.tasks) {
    const task_graph& g = part.tasks;
    std::vector<part_use> use = uses_of_parts(part, model);
    // a conversion before the first transfer is applied to each part, and its result is accumulated
    std::vector<char> is_sent(g.size());
    for (task_index t = 0; t < g.size(); ++t) {
      if (use[t] != part_use::of_sum || g.kind(t) == task_kind::output) continue;
      is_sent[t] = part.origin[t].is_redistribution() ? 1 : 0;
      for (const task_index p : g.inputs(t)) is_sent[t] |= is_sent[p];
      if (is_sent[t] == 0) use[t] = part_use::of_part;
    }
    for (task_index t = 0; t < g.size(); ++t) {
      is_last_alone[t] = use[t] == part_use::of_sum && g.kind(t) != task_kind::output ? 1 : 0;
      for (const task_index p : g.inputs(t)) {
        if (use[p] != part_use::of_part) continue;
        const bool is_returned = g.kind(t) == task_kind::output && g.role(p) != task_role::gradient;
        if (use[t] == part_use::of_sum && !is_returned) is_added[p] = 1;
        if (use[t] == part_use::of_part || g.kind(p) == task_kind::view) needs_memory[p] = 1;
      }
    }
    constexpr double of_gradients = 4;  // bytes per element that the options assume: f32
    for (task_index t = 0; t < g.size(); ++t) {
      if (is_added[t] == 0 || !(options.accumulate_bytes > 0)) continue;
      double size = 0;
      for (std::size_t i = 0; i < g.output_count(t); ++i) size += static_cast<double>(g.output(t, i).size.count());
      const bytes moved(static_cast<std::int64_t>(size * options.accumulate_bytes / of_gradients));
      all += time[t] = from_microseconds(model.compute().memory_time(moved));
    }
  }

 private:
  explicit gradient_sums(const task_graph& g)
      : is_last_alone(g.size()), is_added(g.size()), needs_memory(g.size()), time(g.size()) {}
};

}  // namespace shardweave::inline v0::detail
