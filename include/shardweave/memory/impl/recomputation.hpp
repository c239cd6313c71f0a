#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

/// \file
/// Definition of `with_recomputation`.

namespace shardweave::inline v0 {

namespace detail {

/// Writes a graph task by task, and repeats or copies back what late tasks need.
class recomputation_writer {
 public:
  recomputation_writer(const task_graph& g, const std::vector<char>& dropped, const host_copies& copies)
      : g_(g),
        dropped_(dropped),
        copies_(copies),
        b_(task_graph_builder::like(g)),
        task_of_(g.size(), no_index),
        again_of_(g.size(), no_index),
        storage_again_(g.storages().size(), no_index) {}

  recomputed_graph write() && {
    find_postponed();
    find_wanted();
    begin_copies();
    for (task_index t = 0; t < g_.size(); ++t) {
      if (postponed_[t]) continue;
      const bool is_late = is_in_later_phase(t);
      task_record r = g_.record(t);
      for (task_index& p : r.inputs) p = is_late ? late(p) : task_of_[p];
      for (task_index& p : r.after) p = task_of_[p];
      if (r.completes) r.completes = task_of_[*r.completes];
      for (output_record& o : r.outputs)  // a view of a recomputed storage
        if (is_late && o.storage != no_index && storage_again_[o.storage] != no_index)
          o.storage = storage_again_[o.storage];
      task_of_[t] = add(t, r, false);
      if (!to_host_.empty() && !is_late) copy_to_host(t);
    }
    result_.tasks = std::move(b_).build();
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_in_later_phase(task_index t) const { return g_.when(t) && *g_.when(t) != phase::forward; }

  /// Finds dropped tasks whose results the forward part does not need: these run only later.
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

  /// Finds the storages that late or repeated tasks read, other than to give another view of them.
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

  [[nodiscard]] bool waits_at_host(std::uint32_t s) const {
    return s != no_index && !copies_.storages.empty() && copies_.storages[s] != 0 && dropped_[s] == 0;
  }
  /// Whether a task of the forward part makes a storage that is offloaded, or a view of it.
  [[nodiscard]] bool gives_copied(task_index t) const {
    return g_.output_count(t) == 1 && waits_at_host(g_.output_storage(t, 0)) && !is_in_later_phase(t);
  }
  void begin_copies() {
    if (std::ranges::none_of(copies_.storages, [](char c) { return c != 0; })) return;
    to_host_.assign(g_.storages().size(), no_index);
    at_host_.assign(g_.storages().size(), no_index);
    last_use_.assign(g_.storages().size(), no_index);
    std::int64_t id = 0;
    for (const process_group& group : g_.groups()) id = std::max(id, group.id + 1);
    for (const char* const way : {"to_host", "from_host"})
      channel_of_copies_[way[0] == 'f' ? 1 : 0] = b_.add_group({.id = id++, .name = way, .size = 1, .role = "copies"});
    for (task_index t = 0; t < g_.size(); ++t) {
      if (is_in_later_phase(t) || postponed_[t]) continue;
      if (gives_copied(t)) last_use_[g_.output_storage(t, 0)] = t;
      for (const task_index p : g_.inputs(t))
        if (gives_copied(p)) last_use_[g_.output_storage(p, 0)] = t;
    }
    for (std::uint32_t s = 0; s < last_use_.size(); ++s)
      if (last_use_[s] != no_index) ends_at_[last_use_[s]].push_back(s);
  }
  /// The launch of a copy of a task's result.
  [[nodiscard]] task_record copy(task_index maker, const char* way, std::uint32_t channel) const {
    const bytes size = g_.storages()[g_.output_storage(maker, 0)].size;
    const double ns = static_cast<double>(size.count()) * 1e9 / copies_.bytes_per_second;
    return {.name = std::string(g_.name_of(maker)) + "." + way,
            .op = std::string("copy_") + way,
            .kind = task_kind::collective,
            .duration = nanoseconds(static_cast<std::int64_t>(std::ceil(ns))),
            .collective = collective_record{.op = collective::other,
                                            .group = channel,
                                            .bytes_in = size,
                                            .bytes_out = size,
                                            .dtype = g_.record(maker).outputs[0].dtype},
            .role = g_.role(maker)};
  }
  [[nodiscard]] static task_record wait_for(const task_record& copy, task_index launched) {
    return {.name = copy.name + ".wait",
            .op = "wait",
            .kind = task_kind::wait,
            .inputs = {launched},
            .completes = launched,
            .role = copy.role,
            .when = copy.when};
  }
  /// Copies the result of `t`, and waits for the copies of storages that `t` is the last to use. A copy lists the
  /// storage that it copies, so that this stays live until the wait.
  void copy_to_host(task_index t) {
    if (gives_copied(t) && to_host_[g_.output_storage(t, 0)] == no_index) {
      const std::uint32_t s = g_.output_storage(t, 0);
      task_record launch = copy(t, "to_host", channel_of_copies_[0]);
      launch.when = phase::forward;
      launch.inputs = {task_of_[t]};
      at_host_[s] = b_.add_storage(g_.storages()[s].size, storage_device::cpu);
      launch.outputs = {{.size = g_.storages()[s].size, .storage = at_host_[s]}, {.size = {}, .storage = s}};
      to_host_[s] = add_copy(t, launch);
    }
    const auto ends = ends_at_.find(t);
    if (ends == ends_at_.end()) return;
    for (const std::uint32_t s : ends->second) {
      const task_index maker = result_.original[to_host_[s]];
      task_record wait = wait_for(copy(maker, "to_host", channel_of_copies_[0]), to_host_[s]);
      wait.when = phase::forward;
      wait.outputs = {{.size = g_.storages()[s].size, .storage = at_host_[s]}};
      to_host_[s] = add_copy(maker, wait);
    }
  }
  task_index copy_back(task_index maker) {
    const std::uint32_t s = g_.output_storage(maker, 0);
    task_record launch = copy(maker, "from_host", channel_of_copies_[1]);
    launch.when = phase::backward;
    launch.inputs = {to_host_[s]};
    launch.outputs = g_.record(maker).outputs;
    launch.outputs[0].storage = storage_again_[s] = b_.add_storage(g_.storages()[s]);
    task_record wait = wait_for(launch, add_copy(maker, launch));
    wait.outputs = launch.outputs;
    return add_copy(maker, wait);
  }
  task_index add_copy(task_index maker, const task_record& r) {
    if (!g_.fused_durations().empty()) b_.fused_durations.push_back(r.duration);
    result_.original.push_back(maker);
    result_.again.push_back(false);
    result_.copies.push_back(true);
    return b_.add_task(r);
  }

  /// The task that gives a late reader the result of `t`: `t` itself, or its repetition or copy, which is added if
  /// there is none.
  task_index late(task_index t) {
    const auto is_gone = [&](task_index p) { return is_dropped(p) || gives_copied(p); };
    if (!is_gone(t)) return task_of_[t];
    std::vector<task_index> open{t};  // an explicit stack, as chains may be long
    while (!open.empty()) {
      const task_index next = open.back();
      if (again_of_[next] != no_index) {
        open.pop_back();
        continue;
      }
      if (gives_copied(next) && g_.kind(next) != task_kind::view) {
        open.pop_back();
        again_of_[next] = copy_back(next);
        continue;
      }
      const std::size_t before = open.size();
      const auto need = [&](task_index p) {
        if (is_gone(p) && again_of_[p] == no_index) open.push_back(p);
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
      if ((dropped_[o.storage] == 0 && !waits_at_host(o.storage)) ||
          is_beside) {  // available already, or not read again
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
    result_.copies.push_back(false);
    return b_.add_task(r);
  }

  const task_graph& g_;
  const std::vector<char>& dropped_;
  const host_copies& copies_;
  task_graph_builder b_;
  recomputed_graph result_;
  std::vector<bool> postponed_, wanted_;
  std::vector<task_index> task_of_, again_of_;
  std::vector<std::uint32_t> storage_again_;
  std::array<std::uint32_t, 2> channel_of_copies_{};               ///< to the host, and back
  std::vector<task_index> to_host_;                                ///< by storage: the copy to the host, then its wait
  std::vector<std::uint32_t> at_host_;                             ///< by storage: its storage on the host
  std::vector<task_index> last_use_;                               ///< by storage: in the forward part
  std::map<task_index, std::vector<std::uint32_t>> ends_at_ = {};  ///< by last use
};

}  // namespace detail

SHARDWEAVE_INLINE std::vector<char> copyable_storages(const task_graph& g) {
  std::vector<char> may(g.storages().size());
  std::vector<char> is_made(g.storages().size());
  for (task_index t = 0; t < g.size(); ++t)
    for (std::size_t i = 0; i < g.output_count(t); ++i) {
      const std::uint32_t s = g.output_storage(t, i);
      if (s == no_index) continue;
      const bool is_alone = g.output_count(t) == 1, is_view = g.kind(t) == task_kind::view;
      const bool makes = g.kind(t) == task_kind::compute || g.kind(t) == task_kind::other;
      if (is_made[s] == 0)
        may[s] = static_cast<char>(is_alone && makes && g.when(t) == phase::forward &&
                                   g.storages()[s].device == storage_device::gpu);
      else if (!is_view || !is_alone)
        may[s] = 0;
      is_made[s] = 1;
    }
  return may;
}

SHARDWEAVE_INLINE recomputed_graph with_recomputation(const task_graph& g, const std::vector<char>& dropped,
                                                      const host_copies& copies) {
  if (dropped.size() != g.storages().size())
    refuse(error_category::input, "recomputation: " + std::to_string(dropped.size()) +
                                      " storages are kept or dropped, the graph has " +
                                      std::to_string(g.storages().size()));
  if (!copies.storages.empty()) {
    if (copies.storages.size() != g.storages().size())
      refuse(error_category::input, "recomputation: " + std::to_string(copies.storages.size()) +
                                        " storages wait in the host's memory or do not, the graph has " +
                                        std::to_string(g.storages().size()));
    if (!(copies.bytes_per_second > 0) || !std::isfinite(copies.bytes_per_second))
      refuse(error_category::input, "recomputation: copies of " + number_text(copies.bytes_per_second) +
                                        " bytes per second, expected a positive number");
    const std::vector<char> may = copyable_storages(g);
    for (std::size_t s = 0; s < may.size(); ++s)
      if (copies.storages[s] != 0 && may[s] == 0)
        refuse(error_category::input, "recomputation: storage " + std::to_string(s) +
                                          " cannot wait in the host's memory, expected one that a forward task makes "
                                          "alone (copyable_storages tells which)");
  }
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.when(t) && g.kind(t) != task_kind::input && g.kind(t) != task_kind::output)
      refuse(error_category::input,
             "recomputation: " + g.label(t) + " does not state its phase (inferred_tags tells it)");
    for (const auto& e : g.dependencies().in(t))
      if (e.source >= t)
        refuse(error_category::input, "recomputation: " + g.label(t) + " stands before " + g.label(e.source) +
                                          ", which it needs: the order is not topological");
  }
  return detail::recomputation_writer(g, dropped, copies).write();
}

}  // namespace shardweave::inline v0
