#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/lowering/detail/gradient_sums.hpp>
#include <shardweave/lowering/detail/micro_batches.hpp>
#include <shardweave/lowering/detail/optimizer_tasks.hpp>
#include <shardweave/lowering/detail/step_tasks.hpp>
#include <shardweave/lowering/detail/trained_parameters.hpp>
#include <shardweave/lowering/whole_step.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <map>
#include <string>
#include <utility>

/// \file
/// Definitions of `with_optimizer` and of the order of a whole step.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE whole_step with_optimizer(const lowered_graph& lowered, const spmd_cost_model& model,
                                            std::span<const strategy> chosen, const whole_step_options& options) {
  if (options.micro_batches < 1)
    refuse(error_category::input,
           "a step has " + std::to_string(options.micro_batches) + " micro-batches, expected at least 1");
  using namespace detail;
  const task_graph& g = lowered.tasks;
  const trained_parameters parameters(lowered, model, chosen);
  step_tasks to;
  to.builder = task_graph_builder::like(g);
  optimizer_tasks optimizer(g, model, parameters, options.optimizer, to);
  const gradient_sums sums = options.reduces_once ? gradient_sums(lowered, model, options.optimizer)
                                                  : gradient_sums(g, parameters, optimizer.work().accumulation);
  micro_batches batches(lowered, model.operations(), sums, to);
  bytes more_inputs{};
  for (std::int64_t m = 0; m < options.micro_batches; ++m) more_inputs += batches.add(m + 1 == options.micro_batches);
  const std::vector<task_index> updated = optimizer.write(batches);
  whole_step result{.copies = batches.copies(), .work = optimizer.work(), .state = optimizer.state()};
  result.work.accumulation = sums.all;

  // outputs of the given graph other than gradients, and the updated parameters
  std::vector<bool> is_gradient(g.size());
  for (const trained_layer& layer : parameters.layers())
    for (const trained_parameter& p : layer.parameters) is_gradient[p.gradient] = true;
  const std::vector<task_index>& last = result.copies.back();
  for (task_index t = 0; t < g.size(); ++t) {
    if (g.kind(t) != task_kind::output) continue;
    task_record r = g.record(t);
    std::erase_if(r.inputs, [&](task_index p) { return is_gradient[p]; });
    for (task_index& p : r.inputs) p = last[p];
    for (task_index& p : r.after) p = last[p];
    r.inputs.insert(r.inputs.end(), updated.begin(), updated.end());
    const task_index end = to.add(std::move(r), lowered.origin[t]);
    for (std::vector<task_index>& copy : result.copies) copy[t] = end;
    to.added.push_back(end);
  }
  for (const task_index t : lowered.task_of) result.lowered.task_of.push_back(t == no_index ? t : last[t]);

  optimizer.add_tables();
  to.builder.memory_baseline = g.memory_baseline() + result.state + more_inputs;
  result.added = std::move(to.added);
  result.lowered.origin = std::move(to.origin);
  result.lowered.tasks = std::move(to.builder).build();
  return result;
}

SHARDWEAVE_INLINE schedule whole_step::order(const schedule& part) const {
  schedule all;
  all.within_memory = part.within_memory;
  const task_graph& g = lowered.tasks;
  std::map<task_index, task_index> sum_after;  // gradient of a later micro-batch: its sum
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
      if (copy[t] == no_index || g.kind(copy[t]) == task_kind::output) continue;
      put(copy[t]);
      if (const auto sum = sum_after.find(copy[t]); sum != sum_after.end()) put(sum->second);
    }
    for (bucket b : part.buckets) {
      for (task_index& t : b.members) t = copy[t];
      if (std::erase(b.members, no_index) > 0) {
        if (b.members.size() < 2) continue;
        b.bytes_in = b.bytes_out = {};
        for (const task_index t : b.members) {
          b.bytes_in += g.collective(t).bytes_in;
          b.bytes_out += g.collective(t).bytes_out;
        }
      }
      all.buckets.push_back(std::move(b));
    }
    for (const auto& [earlier, later] : part.after)
      if (copy[earlier] != no_index && copy[later] != no_index && g.kind(copy[later]) != task_kind::output)
        all.after.emplace_back(copy[earlier], copy[later]);
  }
  for (const task_index t : rest) put(t);
  return all;
}

}  // namespace shardweave::inline v0
