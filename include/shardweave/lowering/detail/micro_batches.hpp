#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/detail/gradient_sums.hpp>
#include <shardweave/lowering/detail/step_tasks.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Repetition of the forward and backward part for micro-batches.

namespace shardweave::inline v0::detail {

/// Writes the forward and backward part of a step once per micro-batch; from the second one on accumulates results into
/// those of the first, in place where nothing else reads them.
class micro_batches {
 public:
  /// \pre all references outlive this object
  micro_batches(const lowered_graph& given, const computation& operations, const gradient_sums& sums, step_tasks& to)
      : given_(given),
        g_(given.tasks),
        operations_(operations.operations),
        sums_(sums),
        to_(to),
        sum_of_(g_.size(), no_index),
        sum_storage_(g_.size()) {}

  /// Adds a micro-batch; the first one keeps names and storages. \returns the bytes of additional inputs
  bytes add(bool is_last) {
    const std::size_t m = copies_.size();
    std::vector<task_index>& now = copies_.emplace_back(g_.size(), no_index);
    const std::string suffix = m == 0 ? "" : "." + std::to_string(m);
    std::vector<std::uint32_t> storage_now(g_.storages().size(), no_index);
    bytes more{};
    for (task_index t = 0; t < g_.size(); ++t) {
      if (g_.kind(t) == task_kind::output || (sums_.is_last_alone[t] != 0 && !is_last)) continue;
      const operation& op = operations_[given_.origin[t].operation];
      const bool is_input = g_.kind(t) == task_kind::input;
      if (m > 0 && is_input && (op.kind == role::parameter || op.kind == role::constant)) {
        now[t] = copies_[0][t];
        continue;
      }
      task_record r = g_.record(t);
      r.name += suffix;
      for (task_index& p : r.inputs) p = sums_.is_last_alone[t] != 0 && sums_.is_added[p] != 0 ? total_of(p) : now[p];
      for (task_index& p : r.after) p = now[p];
      std::erase(r.after, no_index);
      if (r.completes) r.completes = now[*r.completes];
      for (output_record& o : r.outputs) {
        if (m == 0 || o.storage == no_index || is_of_parameter(o.storage)) continue;
        std::uint32_t& own = storage_now[o.storage];
        if (own == no_index) {
          own = to_.builder.add_storage(g_.storages()[o.storage]);
          if (is_input) more += g_.storages()[o.storage].size;
        }
        o.storage = own;
      }
      now[t] = to_.add(std::move(r), given_.origin[t]);
      if (m > 0 && sums_.is_added[t] != 0) add_up(t, m);
    }
    return more;
  }
  /// By micro-batch and task of the given graph: its task.
  [[nodiscard]] const std::vector<std::vector<task_index>>& copies() const { return copies_; }
  /// The task with the accumulated result of a task of the given graph.
  [[nodiscard]] task_index total_of(task_index t) const {
    return sum_of_[t] != no_index ? sum_of_[t] : copies_.back()[t];
  }

 private:
  /// Whether a storage is shared by all micro-batches: that of a parameter or constant, and of views of it.
  [[nodiscard]] bool is_of_parameter(std::uint32_t storage) {
    if (is_shared_.empty()) {
      is_shared_.assign(g_.storages().size(), false);
      for (task_index t = 0; t < g_.size(); ++t) {
        const role kind = operations_[given_.origin[t].operation].kind;
        if (g_.kind(t) != task_kind::input || (kind != role::parameter && kind != role::constant)) continue;
        for (std::size_t i = 0; i < g_.output_count(t); ++i)
          if (g_.output_storage(t, i) != no_index) is_shared_[g_.output_storage(t, i)] = true;
      }
    }
    return is_shared_[storage];
  }

  /// Adds the result of a micro-batch to the sum of those before it.
  void add_up(task_index t, std::size_t m) {
    task_record r{.name = std::string(g_.name_of(t)) + ".sum" + (m == 1 ? "" : "." + std::to_string(m)),
                  .op = "accumulate",
                  .kind = task_kind::other,
                  .duration = sums_.time[t]};
    r.inputs = {m == 1 ? copies_[0][t] : sum_of_[t], copies_[m][t]};
    r.role = task_role::gradient;
    r.outputs = g_.record(t).outputs;  // the first one's storages
    if (sums_.needs_memory[t] != 0)
      for (std::size_t i = 0; i < r.outputs.size(); ++i) {
        if (m == 1) sum_storage_[t].push_back(to_.builder.add_storage(r.outputs[i].size));
        r.outputs[i].storage = sum_storage_[t][i];
      }
    r.when = phase::backward;
    sum_of_[t] = to_.add_new(std::move(r), given_.origin[t].operation);
  }

  const lowered_graph& given_;
  const task_graph& g_;
  const std::vector<operation>& operations_;
  const gradient_sums& sums_;
  step_tasks& to_;
  std::vector<std::vector<task_index>> copies_;
  std::vector<bool> is_shared_;
  std::vector<task_index> sum_of_;  ///< by task of the given graph: the last sum of its results
  /// By task: storages of the sum, where it cannot be in the first result's memory.
  std::vector<std::vector<std::uint32_t>> sum_storage_;
};

}  // namespace shardweave::inline v0::detail
