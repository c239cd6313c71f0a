#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/tasks/batch_parts.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

/// \file
/// How the tasks of a batch in parts are written.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<part_use> uses_of_parts(const task_graph& g, std::span<const char> of_batch,
                                                      std::span<const char> additive) {
  if (of_batch.size() != g.size() || additive.size() != g.size())
    refuse(error_category::input, "batch parts: " + std::to_string(of_batch.size()) + " and " +
                                      std::to_string(additive.size()) + " tasks are told of, the graph has " +
                                      std::to_string(g.size()));
  std::vector<part_use> use(g.size(), part_use::shared);
  std::vector<std::vector<task_index>> users(g.size());
  for (task_index t = 0; t < g.size(); ++t) {
    const auto look_at = [&](task_index p) {
      if (use[p] == part_use::of_part) use[t] = part_use::of_part;
    };
    if (g.kind(t) == task_kind::input && of_batch[t] != 0) use[t] = part_use::of_part;
    for (const task_index p : g.inputs(t)) look_at(p);
    const task_index c = g.completes(t);
    if (c == no_index) continue;
    look_at(c);
    if (use[t] == use[c]) continue;
    use[c] = part_use::of_part;  // what its wait needs besides is of a part
    t = c;                       // what stands behind it is looked at again
  }
  for (task_index t = 0; t < g.size(); ++t) {
    for (const task_index p : g.inputs(t)) users[p].push_back(t);
    if (g.completes(t) != no_index) users[g.completes(t)].push_back(t);
    if (g.kind(t) == task_kind::output) use[t] = part_use::of_sum;
  }
  const auto gives_to_sums_alone = [&](task_index t, task_index but) {
    return std::ranges::all_of(users[t], [&](task_index u) { return u == but || use[u] == part_use::of_sum; });
  };
  for (task_index t = static_cast<task_index>(g.size()); t-- > 0;) {
    if (use[t] != part_use::of_part || additive[t] == 0 || g.role(t) != task_role::gradient) continue;
    if (g.kind(t) == task_kind::input || users[t].empty() || !gives_to_sums_alone(t, no_index)) continue;
    const task_index c = g.completes(t);  // a wait goes with its collective
    if (c != no_index && (additive[c] == 0 || g.role(c) != task_role::gradient || !gives_to_sums_alone(c, t))) continue;
    use[t] = part_use::of_sum;
  }
  return use;
}

namespace detail {

class batch_parts_writer {
 public:
  batch_parts_writer(const task_graph& g, std::span<const part_use> use, unsigned parts,
                     const std::function<nanoseconds(bytes)>& sum_time)
      : g_(g), use_(use), parts_(parts), sum_time_(sum_time), sum_of_(g.size(), no_index) {
    result_.copies.assign(parts, std::vector<task_index>(g.size(), no_index));
  }

  [[nodiscard]] graph_of_parts write() && {
    b_ = task_graph_builder::like(g_);
    find_storages();
    find_what_is_added();
    std::vector<task_index> turn;  // what a part does until it would wait
    for (task_index t = 0; t < g_.size(); ++t) {
      if (!turn.empty() && ends_before(t, turn.front())) take_turns(turn);
      turn.push_back(t);
    }
    take_turns(turn);
    b_.memory_baseline = g_.memory_baseline() + more_inputs_;
    result_.tasks = std::move(b_).build();
    return std::move(result_);
  }

 private:
  [[noreturn]] static void refuse_parts(const std::string& what) {
    refuse(error_category::input, "batch parts: " + what);
  }

  /// Storages that parts have of their own: those that one of their tasks is the first to list.
  void find_storages() {
    std::vector<bool> is_known(g_.storages().size());
    is_of_part_.assign(g_.storages().size(), false);
    storage_now_.assign(parts_, std::vector<std::uint32_t>(g_.storages().size(), no_index));
    for (task_index t = 0; t < g_.size(); ++t)
      for (std::size_t i = 0; i < g_.output_count(t); ++i) {
        const std::uint32_t s = g_.output_storage(t, i);
        if (s == no_index || is_known[s]) continue;
        is_known[s] = true;
        is_of_part_[s] = use_[t] == part_use::of_part;
      }
  }

