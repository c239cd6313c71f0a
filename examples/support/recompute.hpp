#pragma once

#include "unless_stopped.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/memory/recompute_block.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/step/fitted_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What a plan makes again in its backward part, so that it fits a device.

namespace programs {

struct named_recomputation {
  std::string name;
  std::string about;
};

[[nodiscard]] inline std::vector<named_recomputation> recomputations() {
  return {{"auto", "nothing where the plan fits; else what costs least, layer by layer, until it does"},
          {"none", "nothing: what the backward part reads is kept"},
          {"full", "every layer keeps its input alone"},
          {"selective_op",
           "torchtitan's: a layer keeps attention, reduce-scatters and every first of two products; all else again"},
          {"selective", "Megatron's: the core of attention alone is made again"}};
}

/// The rule of that name; nothing for `auto`.
[[nodiscard]] inline std::optional<shardweave::recompute_rule> rule_of(const std::string& name) {
  using enum shardweave::recompute_rule;
  if (name == "none") return none;
  if (name == "full") return full;
  if (name == "selective_op") return selective_op;
  if (name == "selective") return attention;
  return std::nullopt;
}

/// A lowered plan that makes values again, and what it came to.
struct recomputed_plan {
  shardweave::fitted_plan fitted;
  shardweave::task_plan tasks;
};

/// By operation: its layer; ~0 = in none.
[[nodiscard]] inline std::vector<std::uint32_t> layers_of(const shardweave::computation& model) {
  std::vector<std::uint32_t> layer;
  for (const shardweave::operation& op : model.operations)
    layer.push_back(op.layer < 0 ? ~0U : static_cast<std::uint32_t>(op.layer));
  return layer;
}

/// The quickest plan that makes values again and holds no more than `limit` in the simulator; nothing if none was
/// found. \param run  gives a task graph buckets and an order, within `limit` if it can
/// \param host_bandwidth  of values that wait in the host's memory; 0: none do
/// \param regathers       as `fitting_options` has it; of a lowering that does not gather again itself
template <class Run>
[[nodiscard]] std::optional<recomputed_plan> fit_by_recomputation(const shardweave::lowered_graph& lowered,
                                                                  const shardweave::computation& model,
                                                                  shardweave::bytes limit, double host_bandwidth,
                                                                  std::optional<bool> regathers, const Run& run,
                                                                  const shardweave::solve_control& control) {
  namespace sw = shardweave;
  std::optional<sw::task_plan> last;
  const auto order = [&](const sw::task_graph& g) {
    last = run(g);
    return last->order;
  };
  const auto fit = [&](double rate) {
    return sw::fit_by_recomputation(lowered, layers_of(model), limit, order,
                                    {.regathers = regathers, .host_bandwidth = rate}, control);
  };
  auto fitted = fit(0);
  if (host_bandwidth > 0)
    if (auto other = fit(host_bandwidth); other && (!fitted || other->end < fitted->end)) fitted = std::move(other);
  if (!fitted) return std::nullopt;
  if (last->after.end_to_end != fitted->end || last->after.peak > limit) last = run(fitted->lowered.tasks);
  return recomputed_plan{*std::move(fitted), *std::move(last)};
}

/// What a lowered plan holds at least in its own order, whatever it makes again, gathers again and copies to the host;
/// nothing if the control's limits came first.
[[nodiscard]] inline std::optional<shardweave::bytes> least_memory_of(const shardweave::lowered_graph& lowered,
                                                                      const shardweave::computation& model,
                                                                      double host_bandwidth,
                                                                      const shardweave::solve_control& control) {
  namespace sw = shardweave;
  std::optional<sw::bytes> least;
  const std::vector<std::uint32_t> blocks = sw::blocks_of_tasks(lowered, layers_of(model));
  sw::solve_control any_choice = control;  // that fits, however long it takes
  any_choice.gap = 1e9;
  bool is_whole = false;
  unless_stopped([&] {
    for (const bool regathers : {false, true}) {
      const sw::activation_options how{.regather = regathers, .host_bandwidth = host_bandwidth};
      const sw::recomputation_choices choices(lowered.tasks, blocks, how, control);
      sw::bytes limit;  // rises from row to row to what the next one needs
      while (!least || limit < *least) {
        const sw::recomputation_plan plan = choices.within(limit, any_choice);
        if (plan.graph) least = limit;
        if (!plan.chosen.shortage || plan.chosen.shortage->least <= limit) break;
        limit = plan.chosen.shortage->least;
      }
    }
    is_whole = true;
  });
  return is_whole ? least : std::nullopt;
}

/// The same by a rule, whatever it holds.
/// \param regathers  parameters are gathered again, by what makes values again, too; of a lowering that does not itself
template <class Run>
[[nodiscard]] recomputed_plan recomputed_by_rule(const shardweave::lowered_graph& lowered,
                                                 const shardweave::computation& model, shardweave::recompute_rule rule,
                                                 std::uint32_t every, bool regathers, const Run& run) {
  namespace sw = shardweave;
  auto chosen = sw::recompute_by_rule(lowered.tasks, sw::blocks_of_tasks(lowered, layers_of(model)), rule,
                                      {.regather = regathers}, every);
  recomputed_plan plan{sw::with_again(lowered, std::move(chosen), regathers), {}};
  plan.tasks = run(plan.fitted.lowered.tasks);
  return plan;
}

/// What is made again, kept and lent, in a sentence; and what the limit costs, if that is known.
[[nodiscard]] inline std::string recomputation_text(const shardweave::fitted_plan& plan, shardweave::nanoseconds step,
                                                    std::optional<shardweave::nanoseconds> without_limit) {
  namespace sw = shardweave;
  std::size_t layers = 0;
  for (const sw::block_policy& policy : plan.chosen.policies) layers += policy.time > sw::nanoseconds(0) ? 1U : 0U;
  std::string text =
      layers == 0 ? "No value is made again"
                  : sw::time_text(plan.time) + " of it make values of " + sw::count_text(layers, "layer") + " again";
  text += "; the layers keep " + sw::size_text(plan.chosen.chosen.kept) + " for the backward part";
  if (plan.chosen.chosen.offloaded > sw::bytes(0))
    text += " and lend " + sw::size_text(plan.chosen.chosen.offloaded) + " to the host";
  if (plan.regathers) text += "; parameters are gathered again";
  text += ".\n";
  if (without_limit && step > *without_limit)
    text += "Without the limit this placement takes " + sw::time_text(*without_limit) + ": memory costs " +
            sw::time_text(step - *without_limit) + ".\n";
  else if (without_limit)
    text += "The limit costs nothing: without it this placement takes " + sw::time_text(*without_limit) + ".\n";
  return text;
}

}  // namespace programs
