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
#include <shardweave/step/detail/dropped_values.hpp>
#include <shardweave/step/detail/peaks_of_parts.hpp>
#include <shardweave/step/predict_step.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

/// \file
/// Definition of `predict_step`.

namespace shardweave::inline v0 {

namespace detail {

/// Times and memory of a step with a given number of layers.
struct step_of_depth {
  double micro = 0, last = 0, exposed = 0, starved = 0;
  peaks_of_parts peaks = {};
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
    const training_shape shape{.batch = s_.micro_batch * s_.layout.data_ranks(),
                               .sequence = s_.sequence,
                               .loss = s_.framework.loss,
                               .attention = s_.framework.attention_by};
    computation graph = llama_training_graph(config, shape);
    if (s_.f8) graph = with_f8_products(graph, *s_.f8);
    refuse_if_stopped();
    const spmd_cost_model model(std::move(graph), s_.layout.mesh(), compute_, collectives_, rules_,
                                {.reduce_after_cast = s_.framework.reduces_in_f32});
    const auto problem =
        compile(describe(model, layout_constraints(model, s_.layout, s_.gathers_f8), control_), control_);
    const solution<double> placed = auto_solver{}.solve(problem, control_);
    if (!placed.has_assignment())
      refuse(error_category::constraint, "layout " + s_.layout.to_string() + " has no placement");
    const lowered_graph lowered = lower(model, placed.choice, {.wait_shares_storage = true}, control_.stop);
    const computation& operations = model.operations();

    std::vector<std::uint32_t> layer_of;
    for (const task_origin& from : lowered.origin) {
      const std::int64_t layer = operations.operations[from.operation].layer;
      layer_of.push_back(layer < 0 ? no_index : static_cast<std::uint32_t>(layer));
    }
    refuse_if_stopped();
    const recomputed_graph again = with_recomputation(lowered.tasks, dropped_values(s_, lowered, operations, layer_of));
    refuse_if_stopped();

    // groups for fusion: everything, or a part of the model in one phase
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
    refuse_if_stopped();
    return timed(s_.framework.pipelines_tensor_collectives ? showing_one_piece(g) : g, layer, layers);
  }

  /// Whether gradients have memory of their own between micro-batches or steps.
  [[nodiscard]] bool gradients_stay() const { return s_.framework.gradients_stay || s_.micro_batches > 1; }

  /// Whether each micro-batch reduces its gradients, so that a device keeps only its part of them; otherwise they are
  /// accumulated unreduced.
  [[nodiscard]] bool reduces_each() const {
    if (s_.layout.stage == zero_stage::gradients) return true;
    return s_.framework.reduces_each_micro_batch.value_or(!s_.layout.reduces_once());
  }

  /// The period of layers: so many neighbouring layers are gathered and recomputed like those before and after them.
  [[nodiscard]] std::int64_t group_of_layers() const {
    return std::lcm(static_cast<std::int64_t>(s_.recompute_every),
                    static_cast<std::int64_t>(std::max(s_.framework.layers_gathered_together, 1U)));
  }

 private:
  void refuse_if_stopped() const {
    if (control_.stop.stop_requested()) refuse(error_category::stopped, "a stop came before the step was predicted");
  }

  [[nodiscard]] step_of_depth timed(const task_graph& g, const std::vector<std::uint32_t>& layer,
                                    std::int64_t layers) const {
    // modules are the forward and the backward part of a layer, or of some layers together, and what is outside of
    // layers
    const std::uint32_t together = std::max(s_.framework.layers_gathered_together, 1U);
    std::map<std::pair<std::uint32_t, int>, std::vector<task_index>> tasks;
    for (task_index t = 0; t < g.size(); ++t)
      tasks[{layer[t] == no_index ? no_index : layer[t] / together, g.when(t) == phase::forward ? 0 : 1}].push_back(t);
    module_plan plan;
    for (auto& [key, some] : tasks) plan.modules.push_back(std::move(some));
    const schedule order = plan(g, plan(g));
    const machine host(s_.framework.launches, s_.framework.interference);
    const machine_timeline run = simulate(g, order, host);
    step_of_depth result;
    result.last = static_cast<double>(run.line.end_to_end.count());
    result.exposed = static_cast<double>((run.line.exposed + run.line.tail).count());
    result.starved = static_cast<double>(run.starved.count());
    result.peaks = peaks_of(g, order, layer, static_cast<std::uint32_t>(layers),
                            static_cast<std::uint32_t>(group_of_layers()), gradients_stay());
    result.micro = result.last;
    if (!reduces_each() && s_.micro_batches > 1) {
      schedule apart = order;  // unreduced gradients need no buckets
      const std::vector<bool> reduces = reductions(g);
      std::erase_if(apart.buckets, [&](const bucket& b) { return reduces[b.members.front()]; });
      result.micro = static_cast<double>(simulate(without(g, reduces), apart, host).line.end_to_end.count());
    }
    return result;
  }

  /// Exposes one piece of each collective of tensor parallelism, of as many as there are ranks.
  [[nodiscard]] task_graph showing_one_piece(const task_graph& g) const {
    if (s_.layout.tensor == 1) return g;
    const auto tensor = static_cast<std::uint32_t>(g.groups().size() - 1);
    std::vector<nanoseconds> time;
    for (task_index t = 0; t < g.size(); ++t) {
      const bool is_one = g.is_collective(t) && g.collective(t).group == tensor;
      time.push_back(is_one ? g.duration(t) / s_.layout.tensor : g.duration(t));
    }
    return g.with_durations(time);
  }

