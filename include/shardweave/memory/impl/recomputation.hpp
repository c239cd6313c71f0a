#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// \file
/// A training graph in which values are made again for the backward part.

namespace shardweave::inline v0 {

namespace detail {

/// Writes a graph task by task, and repeats what a late task needs of dropped storages.
class recomputation_writer {
 public:
  recomputation_writer(const task_graph& g, const std::vector<char>& dropped)
      : g_(g),
        dropped_(dropped),
        b_(task_graph_builder::like(g)),
        task_of_(g.size(), no_index),
        again_of_(g.size(), no_index),
        storage_again_(g.storages().size(), no_index) {}

  recomputed_graph write() && {
    find_postponed();
    find_wanted();
    for (task_index t = 0; t < g_.size(); ++t) {
      if (postponed_[t]) continue;
      const bool is_late = is_in_later_phase(t);
      task_record r = g_.record(t);
      for (task_index& p : r.inputs) p = is_late ? late(p) : task_of_[p];
      for (task_index& p : r.after) p = task_of_[p];
      if (r.completes) r.completes = task_of_[*r.completes];
      for (output_record& o : r.outputs)  // a view of what was made again
        if (is_late && o.storage != no_index && storage_again_[o.storage] != no_index)
          o.storage = storage_again_[o.storage];
      task_of_[t] = add(t, r, false);
    }
    result_.tasks = std::move(b_).build();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_in_later_phase(task_index t) const { return g_.when(t) && *g_.when(t) != phase::forward; }

  /// What is dropped before anything of the forward part has read it is made later only.
  void find_postponed() {
    postponed_.assign(g_.size(), true);
    for (task_index t = static_cast<task_index>(g_.size()); t-- > 0;) {
      postponed_[t] = postponed_[t] && is_dropped(t) && !g_.dependencies().out(t).empty();
      if (postponed_[t] || is_in_later_phase(t)) {
        for (const task_index p : g_.after(t)) postponed_[p] = false;
        continue;
      }
      for (const auto& e : g_.dependencies().in(t)) postponed_[e.source] = false;
    }
  }

  /// Which storages anything reads that is done late or again, other than to give another view of them.
  void find_wanted() {
    wanted_.assign(g_.storages().size(), false);
    std::vector<bool> seen(g_.size());
    std::vector<task_index> open;
    for (task_index t = 0; t < g_.size(); ++t)
      if (is_in_later_phase(t)) open.push_back(t);
    while (!open.empty()) {
      const task_index t = open.back();
      open.pop_back();
      for (const task_index p : g_.inputs(t)) {
        if (!is_view_of(t, p))
          for (std::size_t i = 0; i < g_.output_count(p); ++i)
            if (const std::uint32_t s = g_.output_storage(p, i); s != no_index) wanted_[s] = true;
        if (seen[p] || !is_dropped(p)) continue;
        seen[p] = true;
        open.push_back(p);
      }
    }
  }
  [[nodiscard]] bool is_view_of(task_index t, task_index p) const {
    for (std::size_t i = 0; i < g_.output_count(t); ++i)
      for (std::size_t j = 0; j < g_.output_count(p); ++j)
        if (g_.output_storage(t, i) != no_index && g_.output_storage(t, i) == g_.output_storage(p, j)) return true;
    return false;
  }

  [[nodiscard]] bool is_dropped(task_index t) const {
    if (g_.when(t) != phase::forward || g_.kind(t) == task_kind::input) return false;
    for (std::size_t i = 0; i < g_.output_count(t); ++i)
      if (const std::uint32_t s = g_.output_storage(t, i); s != no_index && dropped_[s] != 0) return true;
    return false;
  }

  /// The task that gives a late reader what `t` gave: `t` itself, or its repetition, made now if there is none.
  task_index late(task_index t) {
    if (!is_dropped(t)) return task_of_[t];
    std::vector<task_index> open{t};  // a stack in place of recursion: chains may be long
    while (!open.empty()) {
      const task_index next = open.back();
      if (again_of_[next] != no_index) {
        open.pop_back();
        continue;
      }
      const std::size_t before = open.size();
      const auto need = [&](task_index p) {
        if (is_dropped(p) && again_of_[p] == no_index) open.push_back(p);
      };
      for (const task_index p : g_.inputs(next)) need(p);
      if (g_.completes(next) != no_index) need(g_.completes(next));
      if (open.size() > before) continue;
      open.pop_back();
      again_of_[next] = repeat(next);
    }
    return again_of_[t];
  }

  task_index repeat(task_index t) {
    task_record r = g_.record(t);
    r.name += ".again";
    r.when = phase::backward;
    r.after.clear();
    const auto now = [&](task_index p) { return again_of_[p] != no_index ? again_of_[p] : task_of_[p]; };
    for (task_index& p : r.inputs) p = now(p);
    if (r.completes) r.completes = now(*r.completes);
    for (output_record& o : r.outputs) {
      if (o.storage == no_index) continue;
      const bool is_beside = r.outputs.size() > 1 && !wanted_[o.storage];
      if (dropped_[o.storage] == 0 || is_beside) {  // is there already, or nothing wants it again
        o.storage = no_index;
        continue;
      }
      std::uint32_t& own = storage_again_[o.storage];
      if (own == no_index) own = b_.add_storage(g_.storages()[o.storage]);
      o.storage = own;
    }
    if (r.kind != task_kind::collective && !postponed_[t]) result_.compute += r.duration;
    return add(t, r, true);
  }

  task_index add(task_index t, const task_record& r, bool again) {
    if (!g_.fused_durations().empty()) b_.fused_durations.push_back(g_.fused_durations()[t]);
    result_.original.push_back(t);
    result_.again.push_back(again);
    return b_.add_task(r);
  }

  const task_graph& g_;
  const std::vector<char>& dropped_;
  task_graph_builder b_;
  recomputed_graph result_;
  std::vector<bool> postponed_, wanted_;
  std::vector<task_index> task_of_, again_of_;
  std::vector<std::uint32_t> storage_again_;
};

}  // namespace detail

SHARDWEAVE_INLINE recomputed_graph with_recomputation(const task_graph& g, const std::vector<char>& dropped) {
  if (dropped.size() != g.storages().size())
    refuse(error_category::input, "recomputation: " + std::to_string(dropped.size()) +
                                      " storages are kept or dropped, the graph has " +
                                      std::to_string(g.storages().size()));
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.when(t) && g.kind(t) != task_kind::input && g.kind(t) != task_kind::output)
      refuse(error_category::input,
             "recomputation: " + g.label(t) + " does not state its phase (inferred_tags tells it)");
    for (const auto& e : g.dependencies().in(t))
      if (e.source >= t)
        refuse(error_category::input, "recomputation: " + g.label(t) + " stands before " + g.label(e.source) +
                                          ", which it needs: the order is not topological");
  }
  return detail::recomputation_writer(g, dropped).write();
}

}  // namespace shardweave::inline v0
