#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/lowering/optimizer_step.hpp>
#include <shardweave/lowering/whole_step.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// How the tasks of a whole step are written.

namespace shardweave {
inline namespace v0 {

namespace detail {

class whole_step_writer {
 public:
  whole_step_writer(const lowered_graph& lowered, const spmd_cost_model& model, std::span<const strategy> chosen,
                    const whole_step_options& options)
      : given_(lowered), g_(lowered.tasks), model_(model), chosen_(chosen), options_(options) {}

  [[nodiscard]] whole_step write() && {
    find_layers();
    price();
    b_.name = g_.name;
    b_.description = g_.description;
    b_.device = g_.device();
    for (const process_group& p : g_.groups()) b_.add_group(p);
    for (const storage& s : g_.storages()) b_.add_storage(s);
    result_.copies.assign(static_cast<std::size_t>(options_.micro_batches),
                          std::vector<task_index>(g_.size(), no_index));
    bytes more_inputs{};
    for (std::size_t m = 0; m < result_.copies.size(); ++m) more_inputs += repeat(m);
    const std::vector<task_index> updated = optimize();
    finish(updated);
    add_tables();
    b_.memory_baseline = g_.memory_baseline() + result_.state + more_inputs;
    result_.lowered.tasks = std::move(b_).build();
    return std::move(result_);
  }

 private:
  struct held_parameter {
    std::uint32_t operation = 0;
    task_index parameter = no_index, gradient = no_index;  ///< in the given graph
    double updated = 0, computed = 0;                      ///< elements
  };
  struct layer_part {
    std::vector<held_parameter> parameters = {};
    double updated = 0;
  };

  [[nodiscard]] const sharding& lies(std::uint32_t v) const {
    return model_.strategies(v).strategies[chosen_[v]].outputs.front();
  }
  [[nodiscard]] group_shape shape_of(std::size_t d) const {
    return model_.mesh().group_along(d, model_.compute().device.devices_per_node);
  }
  [[nodiscard]] static double elements(const output_info& o, const tensor& value) {
    return static_cast<double>(o.size.count()) / static_cast<double>(element_size(value.type));
  }

  /// Parameters with a gradient, by layer, those of no layer last.
  void find_layers() {
    std::map<std::int64_t, layer_part> by_layer;
    const computation& operations = model_.operations();
    shares_.assign(model_.mesh().rank(), false);
    gathered_.assign(model_.mesh().rank(), 0.0);
    for (const auto& [v, of] : operations.gradient_of) {
      const operation& op = operations.operations[v];
      if (op.kind != role::parameter) continue;
      held_parameter p{.operation = v, .parameter = given_.task_of[v], .gradient = given_.task_of[of]};
      p.computed = elements(g_.output(p.parameter, 0), op.outputs.front());
      p.updated = elements(g_.output(p.gradient, 0), operations.operations[of].outputs.front());
      for (std::size_t d = 0; d < shares_.size(); ++d) {
        if (!lies(of)[d].is_sharded()) continue;
        shares_[d] = true;
        if (!lies(v)[d].is_sharded()) gathered_[d] += p.computed;
      }
      updated_ += p.updated;
      layer_part& layer = by_layer[op.layer < 0 ? operations_end : op.layer];
      layer.updated += p.updated;
      layer.parameters.push_back(p);
    }
    for (auto& [number, layer] : by_layer) layers_.emplace_back(number, std::move(layer));
    if (layers_.empty()) refuse(error_category::input, "whole step: no parameter of '" + g_.name + "' has a gradient");
  }

  void price() {
    const redistributor by = model_.new_redistributor();
    std::vector<group_shape> shared;
    for (std::size_t d = 0; d < shares_.size(); ++d)
      if (shares_[d]) shared.push_back(shape_of(d));
    optimizer_options plain = options_.optimizer;
    plain.gathered_bytes = 0;  // dimension by dimension, below
    result_.work = work_of_optimizer(updated_, updated_, shared, model_.compute(), by.collectives(), plain);
    for (std::size_t d = 0; d < shares_.size(); ++d) {
      if (shares_[d] && plain.clips)
        reduction_.push_back(
            from_microseconds(by.collectives().estimate(collective::all_reduce, bytes(4), shape_of(d)).time_us));
      if (!(gathered_[d] > 0)) continue;
      gathering_.push_back(gathering_time(gathered_[d], shape_of(d), by.collectives(), gathered_bytes()));
      result_.work.gathering += gathering_.back();
    }
    result_.state = bytes(0);
  }
  [[nodiscard]] double gathered_bytes() const {
    constexpr double of_parameters = 4;
    return options_.optimizer.gathered_bytes > 0 ? options_.optimizer.gathered_bytes : of_parameters;
  }

  task_index add(task_record r, task_origin from) {
    result_.lowered.origin.push_back(from);
    return b_.add_task(std::move(r));
  }
  task_index add_new(task_record r, std::uint32_t operation) {
    r.when = phase::update;
    const bool is_input = r.kind == task_kind::input;
    const task_index t = add(std::move(r), {.operation = operation});
    if (!is_input) result_.added.push_back(t);
    return t;
  }

  /// A forward and a backward part; the first one keeps names and storages. \returns the bytes of further inputs
  bytes repeat(std::size_t m) {
    std::vector<task_index>& now = result_.copies[m];
    const std::string suffix = m == 0 ? "" : "." + std::to_string(m);
    std::vector<std::uint32_t> storage_now(g_.storages().size(), no_index);
    bytes more{};
    for (task_index t = 0; t < g_.size(); ++t) {
      if (g_.kind(t) == task_kind::output) continue;
      const operation& op = model_.operations().operations[given_.origin[t].operation];
      const bool is_input = g_.kind(t) == task_kind::input;
      if (m > 0 && is_input && (op.kind == role::parameter || op.kind == role::constant)) {
        now[t] = result_.copies[0][t];
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
          own = b_.add_storage(g_.storages()[o.storage]);
          if (is_input) more += g_.storages()[o.storage].size;
        }
        o.storage = own;
      }
      now[t] = add(std::move(r), given_.origin[t]);
    }
    if (m > 0) accumulate(m);
    return more;
  }
  /// Storages that all micro-batches share: views of parameters and constants are views of the same.
  [[nodiscard]] bool is_of_parameter(std::uint32_t storage) {
    if (is_shared_.empty()) {
      is_shared_.assign(g_.storages().size(), false);
      for (task_index t = 0; t < g_.size(); ++t) {
        const role kind = model_.operations().operations[given_.origin[t].operation].kind;
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
    for (const auto& [number, layer] : layers_)
      for (const held_parameter& p : layer.parameters) {
        task_index& sum = sum_of_[p.operation];
        if (m == 1) sum = result_.copies[0][p.gradient];
        task_record r = in_place(std::string(g_.name_of(p.gradient)) + ".sum" + (m == 1 ? "" : "." + std::to_string(m)),
                                 "accumulate", share(result_.work.accumulation, done, p.updated));
        r.inputs = {sum, result_.copies[m][p.gradient]};
        r.role = task_role::gradient;
        r.outputs = {g_.record(p.gradient).outputs.front()};  // the first one's storage
        r.when = phase::backward;
        sum = add(std::move(r), {.operation = p.operation});
        result_.added.push_back(sum);
      }
  }
  [[nodiscard]] task_index gradient_of(const held_parameter& p) const {
    const auto sum = sum_of_.find(p.operation);
    return sum == sum_of_.end() ? result_.copies[0][p.gradient] : sum->second;
  }

  static task_record in_place(std::string name, std::string op, nanoseconds duration) {
    return {.name = std::move(name), .op = std::move(op), .kind = task_kind::other, .duration = duration};
  }
  /// The part of a time that so many more of all updated elements take; parts add up to it. \param done  elements
  /// before
  [[nodiscard]] nanoseconds share(nanoseconds all, double& done, double more) const {
    const auto until = [&](double count) {
      return static_cast<std::int64_t>(static_cast<double>(all.count()) * (count / updated_));
    };
    const std::int64_t before = until(done);
    done += more;
    return nanoseconds((done >= updated_ ? all.count() : until(done)) - before);
  }
  [[nodiscard]] static std::string name_of_layer(std::int64_t number) {
    return number == operations_end ? "optimizer" : "optimizer.layers." + std::to_string(number);
  }

  /// \returns the tasks that give the updated parameters
  std::vector<task_index> optimize() {
    const std::uint32_t any = layers_.front().second.parameters.front().operation;
    task_record ready{.name = "optimizer.ready", .op = "barrier", .kind = task_kind::other};
    for (const std::vector<task_index>& copy : result_.copies)
      for (task_index t = 0; t < g_.size(); ++t)
        if (g_.kind(t) != task_kind::output && g_.kind(t) != task_kind::input && is_last(t))
          ready.after.push_back(copy[t]);
    for (const auto& [operation, sum] : sum_of_) ready.after.push_back(sum);
    const task_index barrier = add_new(std::move(ready), any);
    const task_index scale = options_.optimizer.clips ? norm(barrier, any) : barrier;

    std::vector<task_index> updated;
    double clipped = 0, done = 0;
    for (const auto& [number, layer] : layers_) {
      const std::uint32_t first = layer.parameters.front().operation;
      std::vector<task_index> gradients;
      for (const held_parameter& p : layer.parameters) gradients.push_back(gradient_of(p));
      if (options_.optimizer.clips) {
        task_record clip =
            in_place(name_of_layer(number) + ".clip", "clip", share(result_.work.clipping, clipped, layer.updated));
        clip.inputs = gradients;
        clip.inputs.push_back(scale);
        clip.role = task_role::gradient;
        for (const held_parameter& p : layer.parameters) clip.outputs.push_back(g_.record(p.gradient).outputs.front());
        gradients = {add_new(std::move(clip), first)};
      }
      const bytes kept(static_cast<std::int64_t>(layer.updated * options_.optimizer.state_bytes));
      result_.state += kept;
      task_record state{.name = "primals." + name_of_layer(number) + ".state", .op = "input", .kind = task_kind::input};
      state.role = task_role::optimizer_state;
      state.outputs = {{kept, b_.add_storage(kept), "float32", {}}};
      const output_record of_state = state.outputs.front();
      const task_index held = add_new(std::move(state), first);
      task_record update =
          in_place(name_of_layer(number) + ".update", "adamw", share(result_.work.update, done, layer.updated));
      update.inputs = gradients;
      update.inputs.push_back(held);
      update.after = {barrier};
      update.role = task_role::parameter;
      for (const held_parameter& p : layer.parameters) {
        update.inputs.push_back(result_.copies[0][p.parameter]);
        update.outputs.push_back(g_.record(p.parameter).outputs.front());
      }
      update.outputs.push_back(of_state);
      updated.push_back(add_new(std::move(update), first));
    }
    std::size_t next = 0;
    for (std::size_t d = 0; d < gathered_.size(); ++d) {
      if (!(gathered_[d] > 0)) continue;
      const auto size = static_cast<std::int64_t>(gathered_[d] * gathered_bytes());
      updated = {wait(collective_of(collective::all_gather, d, bytes(size / model_.mesh().extent(d)), bytes(size),
                                    gathering_[next++], "optimizer.gather", updated, any),
                      any)};
    }
    return updated;
  }

  /// The norm of all gradients. \returns the task that gives it
  task_index norm(task_index barrier, std::uint32_t any) {
    double done = 0;
    std::vector<task_index> parts;
    for (const auto& [number, layer] : layers_) {
      task_record part =
          in_place(name_of_layer(number) + ".norm", "norm", share(result_.work.norm, done, layer.updated));
      for (const held_parameter& p : layer.parameters) part.inputs.push_back(gradient_of(p));
      part.after = {barrier};
      part.role = task_role::gradient;
      part.outputs = {{bytes(4), b_.add_storage(bytes(4)), "float32", {1}}};
      parts.push_back(add_new(std::move(part), layer.parameters.front().operation));
    }
    std::size_t next = 0;
    for (std::size_t d = 0; d < shares_.size(); ++d)
      if (shares_[d])
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

  /// What the given graph returns but for gradients, and the updated parameters.
  void finish(const std::vector<task_index>& updated) {
    std::vector<bool> is_gradient(g_.size());
    for (const auto& [number, layer] : layers_)
      for (const held_parameter& p : layer.parameters) is_gradient[p.gradient] = true;
    const std::vector<task_index>& last = result_.copies.back();
    for (task_index t = 0; t < g_.size(); ++t) {
      if (g_.kind(t) != task_kind::output) continue;
      task_record r = g_.record(t);
      std::erase_if(r.inputs, [&](task_index p) { return is_gradient[p]; });
      for (task_index& p : r.inputs) p = last[p];
      for (task_index& p : r.after) p = last[p];
      r.inputs.insert(r.inputs.end(), updated.begin(), updated.end());
      const task_index end = add(std::move(r), given_.origin[t]);
      for (std::vector<task_index>& copy : result_.copies) copy[t] = end;
      result_.added.push_back(end);
    }
    for (const task_index t : given_.task_of) result_.lowered.task_of.push_back(t == no_index ? t : last[t]);
  }

  void add_tables() {
    for (const duration_table& t : g_.tables()) b_.add_table(t);
    const redistributor by = model_.new_redistributor();
    std::vector<group_shape> shapes;
    for (std::size_t d = 0; d < shares_.size(); ++d) shapes.push_back(shape_of(d));
    for (duration_table& t : collective_tables(new_collectives_, by.collectives(), shapes))
      if (g_.table(t.op(), t.group()) == nullptr) b_.add_table(std::move(t));
  }

  static constexpr std::int64_t operations_end = std::int64_t{1} << 40;  ///< comes after every layer

  const lowered_graph& given_;
  const task_graph& g_;
  const spmd_cost_model& model_;
  std::span<const strategy> chosen_;
  const whole_step_options& options_;
  whole_step result_;
  task_graph_builder b_;
  std::vector<std::pair<std::int64_t, layer_part>> layers_;
  std::vector<bool> shares_;                        ///< by mesh dimension: gradients are cut along it
  std::vector<double> gathered_;                    ///< by mesh dimension: elements that are gathered along it
  std::vector<nanoseconds> reduction_, gathering_;  ///< of those dimensions
  std::vector<task_record> new_collectives_;
  std::vector<bool> is_shared_;
  std::map<std::uint32_t, task_index> sum_of_;  ///< by parameter: the task that gives the sum of its gradients so far
  double updated_ = 0;
};

}  // namespace detail

SHARDWEAVE_INLINE whole_step with_optimizer(const lowered_graph& lowered, const spmd_cost_model& model,
                                            std::span<const strategy> chosen, const whole_step_options& options) {
  if (options.micro_batches < 1)
    refuse(error_category::input,
           "a step has " + std::to_string(options.micro_batches) + " micro-batches, expected at least 1");
  return detail::whole_step_writer(lowered, model, chosen, options).write();
}

SHARDWEAVE_INLINE schedule whole_step::order(const schedule& part) const {
  schedule all;
  all.within_memory = part.within_memory;
  const task_graph& g = lowered.tasks;
  std::map<task_index, task_index> sum_after;  // gradient of a later micro-batch, and what adds it
  std::vector<task_index> rest;
  for (const task_index t : added) {
    if (g.op(t) == "accumulate")
      sum_after[g.inputs(t)[1]] = t;
    else
      rest.push_back(t);
  }
  std::vector<bool> known(g.size());
  const auto put = [&](task_index t) {
    if (known[t]) return;
    known[t] = true;
    all.order.push_back(t);
  };
  for (task_index t = 0; t < g.size(); ++t)
    if (g.kind(t) == task_kind::input && g.role(t) == task_role::optimizer_state) put(t);
  for (const std::vector<task_index>& copy : copies) {
    for (const task_index t : part.order) {
      if (g.kind(copy[t]) == task_kind::output) continue;
      put(copy[t]);
      if (const auto sum = sum_after.find(copy[t]); sum != sum_after.end()) put(sum->second);
    }
    for (const bucket& b : part.buckets) {
      all.buckets.push_back(b);
      for (task_index& t : all.buckets.back().members) t = copy[t];
    }
    for (const auto& [earlier, later] : part.after)
      if (g.kind(copy[later]) != task_kind::output) all.after.emplace_back(copy[earlier], copy[later]);
  }
  for (const task_index t : rest) put(t);
  return all;
}

}  // namespace v0
}  // namespace shardweave
