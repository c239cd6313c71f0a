#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/memory/held_values.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/step/fastest_plan_options.hpp>
#include <shardweave/step/fitted_plan.hpp>
#include <shardweave/step/memory_limit.hpp>
#include <shardweave/step/pipeline_planner.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_search.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The whole way for the shortest step.

namespace shardweave {
inline namespace v0 {

/// A lowering that tells beforehand what its tasks will take: `work(model, threads)` gives something whose `least()`
/// and `alone()` are work models of the graph, in nanoseconds (see `lowered_work`).
template <class L, class M, class G>
concept foretelling_lowering = lowering_policy<L, M> && requires(const L& policy, const M& model) {
  describe_work(std::declval<const G&>(), policy.work(model, 1U).least(), [](vertex_t<G>) { return std::size_t{1}; });
  describe_work(std::declval<const G&>(), policy.work(model, 1U).alone(), [](vertex_t<G>) { return std::size_t{1}; });
};

/// The shortest step that was found, as a plan, and how far from the best it is at most.
struct fastest_plan_result {
  training_plan plan;
  step_bounds bounds;                               ///< in nanoseconds
  std::shared_ptr<const step_work> work = nullptr;  ///< what the bound is about: what plans take at least
  /// The problem that the bound is about: the plan's, and under a limit on memory what is kept and made again, too.
  std::shared_ptr<const placement_description<double>> bounded = nullptr;
  nanoseconds step_of_least_sum{};  ///< of the plan that a pipeline makes
  std::size_t plans = 0;            ///< made and timed
  bool stopped = false;             ///< a limit ended the search
  /// What a nanosecond of work is worth in the step, by channel, the compute stream first, and along paths.
  std::vector<double> channel_prices = {};
  double path_price = 0;
  /// What is made again, without its graph, which is the plan's; nothing: nothing is.
  std::optional<fitted_plan> fitted = std::nullopt;
  std::optional<nanoseconds> step_without_limit = std::nullopt;  ///< of the same placement, which then does not fit
  /// What a byte of memory is worth in the bound, in ns.
  double memory_price = 0;

  /// How far the step is above the bound, relative to it; +infinity without one.
  [[nodiscard]] double gap() const {
    if (!plan.tasks || !(bounds.bound > 0)) return std::numeric_limits<double>::infinity();
    return static_cast<double>(plan.tasks->after.end_to_end.count()) / bounds.bound - 1;
  }
};

namespace detail {

template <class Pipeline, class G, class Model, class State>
[[nodiscard]] fastest_plan_result fastest_stated(const Pipeline& way, const G& graph, const Model& model,
                                                 const fastest_plan_options& options, const solve_control& control,
                                                 const State& state) {
  stage_clock timed(control);
  fastest_plan_result result;
  training_plan& plan = result.plan;
  plan.problem = timed(plan.stages, "build",
                       [&] { return std::make_shared<const placement_description<double>>(state(timed.rest())); });
  const auto problem = timed(plan.stages, "compile", [&] { return compile(plan.problem, timed.rest()); });
  plan.placement = timed(plan.stages, "solve", [&] { return way.solver.solve(problem, timed.rest()); });
  if (!plan.placement.has_assignment()) return result;

  using planner_type = pipeline_planner<Pipeline, Model>;
  const std::size_t vertices = plan.problem->vertices.size();
  planner_type planner(way, model, vertices, options);
  std::optional<held_values> held;  // where a limit is in the way
  std::once_flag is_held_known;
  const auto held_of_all = [&]() -> const held_values* {
    std::call_once(is_held_known, [&] {
      if (options.held) held = options.held();
    });
    return held ? &*held : nullptr;
  };
  std::optional<typename planner_type::plan> plain;  // of the least sum, made as if there were none
  bool sees_memory = false;                          // where it is in the way
  // one plan is made whatever comes; after a stop nothing else is
  const auto is_over = [&] { return control.stop.stop_requested(); };
  if (!is_over())
    timed(plan.stages, "search", [&] {
      const assignment& start = plan.placement.choice;
      plain = planner(start, timed.rest());
      planner.knows(start, *plain);
      if (!options.memory) return 0;
      const double beside = bytes_of(options.beside, start);
      const bytes peak = simulate(plain->lowered->tasks, plain->order, {.validate = false}).peak;
      const bool fits = static_cast<double>(peak.count()) + beside <= static_cast<double>(options.memory->count());
      if (is_over()) return 0;
      sees_memory = !fits && held_of_all() != nullptr;
      planner.limit(held_of_all);
      if (!is_over()) planner.knows(start, fits ? *plain : planner(start, timed.rest()));
      return 0;
    });
  const auto search = [&] {
    const auto strategies = [&](vertex_t<G> v) { return model.strategy_count(v); };
    const auto work = way.lowering.work(model, control.threads);
    step_work least = describe_work(graph, work.least(), strategies),
              alone = describe_work(graph, work.alone(), strategies);
    if (is_over()) return step_search_result<typename planner_type::plan>{.stopped = true};
    result.bounded = plan.problem;
    assignment start = plan.placement.choice;
    step_search_options how = options.search;
    if (sees_memory) {
      const auto limit = static_cast<double>(options.memory->count());
      result.bounded = std::make_shared<const placement_description<double>>(with_policies(*plan.problem, *held));
      least = with_policies(std::move(least), *held, limit, vertices);
      alone = with_policies(std::move(alone), *held, limit, vertices);
      start = keeping_all(std::move(start), *held);
      how.planned = vertices;
      how.bound.turn = held->moment;
    }
    result.work = std::make_shared<const step_work>(std::move(least));
    const placement_problem<double> searched = sees_memory ? compile(result.bounded, timed.rest()) : problem;
    auto best = search_step(searched, *result.work, alone, way.solver, planner, start, how, timed.rest());
    best.choice.resize(std::min(best.choice.size(), vertices));
    return best;
  };
  step_search_result<typename planner_type::plan> found;
  found.stopped = true;
  if (!is_over())
    timed(plan.stages, "search", [&] {
      try_to([&] { found = search(); }, [](const error& e) { return e.category() == error_category::stopped; });
      return 0;
    });
  result.channel_prices.resize(result.work == nullptr ? 1 : result.work->machines());
  if (std::isfinite(found.first_step))
    result.step_of_least_sum = nanoseconds(static_cast<std::int64_t>(found.first_step));
  result.bounds = std::move(found.bounds);
  result.plans = found.plans;
  result.stopped = found.stopped;
  for (std::size_t r = 0; r < result.bounds.claims.size(); ++r) {
    const std::uint32_t channel = result.bounds.claims[r].channel;
    (channel == step_claim::path ? result.path_price : result.channel_prices[channel]) += result.bounds.weights[r];
    result.memory_price += result.bounds.weights[r] * result.bounds.claims[r].price;
  }
  if (!found.plan) {  // no plan keeps to the memory, or none was looked for: what the pipeline makes tells by how much
    if (!plain) {
      plain.emplace();
      plain->lowered = timed(plan.stages, "lower", [&] {
        return std::make_shared<const lowered_graph>(way.lowering(model, plan.placement.choice));
      });
      plain->order = timed(plan.stages, "schedule", [&] { return way.pass.plan(plain->lowered->tasks, timed.rest()); });
    }
    found.plan = std::move(plain);
    found.choice = plan.placement.choice;
  }
  if (found.choice != plan.placement.choice) {
    plan.placement.choice = std::move(found.choice);
    plan.placement.status = solve_status::feasible;
    plan.placement.statistics.note = "placed for the step, not for the least sum.";
  }
  plan.priced = evaluate(problem, plan.placement.choice);
  plan.placement.objective = plan.priced.objective;
  plan.lowered = *found.plan->lowered;
  if (found.plan->fitted) {
    result.fitted = *found.plan->fitted;
    const planner_type free(way, model, vertices, options);
    const auto unlimited = timed(plan.stages, "search", [&] { return free(plan.placement.choice, timed.rest()); });
    result.step_without_limit = nanoseconds(static_cast<std::int64_t>(unlimited.step));
  }
  timed(plan.stages, "simulate", [&] {
    const task_graph& tasks = plan.lowered->tasks;
    plan.tasks.emplace();
    plan.tasks->order = std::move(found.plan->order);
    plan.tasks->buckets.buckets = plan.tasks->order.buckets;
    plan.tasks->before = simulate(tasks);
    plan.tasks->makespan_bound = makespan_bound(tasks, plan.tasks->order.buckets).value();
    plan.tasks->after = simulate(tasks, plan.tasks->order, {.memory_samples = true});
    return 0;
  });
  return result;
}

}  // namespace detail

/// The plan of the shortest step that the policies of a pipeline lead to, over placements, buckets and orders, and a
/// bound on the step of every plan (`search_step`). Begins with the placement of the least sum, and with the plan that
/// the pipeline makes of it. Savings that the pipeline counts do not count here: what hides is timed.
///
///     const auto fastest = fastest_plan(pipeline{auto_solver{}, benefit<>{}}, model, constraints);
///
/// `control` limits the whole; `control.gap` is for the placement of the least sum.
/// \throws error as `pipeline::run` does
template <class Solver, class Pass, class Lowering>
  requires foretelling_lowering<Lowering, spmd_cost_model, compressed_graph>
[[nodiscard]] fastest_plan_result fastest_plan(const pipeline<Solver, Pass, Lowering>& way,
                                               const spmd_cost_model& model, const constraint_set& constraints = {},
                                               const fastest_plan_options& options = {},
                                               const solve_control& control = {}) {
  return detail::fastest_stated(way, model.graph(), model, options, control,
                                [&](const solve_control& rest) { return describe(model, constraints, rest); });
}

/// The same for any graph and cost model with costs in double, which the lowering understands and of whose work it
/// tells. \param names  as `describe` takes them
template <class Solver, class Pass, class Lowering, planning_graph G, cost_model<G> M,
          vertex_names<G> Names = unnamed_vertices>
[[nodiscard]] fastest_plan_result fastest_plan(const pipeline<Solver, Pass, Lowering>& way, const G& graph,
                                               const M& model, const constraint_set& constraints = {},
                                               const fastest_plan_options& options = {},
                                               const solve_control& control = {}, const Names& names = {}) {
  static_assert(foretelling_lowering<Lowering, M, G>,
                "The lowering does not tell beforehand what its tasks take: a const member work(model, threads) that "
                "returns something with const members least() and alone(), work models of the graph "
                "(shardweave::foretelling_lowering).");
  return detail::fastest_stated(way, graph, model, options, control, [&](const solve_control& rest) {
    return describe(graph, model, constraints, rest, names);
  });
}

}  // namespace v0
}  // namespace shardweave
