#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_search.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/tasks/schedule_types.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
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

struct fastest_plan_options {
  step_search_options search = {};
  /// Budget for the peak of a timeline, inputs included: a plan that exceeds it does not count. The policies of the
  /// pipeline are told of it by who made them.
  std::optional<bytes> memory = std::nullopt;
  /// Of the search over orders at its first glance (`search::changes`); ten times as many for the plan that is kept.
  std::size_t changes = 3000;
  bool rebucket = true;  ///< that search may change buckets, too
};

/// The shortest step that was found, as a plan, and how far from the best it is at most.
struct fastest_plan_result {
  training_plan plan;
  step_bounds bounds;                               ///< in nanoseconds
  std::shared_ptr<const step_work> work = nullptr;  ///< what the bound is about: what plans take at least
  nanoseconds step_of_least_sum{};                  ///< of the plan that a pipeline makes
  std::size_t plans = 0;                            ///< made and timed
  bool stopped = false;                             ///< a limit ended the search
  /// What a nanosecond of work is worth in the step, by channel, the compute stream first, and along paths.
  std::vector<double> channel_prices = {};
  double path_price = 0;

  /// How far the step is above the bound, relative to it; +infinity without one.
  [[nodiscard]] double gap() const {
    if (!plan.tasks || !(bounds.bound > 0)) return std::numeric_limits<double>::infinity();
    return static_cast<double>(plan.tasks->after.end_to_end.count()) / bounds.bound - 1;
  }
};

namespace detail {

/// Makes plans by the policies of a pipeline.
template <class Pipeline, class Model>
class pipeline_planner {
 public:
  struct plan {
    double step = std::numeric_limits<double>::infinity();
    std::shared_ptr<const lowered_graph> lowered = nullptr;
    schedule order = {};
  };

  pipeline_planner(const Pipeline& way, const Model& model, const fastest_plan_options& options)
      : way_(way), model_(model), options_(options) {}

  [[nodiscard]] plan operator()(std::span<const strategy> choice, const solve_control& control) const {
    // passes that take all the time they are given would leave none for the next plan
    const solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
    plan made;
    made.lowered = std::make_shared<const lowered_graph>(way_.lowering(model_, choice));
    made.order = way_.pass.plan(made.lowered->tasks, part);
    made.step = step_of(made);
    return made;
  }
  [[nodiscard]] plan improved(const plan& known, std::size_t effort, const solve_control& control) const {
    const task_graph& tasks = known.lowered->tasks;
    search<> by{.changes = options_.changes * effort, .runs = 12 * effort, .rebucket = options_.rebucket};
    const auto peak = [&](const schedule& s) { return simulate(tasks, s, {.validate = false}).peak; };
    by.memory = options_.memory ? *options_.memory : std::max(peak(in_order{}(tasks, {})), peak(known.order));
    solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
    if (effort > 1) part.seconds = control.seconds;
    plan better{.lowered = known.lowered, .order = by.improve(tasks, known.order, part)};
    better.step = step_of(better);
    return better;
  }

 private:
  [[nodiscard]] double step_of(const plan& made) const {
    const timeline line = simulate(made.lowered->tasks, made.order, {.validate = false});
    if (options_.memory && line.peak > *options_.memory) return std::numeric_limits<double>::infinity();
    return static_cast<double>(line.end_to_end.count());
  }

  const Pipeline& way_;
  const Model& model_;
  const fastest_plan_options& options_;
};

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
  const planner_type planner(way, model, options);
  auto found = timed(plan.stages, "search", [&] {
    const auto strategies = [&](vertex_t<G> v) { return model.strategy_count(v); };
    const auto work = way.lowering.work(model, control.threads);
    result.work = std::make_shared<const step_work>(describe_work(graph, work.least(), strategies));
    const step_work alone = describe_work(graph, work.alone(), strategies);
    result.channel_prices.resize(result.work->channels);
    return search_step(problem, *result.work, alone, way.solver, planner, plan.placement.choice, options.search,
                       timed.rest());
  });
  if (std::isfinite(found.first_step))
    result.step_of_least_sum = nanoseconds(static_cast<std::int64_t>(found.first_step));
  result.bounds = std::move(found.bounds);
  result.plans = found.plans;
  result.stopped = found.stopped;
  for (std::size_t r = 0; r < result.bounds.claims.size(); ++r) {
    const std::uint32_t channel = result.bounds.claims[r].channel;
    (channel == step_claim::path ? result.path_price : result.channel_prices[channel]) += result.bounds.weights[r];
  }
  if (!found.plan) {  // no plan keeps to the memory: what the pipeline makes tells by how much
    typename planner_type::plan first;
    first.lowered = std::make_shared<const lowered_graph>(way.lowering(model, plan.placement.choice));
    first.order = way.pass.plan(first.lowered->tasks, timed.rest());
    found.plan = std::move(first);
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
