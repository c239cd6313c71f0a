#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// \file
/// What is held at a time.

namespace shardweave {
inline namespace v0 {

SHARDWEAVE_INLINE storage_uses::storage_uses(const task_graph& g)
    : size_(g.storages().size()),
      users_(size_.size()),
      releasable_(size_.size(), true),
      baseline_(g.memory_baseline()) {
  for (std::size_t s = 0; s < size_.size(); ++s)
    if (g.storages()[s].device == storage_device::gpu) size_[s] = g.storages()[s].size;
  std::vector<task_index> marked(size_.size(), no_index);
  for (task_index t = 0; t < g.size(); ++t) {
    for (std::size_t i = 0; i < g.output_count(t); ++i) {
      const std::uint32_t s = g.output_storage(t, i);
      if (s == no_index || g.storages()[s].device != storage_device::gpu) continue;
      listed_.push_back(s);
      if (g.kind(t) != task_kind::input) continue;
      initial_.push_back(s);
      if (g.name_of(t).starts_with("primals")) releasable_[s] = false;
    }
    listed_start_.push_back(static_cast<std::uint32_t>(listed_.size()));
  }
  for (task_index t = 0; t < g.size(); ++t) {
    for (const task_index p : g.inputs(t))
      for (const std::uint32_t s : listed(p)) {
        if (marked[s] == t) continue;
        marked[s] = t;
        used_.push_back(s);
        ++users_[s];
      }
    used_start_.push_back(static_cast<std::uint32_t>(used_.size()));
    keeps_.push_back(g.kind(t) == task_kind::output);
  }
}

}  // namespace v0
}  // namespace shardweave
