#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/lowering/detail/micro_batches.hpp>
#include <shardweave/lowering/detail/step_tasks.hpp>
#include <shardweave/lowering/detail/trained_parameters.hpp>
#include <shardweave/lowering/optimizer_step.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The tasks of an optimizer.

namespace shardweave::inline v0::detail {

/// Writes what follows the backward part of a step: the norm of all gradients, their clipping, the update of the
/// parameters by layer, and their gathers.
class optimizer_tasks {
 public:
  /// \pre all references outlive this object
  optimizer_tasks(const task_graph& g, const spmd_cost_model& model, const trained_parameters& parameters,
                  const optimizer_options& options, step_tasks& to)
      : g_(g), model_(model), parameters_(parameters), options_(options), to_(to), by_(model.new_redistributor()) {
    price();
  }

  /// The times of its tasks.
  [[nodiscard]] const optimizer_work& work() const { return work_; }
  /// Bytes of optimizer state; known after `write`.
  [[nodiscard]] bytes state() const { return state_; }

  /// Adds its tasks after all micro-batches. \returns the tasks whose results are the updated parameters
  [[nodiscard]] std::vector<task_index> write(const micro_batches& batches) {
    const std::uint32_t any = parameters_.layers().front().parameters.front().operation;
    task_record ready{.name = "optimizer.ready", .op = "barrier", .kind = task_kind::other};
    for (const std::vector<task_index>& copy : batches.copies())
      for (task_index t = 0; t < g_.size(); ++t)
        if (copy[t] != no_index && g_.kind(t) != task_kind::output && g_.kind(t) != task_kind::input && is_last(t))
          ready.after.push_back(copy[t]);
    for (const trained_layer& layer : parameters_.layers())
      for (const trained_parameter& p : layer.parameters)
        if (const task_index sum = batches.total_of(p.gradient); sum != batches.copies().back()[p.gradient])
          ready.after.push_back(sum);
    const task_index barrier = add_new(std::move(ready), any);
    const task_index scale = options_.clips ? norm(batches, barrier, any) : barrier;

    std::vector<task_index> updated;
    double clipped = 0, done = 0;
    for (const trained_layer& layer : parameters_.layers()) {
      const std::uint32_t first = layer.parameters.front().operation;
      std::vector<task_index> gradients;
      for (const trained_parameter& p : layer.parameters) gradients.push_back(batches.total_of(p.gradient));
      if (options_.clips) {
        task_record clip =
            in_place(layer.name() + ".clip", "clip", parameters_.share(work_.clipping, clipped, layer.updated));
        clip.inputs = gradients;
        clip.inputs.push_back(scale);
        clip.role = task_role::gradient;
        for (const trained_parameter& p : layer.parameters)
          clip.outputs.push_back(g_.record(p.gradient).outputs.front());
        gradients = {add_new(std::move(clip), first)};
      }
      const bytes kept(static_cast<std::int64_t>(layer.updated * options_.state_bytes));
      state_ += kept;
      task_record state{.name = "primals." + layer.name() + ".state", .op = "input", .kind = task_kind::input};
      state.role = task_role::optimizer_state;
      state.outputs = {{kept, to_.builder.add_storage(kept), "float32", {}}};
      const output_record of_state = state.outputs.front();
      const task_index held = add_new(std::move(state), first);
      task_record update =
          in_place(layer.name() + ".update", "adamw", parameters_.share(work_.update, done, layer.updated));
      update.inputs = gradients;
      update.inputs.push_back(held);
      update.after = {barrier};
      update.role = task_role::parameter;
      for (const trained_parameter& p : layer.parameters) {
        update.inputs.push_back(batches.copies()[0][p.parameter]);
        update.outputs.push_back(g_.record(p.parameter).outputs.front());
      }
      update.outputs.push_back(of_state);
      updated.push_back(add_new(std::move(update), first));
    }
    std::size_t next = 0;
    for (std::size_t d = 0; d < parameters_.dimensions(); ++d) {
      if (!(parameters_.gathered(d) > 0)) continue;
      const auto size = static_cast<std::int64_t>(parameters_.gathered(d) * gathered_bytes());
      updated = {wait(collective_of(collective::all_gather, d, bytes(size / model_.mesh().extent(d)), bytes(size),
                                    gathering_[next++], "optimizer.gather", updated, any),
                      any)};
    }
    return updated;
  }

  /// Adds tables of the times of the optimizer's collectives.
  void add_tables() {
    std::vector<group_shape> shapes;
    for (std::size_t d = 0; d < parameters_.dimensions(); ++d) shapes.push_back(shape_of(d));
    for (duration_table& t : collective_tables(new_collectives_, by_.collectives(), shapes))
      if (g_.table(t.op(), t.group()) == nullptr) to_.builder.add_table(std::move(t));
  }

