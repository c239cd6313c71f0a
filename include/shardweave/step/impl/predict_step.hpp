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
#include <shardweave/tasks/memory_tracker.hpp>

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
  double early = 0, late = 0;  ///< peak bytes until the backward part of the last layers ends, and after that of the
                               ///< first layers begins
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
    const recomputed_graph again = with_recomputation(lowered.tasks, dropped(lowered, operations, layer_of));
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

  /// By storage: whether it is recomputed, by the rule, or as made of sharded parameters alone.
  [[nodiscard]] std::vector<char> dropped(const lowered_graph& lowered, const computation& operations,
                                          const std::vector<std::uint32_t>& layer_of) const {
    const task_graph& g = lowered.tasks;
    std::vector<char> result =
        s_.kept_products
            ? dropped_storages(g, layer_of,
                               [&](task_index t) {
                                 if ((layer_of[t] + 1) % s_.recompute_every != 0) return false;
                                 const std::string& group = operations.operations[lowered.origin[t].operation].group;
                                 const std::vector<std::string>& kept = *s_.kept_products;
                                 return g.op(t) != "einsum" || std::find(kept.begin(), kept.end(), group) == kept.end();
                               })
            : dropped_by_rule(g, layer_of, s_.recompute, s_.recompute_every);
    if (s_.framework.compiles) drop_elementwise(result, lowered, operations);
    if (s_.layout.stage != zero_stage::parameters || s_.layout.sharers() == 1 || !s_.gathers_again) return result;
    // some frameworks keep the last layer, and what is outside of layers, gathered
    std::uint32_t last = 0;
    for (const std::uint32_t layer : layer_of) last = std::max(last, layer == no_index ? 0 : layer);
    const auto stays = [&](task_index t) {
      return s_.framework.keeps_last_gathered && (layer_of[t] == no_index || layer_of[t] == last);
    };
    std::vector<char> is_given(g.storages().size());
    for (task_index t = 0; t < g.size(); ++t)
      if (g.kind(t) == task_kind::input) each_storage(g, t, [&](std::uint32_t storage) { is_given[storage] = 1; });
    for (task_index t = 0; t < g.size(); ++t)
      if (g.when(t) == phase::forward && g.role(t) == task_role::parameter && !stays(t))
        each_storage(g, t, [&](std::uint32_t storage) { result[storage] = is_given[storage] == 0 ? 1 : 0; });
    return result;
  }

  template <class Visit>
  static void each_storage(const task_graph& g, task_index t, Visit visit) {
    for (std::size_t i = 0; i < g.output_count(t); ++i)
      if (const std::uint32_t storage = g.output_storage(t, i); storage != no_index) visit(storage);
  }

  /// A compiler does not keep results of element-wise work that are read by element-wise work of the backward part and
  /// can be made from values that are kept anyway: the kernel that reads them recomputes them. Results of reductions
  /// are kept.
  /// Source: the min-cut partitioner of PyTorch's AOTAutograd, whose cuts in a transformer's layer are of this kind.
  void drop_elementwise(std::vector<char>& dropped, const lowered_graph& lowered, const computation& operations) const {
    const task_graph& g = lowered.tasks;
    const auto is_late = [&](task_index t) { return g.when(t) && *g.when(t) != phase::forward; };
    const auto fuses = [&](task_index t) {
      const std::vector<std::string>& apart = s_.framework.eager_parts;
      const std::string& group = operations.operations[lowered.origin[t].operation].group;
      return g.kind(t) == task_kind::other && g.op(t) != "quantize" && !lowered.origin[t].is_redistribution() &&
             std::find(apart.begin(), apart.end(), group) == apart.end();
    };
    const std::size_t count = g.storages().size();
    std::vector<char> is_read_late(count), is_fixed(count), is_there(count);
    std::vector<task_index> maker(count, no_index);
    for (task_index t = 0; t < g.size(); ++t) {
      each_storage(g, t, [&](std::uint32_t storage) {
        if (maker[storage] == no_index) maker[storage] = t;
        if (g.kind(t) == task_kind::input || g.role(t) == task_role::parameter) is_there[storage] = 1;
      });
      if (!is_late(t)) continue;
      for (const task_index p : g.inputs(t))
        each_storage(g, p, [&](std::uint32_t storage) {
          is_read_late[storage] = 1;
          if (!fuses(t) && g.kind(t) != task_kind::view) is_fixed[storage] = 1;
        });
    }
    // in the order of their makers: whether it can be made from kept values, without further ones being kept
    std::vector<char> is_made_of_kept(count);
    for (task_index t = 0; t < g.size() && !is_late(t); ++t)
      each_storage(g, t, [&](std::uint32_t storage) {
        if (maker[storage] != t || is_there[storage] != 0) return;
        bool can = fuses(t);
        bytes largest{};
        for (const task_index p : g.inputs(t))
          each_storage(g, p, [&](std::uint32_t from) {
            largest = std::max(largest, g.storages()[from].size);
            can = can && (is_there[from] != 0 || is_made_of_kept[from] != 0);
          });
        can = can && g.storages()[storage].size * 4 > largest;
        if (can && is_fixed[storage] == 0) {
          is_made_of_kept[storage] = 1;
          dropped[storage] = 1;
        } else if (is_read_late[storage] != 0 && dropped[storage] == 0) {
          is_there[storage] = 1;
        }
      });
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
    hold(result, g, order, layer, layers);
    result.micro = result.last;
    if (!reduces_each() && s_.micro_batches > 1) {
      schedule apart = order;  // unreduced gradients need no buckets
      const std::vector<bool> reduces = reductions(g);
      std::erase_if(apart.buckets, [&](const bucket& b) { return reduces[b.members.front()]; });
      result.micro = static_cast<double>(simulate(without(g, reduces), apart, host).line.end_to_end.count());
    }
    return result;
  }

  /// Peak memory of both parts of the step, without gradients that stay.
  void hold(step_of_depth& result, const task_graph& g, const schedule& order, const std::vector<std::uint32_t>& layer,
            std::int64_t layers) const {
    std::vector<char> stays(g.storages().size());
    if (gradients_stay())
      for (task_index t = 0; t < g.size(); ++t)
        if (g.kind(t) == task_kind::output)
          for (const task_index p : g.inputs(t))
            for (std::size_t i = 0; i < g.output_count(p); ++i)
              if (g.role(p) == task_role::gradient && g.output_storage(p, i) != no_index)
                stays[g.output_storage(p, i)] = 1;
    const storage_uses uses = storage_uses(g).only([&](std::uint32_t storage) { return stays[storage] == 0; });
    memory_tracker memory(uses, g.storages().size());
    std::vector<std::uint32_t> bucket_of(g.size(), no_index);
    std::vector<std::size_t> waiting;
    for (const bucket& b : order.buckets) {
      for (const task_index t : b.members) bucket_of[t] = static_cast<std::uint32_t>(waiting.size());
      waiting.push_back(b.members.size());
    }
    std::vector<bool> is_unpacked(order.buckets.size());
    const auto every = static_cast<std::uint32_t>(group_of_layers());
    const auto of_last = static_cast<std::uint32_t>(layers) - std::min(every, static_cast<std::uint32_t>(layers));
    bool is_early = true, is_late = false;
    std::uint32_t reducing = no_index;  // the last bucket of reductions that was launched
    for (const task_index t : order.order) {
      if (g.when(t) != phase::forward && layer[t] != no_index && !g.is_collective(t) && g.kind(t) != task_kind::wait &&
          g.kind(t) != task_kind::input && g.role(t) != task_role::parameter) {
        is_early = is_early && layer[t] >= of_last;
        is_late = is_late || layer[t] < every;
      }
      memory.restart_peak();
      if (g.is_collective(t) && bucket_of[t] != no_index) {
        if (--waiting[bucket_of[t]] == 0) {
          if (g.collective(t).op != collective::all_gather) {  // the bucket before it is done, whenever its wait stands
            if (reducing != no_index && !is_unpacked[reducing]) memory.unpack(order.buckets[reducing]);
            if (reducing != no_index) is_unpacked[reducing] = true;
            reducing = bucket_of[t];
          }
          memory.launch(order.buckets[bucket_of[t]]);
        }
      } else {
        const task_index c = g.kind(t) == task_kind::wait ? g.completes(t) : no_index;
        if (c != no_index && bucket_of[c] != no_index && !is_unpacked[bucket_of[c]]) {
          is_unpacked[bucket_of[c]] = true;
          memory.unpack(order.buckets[bucket_of[c]]);
        }
        memory.run(t);
      }
      const auto most = static_cast<double>(memory.peak().count());
      if (is_early || !is_late) result.early = std::max(result.early, most);
      if (is_late || !is_early) result.late = std::max(result.late, most);
    }
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
    const auto line = [&](double detail::step_of_depth::*f) { return a.*f + (b.*f - a.*f) * further; };
    for (double detail::step_of_depth::*f :
         {&detail::step_of_depth::micro, &detail::step_of_depth::last, &detail::step_of_depth::exposed,
          &detail::step_of_depth::starved, &detail::step_of_depth::early, &detail::step_of_depth::late})
      whole.*f = line(f);
  }
  const auto whole_ns = [](double ns) { return nanoseconds(static_cast<std::int64_t>(ns)); };
  predicted_step result;
  result.micro_batch = whole_ns(whole.micro);
  result.last = whole_ns(whole.last);
  result.exposed = whole_ns(whole.exposed);
  result.starved = whole_ns(whole.starved);
  result.peak = bytes(static_cast<std::int64_t>(std::max(whole.early, whole.late)));

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
