#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/fusion_group.hpp>
#include <shardweave/lowering/fused_kernels.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Definition of `with_fused_kernels`.

namespace shardweave::inline v0 {

namespace detail {

class kernel_fusion {
 public:
  kernel_fusion(const task_graph& g, std::span<const std::uint32_t> module_of)
      : g_(g), module_of_(module_of), level_(g.size()), parent_(g.size()), real_(g.size()) {
    for (task_index t = 0; t < g.size(); ++t) parent_[t] = t;
  }

  [[nodiscard]] task_graph write(const compute_profile& compute) {
    join();
    const std::vector<char> leaves = seen_outside();
    std::vector<fusion_group> work(g_.size());
    std::vector<task_index> last(g_.size(), no_index);
    std::vector<std::uint32_t> members(g_.size());
    for (task_index t = 0; t < g_.size(); ++t) {
      if (!fuses(t)) continue;
      const task_index k = kernel_of(t);
      last[k] = t;
      ++members[k];
      for (const task_index p : g_.inputs(t))
        if (!inside(p, k)) work[k].reads(storage_key(p), size_of(p));
      work[k].writes(storage_key(t), size_of(t), leaves[t] != 0);
    }
    task_graph_builder b = task_graph_builder::like(g_);
    for (task_index t = 0; t < g_.size(); ++t) {
      task_record r = g_.record(t);
      const task_index source = real(t);
      const bool hidden = fuses(source) && members[kernel_of(source)] > 1 && leaves[source] == 0;
      if (hidden)
        for (output_record& o : r.outputs) o.storage = no_index;
      if (fuses(t) && members[kernel_of(t)] > 1)
        r.duration = last[kernel_of(t)] == t ? from_microseconds(compute.memory_time(work[kernel_of(t)].work().moved))
                                             : nanoseconds();
      b.add_task(r);
    }
    return std::move(b).build();
  }

 private:
  [[nodiscard]] bool fuses(task_index t) const {
    if (g_.kind(t) != task_kind::other || g_.duration(t) <= nanoseconds()) return false;
    if (!module_of_.empty() && module_of_[t] == no_index) return false;
    const std::string_view op = g_.op(t);
    return op != "copy" && op != "quantize" && op != "embedding" && op != "embedding_backward";
  }
  /// The task that made a value, followed through views.
  [[nodiscard]] task_index real(task_index t) const { return real_[t]; }
  [[nodiscard]] task_index kernel_of(task_index t) const {
    while (parent_[t] != t) t = parent_[t] = parent_[parent_[t]];
    return t;
  }
  [[nodiscard]] bool inside(task_index p, task_index kernel) const {
    const task_index source = real(p);
    return fuses(source) && kernel_of(source) == kernel;
  }
  /// Joins tasks to kernels by level, the largest number of tasks that do not fuse on a path to a task: between two
  /// tasks of one level there is none.
  void join() {
    for (task_index t = 0; t < g_.size(); ++t) {
      for (const auto& e : g_.dependencies().in(t)) {
        if (e.source >= t)
          refuse(error_category::input, "fusion: " + g_.label(t) + " stands before " + g_.label(e.source) +
                                            ", which it needs: the order is not topological");
        const task_kind kind = g_.kind(e.source);
        const bool passes = kind == task_kind::view || kind == task_kind::input || fuses(e.source);
        level_[t] = std::max(level_[t], level_[e.source] + (passes ? 0U : 1U));
      }
      real_[t] = g_.kind(t) == task_kind::view && !g_.inputs(t).empty() ? real_[g_.inputs(t).front()] : t;
      if (!fuses(t)) continue;
      for (const task_index p : g_.inputs(t)) {
        const task_index source = real(p);
        if (!fuses(source) || level_[source] != level_[t] || g_.when(source) != g_.when(t)) continue;
        if (!module_of_.empty() && module_of_[source] != module_of_[t]) continue;
        const task_index a = kernel_of(source), c = kernel_of(t);
        parent_[std::max(a, c)] = std::min(a, c);
      }
    }
  }
  /// By task that fuses: whether a task outside of its kernel reads its result.
  [[nodiscard]] std::vector<char> seen_outside() const {
    std::vector<char> leaves(g_.size(), 1);
    for (task_index t = 0; t < g_.size(); ++t)
      for (const task_index p : g_.inputs(t))
        if (fuses(p)) leaves[p] = 0;
    for (task_index t = 0; t < g_.size(); ++t) {
      if (g_.kind(t) == task_kind::view) continue;
      for (const task_index p : g_.inputs(t)) {
        const task_index source = real(p);
        if (fuses(source) && !(fuses(t) && kernel_of(t) == kernel_of(source))) leaves[source] = 1;
      }
    }
    return leaves;
  }
  /// Bytes of a task's results; of a view at most those of its storage.
  [[nodiscard]] bytes size_of(task_index t) const {
    bytes all;
    for (std::size_t i = 0; i < g_.output_count(t); ++i) all += g_.output(t, i).size;
    if (g_.kind(t) != task_kind::view || g_.output_count(t) == 0) return all;
    const std::uint32_t s = g_.output_storage(t, 0);
    return s == no_index ? all : std::min(all, g_.storages()[s].size);
  }
  /// A key that is equal for views of one value.
  [[nodiscard]] std::uint64_t storage_key(task_index t) const { return real(t); }

  const task_graph& g_;
  std::span<const std::uint32_t> module_of_;
  std::vector<std::uint32_t> level_;
  mutable std::vector<task_index> parent_;  ///< towards the first task of its kernel; ways get shorter as they are gone
  std::vector<task_index> real_;
};

}  // namespace detail

SHARDWEAVE_INLINE task_graph with_fused_kernels(const task_graph& g, const compute_profile& compute,
                                                std::span<const std::uint32_t> module_of) {
  SHARDWEAVE_EXPECTS(module_of.empty() || module_of.size() == g.size());
  return detail::kernel_fusion(g, module_of).write(compute);
}

}  // namespace shardweave::inline v0