 private:
  [[nodiscard]] group_shape shape_of(std::size_t d) const {
    return model_.mesh().group_along(d, model_.compute().device.devices_per_node);
  }
  void price() {
    std::vector<group_shape> shared;
    for (std::size_t d = 0; d < parameters_.dimensions(); ++d)
      if (parameters_.is_shared(d)) shared.push_back(shape_of(d));
    optimizer_options plain = options_;
    plain.gathered_bytes = 0;  // priced per dimension, below
    work_ = work_of_optimizer(parameters_.updated(), parameters_.updated(), shared, model_.compute(), by_.collectives(),
                              plain);
    for (std::size_t d = 0; d < parameters_.dimensions(); ++d) {
      if (parameters_.is_shared(d) && plain.clips)
        reduction_.push_back(
            from_microseconds(by_.collectives().estimate(collective::all_reduce, bytes(4), shape_of(d)).time_us));
      if (!(parameters_.gathered(d) > 0)) continue;
      gathering_.push_back(gathering_time(parameters_.gathered(d), shape_of(d), by_.collectives(), gathered_bytes()));
      work_.gathering += gathering_.back();
    }
  }
  [[nodiscard]] double gathered_bytes() const {
    constexpr double of_parameters = 4;  // bytes of an f32 element
    return options_.gathered_bytes > 0 ? options_.gathered_bytes : of_parameters;
  }

  task_index add_new(task_record r, std::uint32_t operation) {
    r.when = phase::update;
    return to_.add_new(std::move(r), operation);
  }
  static task_record in_place(std::string name, std::string op, nanoseconds duration) {
    return {.name = std::move(name), .op = std::move(op), .kind = task_kind::other, .duration = duration};
  }
  /// The norm of all gradients. \returns the task whose result it is
  task_index norm(const micro_batches& batches, task_index barrier, std::uint32_t any) {
    double done = 0;
    std::vector<task_index> parts;
    for (const trained_layer& layer : parameters_.layers()) {
      task_record part = in_place(layer.name() + ".norm", "norm", parameters_.share(work_.norm, done, layer.updated));
      for (const trained_parameter& p : layer.parameters) part.inputs.push_back(batches.total_of(p.gradient));
      part.after = {barrier};
      part.role = task_role::gradient;
      part.outputs = {{bytes(4), to_.builder.add_storage(bytes(4)), "float32", {1}}};
      parts.push_back(add_new(std::move(part), layer.parameters.front().operation));
    }
    std::size_t next = 0;
    for (std::size_t d = 0; d < parameters_.dimensions(); ++d)
      if (parameters_.is_shared(d))
        parts = {wait(collective_of(collective::all_reduce, d, bytes(4), bytes(4), reduction_[next++], "optimizer.norm",
                                    parts, any),
                      any)};
    if (parts.size() == 1) return parts.front();
    task_record all = in_place("optimizer.norm", "norm", {});
    all.inputs = parts;
    all.role = task_role::gradient;
    return add_new(std::move(all), any);
  }
  task_index collective_of(collective op, std::size_t d, bytes in, bytes out, nanoseconds time, const std::string& name,
                           const std::vector<task_index>& inputs, std::uint32_t operation) {
    task_record r{.name = name + "." + std::string(name_of(op)) + "." + model_.mesh().name(d),
                  .op = std::string(name_of(op)),
                  .kind = task_kind::collective,
                  .duration = time,
                  .inputs = inputs};
    r.collective = collective_record{.op = op,
                                     .group = static_cast<std::uint32_t>(d),
                                     .bytes_in = in,
                                     .bytes_out = out,
                                     .dtype = "float32",
                                     .reduce = op == collective::all_reduce ? "sum" : "none"};
    r.role = op == collective::all_reduce ? task_role::gradient : task_role::parameter;
    r.is_fsdp = false;  // it is launched alone
    new_collectives_.push_back(r);
    return add_new(std::move(r), operation);
  }
  task_index wait(task_index launched, std::uint32_t operation) {
    task_record r{.name = new_collectives_.back().name + ".wait", .op = "wait", .kind = task_kind::wait};
    r.inputs = {launched};
    r.completes = launched;
    r.role = new_collectives_.back().role;
    return add_new(std::move(r), operation);
  }

  [[nodiscard]] bool is_last(task_index t) const {
    for (const auto& e : g_.dependencies().out(t))
      if (g_.kind(e.target) != task_kind::output) return false;
    return true;
  }

  const task_graph& g_;
  const spmd_cost_model& model_;
  const trained_parameters& parameters_;
  const optimizer_options& options_;
  step_tasks& to_;
  redistributor by_;
  optimizer_work work_;
  bytes state_{};
  std::vector<nanoseconds> reduction_, gathering_;  ///< of the mesh dimensions that have one
  std::vector<task_record> new_collectives_;
};

}  // namespace shardweave::inline v0::detail