  /// What of the parts is added up, and whether somebody else reads it.
  void find_what_is_added() {
    is_added_.assign(g_.size(), false);
    is_read_by_part_.assign(g_.size(), false);
    for (task_index t = 0; t < g_.size(); ++t) {
      const auto look_at = [&](task_index p) {
        if (use_[p] != part_use::of_part) return;
        if (use_[t] == part_use::of_part) is_read_by_part_[p] = true;
        const bool is_returned = g_.kind(t) == task_kind::output && g_.role(p) != task_role::gradient;
        if (use_[t] == part_use::of_sum && !is_returned) is_added_[p] = true;
        if (use_[t] == part_use::shared)
          refuse_parts(g_.label(t) + " is done once and needs " + g_.label(p) + " of every part");
      };
      for (const task_index p : g_.inputs(t)) {
        if (p >= t) refuse_parts(g_.label(t) + " stands before " + g_.label(p) + ", which it needs");
        look_at(p);
      }
      const task_index c = g_.completes(t);
      if (c == no_index) continue;
      look_at(c);
      if (use_[c] != use_[t])
        refuse_parts("of " + g_.label(c) + " and its wait " + g_.label(t) + " one is of a part, or of a sum");
    }
  }

  /// Whether a task waits for its own part, or needs what comes last in a turn.
  /// \param first  of the turn
  [[nodiscard]] bool ends_before(task_index t, task_index first) const {
    if (g_.kind(t) == task_kind::wait && use_[t] == part_use::of_part) return true;
    const auto comes_last = [&](task_index p) {
      if (p < first || use_[p] == part_use::shared) return false;
      return use_[p] == part_use::of_sum ? use_[t] != part_use::of_sum : use_[t] == part_use::shared;
    };
    return std::ranges::any_of(g_.inputs(t), comes_last) || std::ranges::any_of(g_.after(t), comes_last);
  }
  void take_turns(std::vector<task_index>& turn) {
    for (unsigned part = 0; part < parts_; ++part)
      for (const task_index t : turn) {
        if (use_[t] == part_use::of_part) {
          add_copy(t, part);
        } else if (use_[t] == part_use::shared && part == 0) {
          add_once(t);
        }
      }
    for (const task_index t : turn) {
      if (is_added_[t]) add_up(t);
      if (use_[t] == part_use::of_sum) add_once(t);
    }
    turn.clear();
  }

  /// A task of the graph, for a part or for all.
  task_index add(task_record r, task_index from) {
    const nanoseconds fused = g_.fused_durations().empty() ? r.duration : g_.fused_durations()[from];
    return add(std::move(r), from, fused);
  }
  task_index add(task_record r, task_index from, nanoseconds fused) {
    if (!g_.fused_durations().empty()) b_.fused_durations.push_back(fused);
    result_.original.push_back(from);
    return b_.add_task(std::move(r));
  }

