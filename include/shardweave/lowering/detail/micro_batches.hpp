#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/detail/step_tasks.hpp>
#include <shardweave/lowering/detail/trained_parameters.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Forward and backward parts of a step, one after the other.

namespace shardweave::inline v0::detail {

/// The forward and backward part of a step, as often as it has micro-batches; from the second one on each gradient is
/// added to that of the first, in place.
class micro_batches {
 public:
  /// \param accumulation  what adding all gradients of one takes
  /// \pre all outlive this object
  micro_batches(const lowered_graph& given, const computation& operations, const trained_parameters& parameters,
                nanoseconds accumulation, step_tasks& to)
      : given_(given),
        g_(given.tasks),
        operations_(operations.operations),
        parameters_(parameters),
        accumulation_(accumulation),
        to_(to) {}

  /// Adds one: the first one keeps names and storages. \returns the bytes of further inputs
  bytes add() {
    const std::size_t m = copies_.size();
    std::vector<task_index>& now = copies_.emplace_back(g_.size(), no_index);
    const std::string suffix = m == 0 ? "" : "." + std::to_string(m);
    std::vector<std::uint32_t> storage_now(g_.storages().size(), no_index);
    bytes more{};
    for (task_index t = 0; t < g_.size(); ++t) {
      if (g_.kind(t) == task_kind::output) continue;
      const operation& op = operations_[given_.origin[t].operation];
      const bool is_input = g_.kind(t) == task_kind::input;
      if (m > 0 && is_input && (op.kind == role::parameter || op.kind == role::constant)) {
        now[t] = copies_[0][t];
        continue;
      }
      task_record r = g_.record(t);
      r.name += suffix;
      for (task_index& p : r.inputs) p = now[p];
      for (task_index& p : r.after) p = now[p];
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
    }
    if (m > 0) accumulate(m);
    return more;
  }
  /// By micro-batch and task of the given graph: its task.
  [[nodiscard]] const std::vector<std::vector<task_index>>& copies() const { return copies_; }
  /// By operation of a parameter: the task that gives the sum of its gradients. Empty of a single one.
  [[nodiscard]] const std::map<std::uint32_t, task_index>& sums() const { return sum_of_; }
  [[nodiscard]] task_index gradient_of(const trained_parameter& p) const {
    const auto sum = sum_of_.find(p.operation);
    return sum == sum_of_.end() ? copies_[0][p.gradient] : sum->second;
  }

 private:
  /// Storages that all micro-batches share: views of parameters and constants are views of the same.
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

  /// Adds the gradients of a micro-batch to those before, in place.
  void accumulate(std::size_t m) {
    double done = 0;
    for (const trained_layer& layer : parameters_.layers())
      for (const trained_parameter& p : layer.parameters) {
        task_index& sum = sum_of_[p.operation];
        if (m == 1) sum = copies_[0][p.gradient];
        task_record r{.name = std::string(g_.name_of(p.gradient)) + ".sum" + (m == 1 ? "" : "." + std::to_string(m)),
                      .op = "accumulate",
                      .kind = task_kind::other,
                      .duration = parameters_.share(accumulation_, done, p.updated)};
        r.inputs = {sum, copies_[m][p.gradient]};
        r.role = task_role::gradient;
        r.outputs = {g_.record(p.gradient).outputs.front()};  // the first one's storage
        r.when = phase::backward;
        sum = to_.add_new(std::move(r), p.operation);
      }
  }

  const lowered_graph& given_;
  const task_graph& g_;
  const std::vector<operation>& operations_;
  const trained_parameters& parameters_;
  nanoseconds accumulation_;
  step_tasks& to_;
  std::vector<std::vector<task_index>> copies_;
  std::vector<bool> is_shared_;
  std::map<std::uint32_t, task_index> sum_of_;
};

}  // namespace shardweave::inline v0::detail
