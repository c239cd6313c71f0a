#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/memory/recompute_block.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/spmd/computation.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
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
  shardweave::lowered_graph lowered;
  shardweave::task_plan tasks;
  shardweave::recomputation_plan chosen;  ///< without its graph, which is `lowered.tasks`
  shardweave::nanoseconds time{};         ///< of what is done twice
  bool regathers = false;                 ///< parameters are gathered again for the backward part
};

/// By task: the layer of its operation.
[[nodiscard]] inline std::vector<std::uint32_t> layers_of(const shardweave::lowered_graph& lowered,
                                                          const shardweave::computation& model) {
  std::vector<std::uint32_t> layer;
  for (const shardweave::task_origin& from : lowered.origin) {
    const std::int64_t own = model.operations[from.operation].layer;
    layer.push_back(own < 0 ? shardweave::no_index : static_cast<std::uint32_t>(own));
  }
  return layer;
}

namespace detail {

/// The lowered graph whose tasks a recomputation wrote.
[[nodiscard]] inline recomputed_plan as_lowered(const shardweave::lowered_graph& given,
                                                shardweave::recomputation_plan chosen, bool regathers) {
  shardweave::recomputed_graph graph = *std::move(chosen.graph);
  chosen.graph.reset();
  recomputed_plan plan{
      .lowered = {}, .tasks = {}, .chosen = std::move(chosen), .time = graph.compute, .regathers = regathers};
  std::vector<shardweave::task_index> now(given.tasks.size(), shardweave::no_index);
  for (shardweave::task_index t = 0; t < graph.tasks.size(); ++t) {
    shardweave::task_origin from = given.origin[graph.original[t]];
    from.again = from.again || graph.again[t];
    plan.lowered.origin.push_back(from);
    if (now[graph.original[t]] == shardweave::no_index) now[graph.original[t]] = t;
  }
  for (const shardweave::task_index t : given.task_of) plan.lowered.task_of.push_back(now[t]);
  plan.lowered.tasks = std::move(graph.tasks);
  return plan;
}

}  // namespace detail

/// The quickest plan that makes values again and holds no more than `limit` in the simulator, parameters gathered again
/// or not; nothing if none was found. An order that launches collectives early holds more than the graph's own one:
/// then more is made again, a few times.
/// \param run  gives a task graph buckets and an order, within `limit` if it can
template <class Run>
[[nodiscard]] std::optional<recomputed_plan> fit_by_recomputation(const shardweave::lowered_graph& lowered,
                                                                  const shardweave::computation& model,
                                                                  shardweave::bytes limit, const Run& run,
                                                                  const shardweave::solve_control& control) {
  namespace sw = shardweave;
  constexpr int most_tries = 4;
  const sw::deadline clock(control);
  const std::vector<std::uint32_t> layers = layers_of(lowered, model);
  std::optional<recomputed_plan> best;
  for (const bool regathers : {false, true}) {
    const sw::recomputation_choices choices(lowered.tasks, layers, {.regather = regathers}, clock.rest_for_part());
    sw::bytes aim = limit;
    for (int i = 0; i < most_tries && aim > sw::bytes(0); ++i) {
      sw::solve_control rest = clock.rest_for_part();
      rest.gap = 1e-3;
      auto chosen = choices.within(aim, rest);
      if (!chosen.graph) break;
      recomputed_plan plan = detail::as_lowered(lowered, std::move(chosen), regathers);
      plan.tasks = run(plan.lowered.tasks);
      const sw::bytes over = plan.tasks.after.peak - limit;
      if (over <= sw::bytes(0)) {
        if (!best || plan.tasks.after.end_to_end < best->tasks.after.end_to_end) best = std::move(plan);
        break;
      }
      aim -= over;
      if (clock.expired()) break;
    }
    if (clock.expired()) break;
  }
  return best;
}

/// The same by a rule, whatever it holds.
template <class Run>
[[nodiscard]] recomputed_plan recomputed_by_rule(const shardweave::lowered_graph& lowered,
                                                 const shardweave::computation& model, shardweave::recompute_rule rule,
                                                 std::uint32_t every, const Run& run) {
  auto chosen = shardweave::recompute_by_rule(lowered.tasks, layers_of(lowered, model), rule, {}, every);
  recomputed_plan plan = detail::as_lowered(lowered, std::move(chosen), false);
  plan.tasks = run(plan.lowered.tasks);
  return plan;
}

/// What is made again, in a sentence.
[[nodiscard]] inline std::string recomputation_text(const recomputed_plan& plan) {
  namespace sw = shardweave;
  std::size_t layers = 0;
  for (const sw::block_policy& policy : plan.chosen.policies) layers += policy.time > sw::nanoseconds(0) ? 1U : 0U;
  std::string text = sw::time_text(plan.time) + " of it make values of " + std::to_string(layers) +
                     " layers again, which keep " + sw::size_text(plan.chosen.chosen.kept);
  if (plan.regathers) text += "; parameters are gathered again";
  return text + ".\n";
}

}  // namespace programs