  void add_copy(task_index t, unsigned part) {
    std::vector<task_index>& now = result_.copies[part];
    task_record r = g_.record(t);
    if (part > 0) r.name += ".part" + std::to_string(part + 1);
    for (task_index& p : r.inputs) p = now[p];
    rename_after(r, part);
    if (r.completes) r.completes = now[*r.completes];
    for (output_record& o : r.outputs) {
      if (part == 0 || o.storage == no_index || !is_of_part_[o.storage]) continue;
      std::uint32_t& own = storage_now_[part][o.storage];
      if (own == no_index) {
        own = b_.add_storage(g_.storages()[o.storage]);
        if (r.kind == task_kind::input && g_.storages()[o.storage].device == storage_device::gpu)
          more_inputs_ += g_.storages()[o.storage].size;
      }
      o.storage = own;
    }
    now[t] = add(std::move(r), t);
  }
  void add_once(task_index t) {
    task_record r = g_.record(t);
    std::vector<task_index> inputs;
    for (const task_index p : r.inputs) {
      if (use_[p] != part_use::of_part) {
        inputs.push_back(result_.copies[0][p]);
      } else if (r.kind != task_kind::output || g_.role(p) == task_role::gradient) {
        inputs.push_back(sum_of_[p]);
      } else {
        for (const auto& now : result_.copies) inputs.push_back(now[p]);
      }
    }
    r.inputs = std::move(inputs);
    rename_after(r, parts_);
    if (r.completes) r.completes = result_.copies[0][*r.completes];
    const task_index made = add(std::move(r), t);
    for (auto& now : result_.copies) now[t] = made;
  }
  /// Further dependencies: of a part on its own, of what is done once on those of all.
  void rename_after(task_record& r, unsigned part) {
    std::vector<task_index> after;
    for (const task_index p : r.after)
      for (unsigned i = 0; i < parts_; ++i) {
        if (use_[p] == part_use::of_part ? part != parts_ && part != i : i > 0) continue;
        after.push_back(result_.copies[i][p]);
      }
    r.after = std::move(after);
  }

  /// Adds the parts' results of a task to the first one's.
  void add_up(task_index t) {
    const bool in_place = !is_read_by_part_[t] && g_.kind(t) != task_kind::view;
    bytes size{};
    for (std::size_t i = 0; i < g_.output_count(t); ++i) size += g_.output(t, i).size;
    std::vector<std::uint32_t> own;
    if (!in_place)
      for (std::size_t i = 0; i < g_.output_count(t); ++i)
        own.push_back(g_.output_storage(t, i) == no_index ? no_index : b_.add_storage(g_.output(t, i).size));
    for (unsigned part = 1; part < parts_; ++part) {
      task_record r{.name = std::string(g_.name_of(t)) + ".sum" + (part == 1 ? "" : std::to_string(part)),
                    .op = "accumulate",
                    .kind = task_kind::other,
                    .duration = sum_time_(size)};
      r.inputs = {part == 1 ? result_.copies[0][t] : sum_of_[t], result_.copies[part][t]};
      r.outputs = g_.record(t).outputs;
      for (std::size_t i = 0; i < own.size(); ++i) r.outputs[i].storage = own[i];
      r.role = task_role::gradient;
      r.when = g_.when(t);
      const nanoseconds duration = r.duration;
      sum_of_[t] = add(std::move(r), t, duration);
      result_.sums.push_back(sum_of_[t]);
    }
  }

  const task_graph& g_;
  std::span<const part_use> use_;
  unsigned parts_;
  const std::function<nanoseconds(bytes)>& sum_time_;
  task_graph_builder b_;
  graph_of_parts result_;
  std::vector<task_index> sum_of_;  ///< by task of the given graph: the last sum of its results
  std::vector<bool> is_of_part_;    ///< by storage
  std::vector<bool> is_added_, is_read_by_part_;
  std::vector<std::vector<std::uint32_t>> storage_now_;  ///< by part and storage
  bytes more_inputs_{};
};

}  // namespace detail

SHARDWEAVE_INLINE graph_of_parts with_batch_parts(const task_graph& g, std::span<const part_use> use, unsigned parts,
                                                  const std::function<nanoseconds(bytes)>& sum_time) {
  if (use.size() != g.size())
    refuse(error_category::input, "batch parts: " + std::to_string(use.size()) + " tasks are told of, the graph has " +
                                      std::to_string(g.size()));
  if (parts < 2)
    refuse(error_category::input, "batch parts: a batch is done in " + std::to_string(parts) + ", expected 2 or more");
  return detail::batch_parts_writer(g, use, parts, sum_time).write();
}

}  // namespace shardweave::inline v0
