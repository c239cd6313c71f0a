#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/tasks/memory_tracker.hpp>

/// \file
/// What is held at a time.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE storage_uses::storage_uses(const task_graph& g, storage_device where)
    : size_(g.storages().size()), users_(size_.size()), releasable_(size_.size(), true) {
  for (std::size_t s = 0; s < size_.size(); ++s)
    if (g.storages()[s].device == where) size_[s] = g.storages()[s].size;
  std::vector<task_index> marked(size_.size(), no_index);
  for (task_index t = 0; t < g.size(); ++t) {
    for (std::size_t i = 0; i < g.output_count(t); ++i) {
      const std::uint32_t s = g.output_storage(t, i);
      if (s == no_index || g.storages()[s].device != where) continue;
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
  baseline_ = where == storage_device::gpu ? g.memory_baseline() : size_of_initial();
}

SHARDWEAVE_INLINE bytes storage_uses::size_of_initial() const {
  std::vector<bool> counted(size_.size());
  bytes sum;
  for (const std::uint32_t s : initial_) {
    if (!counted[s]) sum += size_[s];
    counted[s] = true;
  }
  return sum;
}

}  // namespace shardweave::inline v0