  /// By task: whether it reduces gradients of parameters. In the backward part these are the collectives among ranks
  /// that see different data, but not gathers; among ranks that share a sequence, which also exchange keys and values,
  /// those with a tag of FSDP.
  [[nodiscard]] std::vector<bool> reductions(const task_graph& g) const {
    const std::vector<bool> of_shards = fsdp_tags(g);
    const std::uint32_t context = (s_.layout.replicas > 1 ? 1U : 0U) + (s_.layout.shards > 1 ? 1U : 0U);
    std::vector<bool> result(g.size());
    for (task_index t = 0; t < g.size(); ++t)
      result[t] = g.is_collective(t) && g.when(t) == phase::backward && g.collective(t).op != collective::all_gather &&
                  (g.collective(t).group < context || of_shards[t]);
    return result;
  }
  /// The same graph with reductions that take no time: gradients stay unreduced.
  [[nodiscard]] static task_graph without(const task_graph& g, const std::vector<bool>& reductions) {
    std::vector<nanoseconds> time;
    for (task_index t = 0; t < g.size(); ++t) time.push_back(reductions[t] ? nanoseconds() : g.duration(t));
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
  if (stated.recompute_every == 0)
    refuse(error_category::input, "values are made again in one of every 0 layers, expected at least 1");
  if (stated.layout.experts != 1)
    refuse(error_category::input,
           "layout " + stated.layout.to_string() + " shares out experts, but the model has none");
  const detail::step_predictor at_depth(stated, compute, collectives, control);
  const std::int64_t every = at_depth.group_of_layers();
  const std::int64_t few = 3 * every, more = 4 * every, layers = stated.model.num_hidden_layers;
  detail::step_of_depth whole;
  if (layers <= more) {
    whole = at_depth.at(layers);
  } else {
    const detail::step_of_depth a = at_depth.at(few), b = at_depth.at(more);
    const double further = static_cast<double>(layers - few) / static_cast<double>(more - few);
    const auto line = [&](double at_few, double at_more) { return at_few + (at_more - at_few) * further; };
    whole = {.micro = line(a.micro, b.micro),
             .last = line(a.last, b.last),
             .exposed = line(a.exposed, b.exposed),
             .starved = line(a.starved, b.starved),
             .peaks = {line(a.peaks.early, b.peaks.early), line(a.peaks.late, b.peaks.late)}};
  }
  const auto whole_ns = [](double ns) { return nanoseconds(static_cast<std::int64_t>(ns)); };
  predicted_step result;
  result.micro_batch = whole_ns(whole.micro);
  result.last = whole_ns(whole.last);
  result.exposed = whole_ns(whole.exposed);
  result.starved = whole_ns(whole.starved);
  result.peak = bytes(static_cast<std::int64_t>(std::max(whole.peaks.early, whole.peaks.late)));

  const training_layout& layout = stated.layout;
  const double computed = static_cast<double>(stated.model.parameter_count()) / static_cast<double>(layout.tensor);
  const double updated = layout.stage == zero_stage::none ? computed : computed / static_cast<double>(layout.sharers());
  optimizer_options optimizer = stated.framework.optimizer;
  optimizer.adds_whole = !at_depth.reduces_each();
  if (!layout.updates_parts())
    optimizer.gathered_bytes = 0;
  else if (optimizer.gathered_bytes <= 0)
    optimizer.gathered_bytes = 2;      // 16 bits, the precision of computation
  training_layout of_shards = layout;  // shards of a sequence count as shards
  of_shards.shards = std::exchange(of_shards.context, 1) * layout.shards;
  const device_mesh mesh = of_shards.mesh();
  std::vector<group_shape> shared;  // groups over which gradients are sharded, that of the shards first
  if (of_shards.shards > 1 && layout.stage != zero_stage::none)
    shared.push_back(mesh.group_along(layout.replicas > 1 ? 1 : 0, compute.device.devices_per_node));
  else
    optimizer.gathered_bytes = 0;
  if (layout.tensor > 1) shared.push_back(mesh.group_along(mesh.rank() - 1, compute.device.devices_per_node));
  result.optimizer = work_of_optimizer(updated, computed, shared, compute, collectives, optimizer);
  if (stated.framework.hides_gathering)  // the forward part takes about a third of a micro-batch
    result.optimizer.gathering = std::max(nanoseconds(), result.optimizer.gathering - result.micro_batch / 3);
  result.state = bytes(static_cast<std::int64_t>(updated * optimizer.state_bytes));
  if (at_depth.gradients_stay())
    result.gradients =
        bytes(static_cast<std::int64_t>((optimizer.adds_whole ? computed : updated) * optimizer.gradient_bytes));
  result.memory = bytes(static_cast<std::int64_t>(
      static_cast<double>((result.peak + result.state + result.gradients).count()) * stated.framework.reserved));
  result.step = (result.micro_batch + result.optimizer.accumulation) * (stated.micro_batches - 1) + result.last +
                result.optimizer.all();
  return result;
}

}  // namespace shardweave::inline v0
