#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/lowering/fused_kernels.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/schedule/module_plan.hpp>
#include <shardweave/simulate/simulate_machine.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/step/predict_step.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// From a stated step to its timeline.

namespace shardweave {
inline namespace v0 {

namespace detail {

/// What a step of few layers takes.
struct step_of_depth {
  double micro = 0, last = 0, exposed = 0, starved = 0, peak = 0;
};

class step_predictor {
 public:
  step_predictor(const stated_step& stated, const compute_profile& compute, const any_collectives& collectives,
                 const solve_control& control)
      : s_(stated),
        compute_(compute),
        collectives_(collectives),
        control_(control),
        rules_(layout_rules(stated.layout, 0.5)) {
    constexpr auto f16 = static_cast<std::size_t>(arithmetic::f16);
    compute_.device.memory_bandwidth /= s_.framework.slowdown;
    for (double& rate : compute_.device.flops) rate /= s_.framework.slowdown;
    if (s_.framework.attention) compute_.attention[f16] = *s_.framework.attention;
    if (s_.framework.attention_backward) compute_.attention_backward[f16] = *s_.framework.attention_backward;
  }

  [[nodiscard]] step_of_depth at(std::int64_t layers) const {
    llama_config config = s_.model;
    config.num_hidden_layers = layers;
    const training_shape shape{
        .batch = s_.micro_batch * s_.layout.data_ranks(), .sequence = s_.sequence, .loss = s_.framework.loss};
    const spmd_cost_model model(llama_training_graph(config, shape), s_.layout.mesh(), compute_, collectives_, rules_,
                                {.reduce_after_cast = s_.framework.reduces_in_f32});
    const auto problem = compile(describe(model, layout_constraints(model, s_.layout), control_), control_);
    const solution<double> placed = auto_solver{}.solve(problem, control_);
    if (!placed.has_assignment())
      refuse(error_category::constraint, "layout " + s_.layout.to_string() + " has no placement");
    const bool regathers = s_.layout.stage == zero_stage::parameters;
    const lowered_graph lowered =
        lower(model, placed.choice, {.regather_parameters = regathers, .wait_shares_storage = true});
    const computation& operations = model.operations();

    std::vector<std::uint32_t> layer_of;
    for (const task_origin& from : lowered.origin) {
      const std::int64_t layer = operations.operations[from.operation].layer;
      layer_of.push_back(layer < 0 ? no_index : static_cast<std::uint32_t>(layer));
    }
    const recomputed_graph again = with_recomputation(lowered.tasks, dropped(lowered, operations, layer_of));

    // what may become one kernel: everything, or a part of the model in one phase
    std::map<std::pair<std::string, int>, std::uint32_t> parts;
    std::vector<std::uint32_t> module_of, layer;
    const auto is_one_of = [](const std::vector<std::string>& groups, const std::string& group) {
      return std::find(groups.begin(), groups.end(), group) != groups.end();
    };
    for (const task_index t : again.original) {
      const operation& op = operations.operations[lowered.origin[t].operation];
      layer.push_back(layer_of[t]);
      const int phase_of = op.when == phase::forward ? 0 : 1;
      if (s_.framework.compiles) {
        module_of.push_back(is_one_of(s_.framework.eager_parts, op.group) ? no_index : 0);
      } else if (is_one_of(s_.framework.fused_parts, op.group)) {
        const auto next = static_cast<std::uint32_t>(parts.size());
        module_of.push_back(parts.try_emplace({op.group, phase_of}, next).first->second);
      } else {
        module_of.push_back(no_index);
      }
    }
    const task_graph g = with_fused_kernels(again.tasks, compute_, module_of);
    return timed(s_.framework.pipelines_tensor_collectives ? with_pieces(g) : g, layer);
  }

 private:
  [[nodiscard]] std::vector<char> dropped(const lowered_graph& lowered, const computation& operations,
                                          const std::vector<std::uint32_t>& layer_of) const {
    const task_graph& g = lowered.tasks;
    if (!s_.kept_products) return dropped_by_rule(g, layer_of, s_.recompute, s_.recompute_every);
    return dropped_storages(g, layer_of, [&](task_index t) {
      if (layer_of[t] % s_.recompute_every != 0) return false;
      const std::string& group = operations.operations[lowered.origin[t].operation].group;
      const std::vector<std::string>& kept = *s_.kept_products;
      return g.op(t) != "einsum" || std::find(kept.begin(), kept.end(), group) == kept.end();
    });
  }

  [[nodiscard]] step_of_depth timed(const task_graph& g, const std::vector<std::uint32_t>& layer) const {
    // a layer's forward and backward part are modules, and so is all that is in no layer
    std::map<std::pair<std::uint32_t, int>, std::vector<task_index>> tasks;
    for (task_index t = 0; t < g.size(); ++t) tasks[{layer[t], g.when(t) == phase::forward ? 0 : 1}].push_back(t);
    module_plan plan;
    for (auto& [key, some] : tasks) plan.modules.push_back(std::move(some));
    const schedule order = plan(g, plan(g));
    const machine host(s_.framework.launches, s_.framework.interference);
    const machine_timeline run = simulate(g, order, host);
    step_of_depth result;
    result.last = static_cast<double>(run.line.end_to_end.count());
    result.exposed = static_cast<double>((run.line.exposed + run.line.tail).count());
    result.starved = static_cast<double>(run.starved.count());
    result.peak = static_cast<double>(run.line.peak.count());
    result.micro = result.last;
    if (!s_.framework.reduces_each_micro_batch && s_.micro_batches > 1) {
      schedule apart = order;  // what was merged is not reduced at all
      const std::vector<bool> of_data = fsdp_tags(g);
      std::erase_if(apart.buckets, [&](const bucket& b) {
        return of_data[b.members.front()] && g.collective(b.members.front()).op != collective::all_gather;
      });
      result.micro = static_cast<double>(simulate(without_reductions(g, of_data), apart, host).line.end_to_end.count());
    }
    return result;
  }

  /// Collectives of tensor parallelism show one piece of as many as there are ranks.
  [[nodiscard]] task_graph with_pieces(const task_graph& g) const {
    if (s_.layout.tensor == 1) return g;
    const auto tensor = static_cast<std::uint32_t>(g.groups().size() - 1);
    std::vector<nanoseconds> time;
    for (task_index t = 0; t < g.size(); ++t) {
      const bool is_one = g.is_collective(t) && g.collective(t).group == tensor;
      time.push_back(is_one ? g.duration(t) / s_.layout.tensor : g.duration(t));
    }
    return g.with_durations(time);
  }

  /// Gradients stay where they are: their reductions take no time.
  [[nodiscard]] task_graph without_reductions(const task_graph& g, const std::vector<bool>& of_data) const {
    std::vector<nanoseconds> time;
    for (task_index t = 0; t < g.size(); ++t)
      time.push_back(of_data[t] && g.collective(t).op != collective::all_gather ? nanoseconds() : g.duration(t));
    return g.with_durations(time);
  }

  const stated_step& s_;
  compute_profile compute_;
  const any_collectives& collectives_;
  const solve_control& control_;
  rule_table rules_;
};

}  // namespace detail

SHARDWEAVE_INLINE predicted_step predict_step(const stated_step& stated, const compute_profile& compute,
                                              const any_collectives& collectives, const solve_control& control) {
  if (stated.micro_batches < 1 || stated.micro_batch < 1)
    refuse(error_category::input, "a step has " + std::to_string(stated.micro_batches) + " micro-batches of " +
                                      std::to_string(stated.micro_batch) + " sequences, expected at least 1 of 1");
  const detail::step_predictor at_depth(stated, compute, collectives, control);
  const std::int64_t every = stated.recompute_every;
  const std::int64_t few = 2 * every, more = 3 * every, layers = stated.model.num_hidden_layers;
  detail::step_of_depth whole;
  if (layers <= more) {
    whole = at_depth.at(layers);
  } else {
    const detail::step_of_depth a = at_depth.at(few), b = at_depth.at(more);
    const double further = static_cast<double>(layers - few) / static_cast<double>(more - few);
    const auto line = [&](double detail::step_of_depth::*f) { return a.*f + (b.*f - a.*f) * further; };
    for (double detail::step_of_depth::*f :
         {&detail::step_of_depth::micro, &detail::step_of_depth::last, &detail::step_of_depth::exposed,
          &detail::step_of_depth::starved, &detail::step_of_depth::peak})
      whole.*f = line(f);
  }
  const auto whole_ns = [](double ns) { return nanoseconds(static_cast<std::int64_t>(ns)); };
  predicted_step result;
  result.micro_batch = whole_ns(whole.micro);
  result.last = whole_ns(whole.last);
  result.exposed = whole_ns(whole.exposed);
  result.starved = whole_ns(whole.starved);
  result.peak = bytes(static_cast<std::int64_t>(whole.peak));

  const training_layout& layout = stated.layout;
  const double computed = static_cast<double>(stated.model.parameter_count()) / static_cast<double>(layout.tensor);
  const double updated = layout.stage == zero_stage::none ? computed : computed / static_cast<double>(layout.shards);
  optimizer_options optimizer = stated.framework.optimizer;
  if (layout.stage != zero_stage::optimizer) optimizer.gathered_bytes = 0;
  const device_mesh mesh = layout.mesh();
  group_shape shared{.ranks_per_node = 1, .nodes = 1};
  if (layout.shards > 1) shared = mesh.group_along(layout.replicas > 1 ? 1 : 0, compute.device.devices_per_node);
  result.optimizer = work_of_optimizer(updated, computed, shared, compute, collectives, optimizer);
  if (stated.framework.hides_gathering)  // a forward part is about a third
    result.optimizer.gathering = std::max(nanoseconds(), result.optimizer.gathering - result.micro_batch / 3);
  result.state = bytes(static_cast<std::int64_t>(updated * optimizer.state_bytes));
  if (stated.framework.gradients_stay || stated.micro_batches > 1)
    result.gradients = bytes(static_cast<std::int64_t>(updated * optimizer.gradient_bytes));
  result.memory = bytes(static_cast<std::int64_t>(
      static_cast<double>((result.peak + result.state + result.gradients).count()) * stated.framework.reserved));
  result.step = result.micro_batch * (stated.micro_batches - 1) + result.last + result.optimizer.all();
  return result;
}

}  // namespace v0
}  // namespace shardweave
