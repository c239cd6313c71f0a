#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Peak memory of a training step, in parts that may be extrapolated to more layers.

namespace shardweave::inline v0::detail {

/// Peak bytes of two parts of a step. What lies between the backward parts of the last and of the first layers is in
/// both.
struct peaks_of_parts {
  double early = 0;  ///< before the backward part of the first layers begins
  double late = 0;   ///< after that of the last layers has ended
};

/// Peak memory of a step whose layers are alike in periods: in two parts, each of which grows linearly with the number
/// of layers.
/// \param layer   by task; `no_index`: of none
/// \param period  so many neighbouring layers are like those before and after them
/// \param gradients_stay  what parameters' gradients are left in does not count
[[nodiscard]] inline peaks_of_parts peaks_of(const task_graph& g, const schedule& order,
                                             const std::vector<std::uint32_t>& layer, std::uint32_t layers,
                                             std::uint32_t period, bool gradients_stay) {
  peaks_of_parts result;
  std::vector<char> stays(g.storages().size());
  if (gradients_stay)
    for (task_index t = 0; t < g.size(); ++t)
      if (g.kind(t) == task_kind::output)
        for (const task_index p : g.inputs(t))
          for (std::size_t i = 0; i < g.output_count(p); ++i)
            if (g.role(p) == task_role::gradient && g.output_storage(p, i) != no_index)
              stays[g.output_storage(p, i)] = 1;
  const storage_uses uses = storage_uses(g).only([&](std::uint32_t storage) { return stays[storage] == 0; });
  memory_tracker memory(uses, g.storages().size());
  std::vector<std::uint32_t> bucket_of(g.size(), no_index);
  std::vector<std::size_t> waiting;
  for (const bucket& b : order.buckets) {
    for (const task_index t : b.members) bucket_of[t] = static_cast<std::uint32_t>(waiting.size());
    waiting.push_back(b.members.size());
  }
  std::vector<bool> is_unpacked(order.buckets.size());
  const std::uint32_t of_last = layers - std::min(period, layers);
  bool is_early = true, is_late = false;
  std::uint32_t reducing = no_index;  // the last bucket of reductions that was launched
  for (const task_index t : order.order) {
    if (g.when(t) != phase::forward && layer[t] != no_index && !g.is_collective(t) && g.kind(t) != task_kind::wait &&
        g.kind(t) != task_kind::input && g.role(t) != task_role::parameter) {
      is_early = is_early && layer[t] >= of_last;
      is_late = is_late || layer[t] < period;
    }
    memory.restart_peak();
    if (g.is_collective(t) && bucket_of[t] != no_index) {
      if (--waiting[bucket_of[t]] == 0) {
        if (g.collective(t).op != collective::all_gather) {  // the bucket before it is done, whenever its wait stands
          if (reducing != no_index && !is_unpacked[reducing]) memory.unpack(order.buckets[reducing]);
          if (reducing != no_index) is_unpacked[reducing] = true;
          reducing = bucket_of[t];
        }
        memory.launch(order.buckets[bucket_of[t]]);
      }
    } else {
      const task_index c = g.kind(t) == task_kind::wait ? g.completes(t) : no_index;
      if (c != no_index && bucket_of[c] != no_index && !is_unpacked[bucket_of[c]]) {
        is_unpacked[bucket_of[c]] = true;
        memory.unpack(order.buckets[bucket_of[c]]);
      }
      memory.run(t);
    }
    const auto most = static_cast<double>(memory.peak().count());
    if (is_early || !is_late) result.early = std::max(result.early, most);
    if (is_late || !is_early) result.late = std::max(result.late, most);
  }
  return result;
}

}  // namespace shardweave::inline v0::detail
