#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The whole way: placement, lowering, bucketing, schedule, timeline.

namespace shardweave::inline v0 {

// The defaults; who uses one includes <shardweave/solve/auto_solver.hpp>, <shardweave/lowering/spmd_lowering.hpp>.
struct auto_solver;
struct spmd_lowering;

/// A task graph with its buckets, its order and what they come to.
struct task_plan {
  bucketing_result buckets;  ///< of a pass that decides them with the order: those of `order`
  schedule order;
  timeline before;  ///< of the original order, nothing merged
  timeline after;
  nanoseconds makespan_bound;  ///< no order with these buckets ends earlier
  std::vector<stage_time> stages;
};

/// All that was decided on the way from a computation to its timeline. `lowered` and `tasks` are there only if an
/// assignment was found.
struct training_plan {
  std::shared_ptr<const placement_description<double>> problem;
  solution<double> placement;
  evaluation<double> priced;
  std::optional<lowered_graph> lowered;
  std::optional<task_plan> tasks;
  std::vector<stage_time> stages;
};

namespace detail {

/// Times the stages of one run and tells the caller where it stands.
class stage_clock {
 public:
  explicit stage_clock(const solve_control& control) : control_(&control), limit_(control) {}

  template <class Work>
  auto operator()(std::vector<stage_time>& stages, const char* stage, Work work) {
    if (control_->progress) control_->progress({.stage = stage, .seconds = limit_.elapsed(), .is_new = true});
    const double start = limit_.elapsed();
    auto result = work();
    stages.push_back({stage, limit_.elapsed() - start});
    return result;
  }
  [[nodiscard]] solve_control rest() const { return limit_.rest(); }

 private:
  const solve_control* control_;
  deadline limit_;
};

/// One entry per stage, where a stage was run for two plans.
inline void join_equal(std::vector<stage_time>& stages) {
  std::vector<stage_time> joined;
  for (const stage_time& s : stages) {
    const auto known = std::ranges::find(joined, s.stage, &stage_time::stage);
    if (known == joined.end()) {
      joined.push_back(s);
    } else {
      known->seconds += s.seconds;
    }
  }
  stages = std::move(joined);
}

/// The problem that a model states by a function of its own namespace; a static assertion rejects other types.
template <class M>
[[nodiscard]] placement_description<double> stated_by(const M& model, const constraint_set& constraints,
                                                      const solve_control& control) {
  constexpr bool states = requires {
    { describe(model, constraints, control) } -> std::same_as<placement_description<double>>;
  };
  static_assert(states,
                "A model without a graph beside it must state its problem by a function describe(model, "
                "constraint_set, solve_control) of its namespace; that of spmd_cost_model is declared in "
                "<shardweave/spmd/describe_spmd.hpp>.");
  if constexpr (states) return describe(model, constraints, control);
}

/// Calls a lowering; a static assertion rejects other types.
template <class L, class M>
[[nodiscard]] lowered_graph lowered_by(const L& policy, const M& model, std::span<const strategy> chosen) {
  static_assert(lowering_policy<L, M>,
                "The lowering of a pipeline must make a lowered_graph of the cost model and an assignment; the default "
                "one does of spmd_cost_model alone (shardweave::lowering_policy).");
  if constexpr (lowering_policy<L, M>) return policy(model, chosen);
}

}  // namespace detail

/// Composes a solver, a lowering, and what decides buckets and order.
///
///     const auto plan = pipeline{auto_solver{}, greedy{}, prefetch{}}.run(model, constraints);
///
/// Every stage is a free function of its own (`compile`, `lower`, `bucket_collectives`, `schedule_tasks`,
/// `simulate`); this runs them one after the other and keeps what each gave. Buckets and order are one policy,
/// `Pass`: a bucketing policy and a scheduler become `two_steps`, one policy that decides both (`scheduling_pass`) is
/// asked once. A cost model of a host's own takes a lowering of its own: the fourth argument, or the third after a
/// pass. The default solver and the default lowering, that of `spmd_cost_model`, are only declared here: who uses them
/// includes `shardweave/solve/auto_solver.hpp` (or the entry header) and
/// `shardweave/lowering/spmd_lowering.hpp`. A pipeline is a value, `run` is const.
template <class Solver = auto_solver, class Pass = two_steps<greedy, prefetch>, class Lowering = spmd_lowering>
class pipeline {
  static_assert(detail::defined<Solver>,
                "The solver of a pipeline is only declared: the default one is defined in "
                "<shardweave/solve/auto_solver.hpp>.");
  static_assert(detail::defined<Lowering>,
                "The lowering of a pipeline is only declared: the default one, of spmd_cost_model, is defined in "
                "<shardweave/lowering/spmd_lowering.hpp>.");
  static_assert(detail::solves_if_defined<Solver, double>,
                "The first policy of a pipeline must be a solver for placement problems with costs in double "
                "(shardweave::solver).");
  static_assert(
      scheduling_pass<Pass>,
      "The second policy of a pipeline must be a bucketing policy with a scheduler after it, or have a static "
      "member name and a const member plan(task_graph, solve_control) that returns a schedule "
      "(shardweave::scheduling_pass).");

 public:
  Solver solver;
  Pass pass;
  Lowering lowering;
  savings_form counted = savings_form::off;  ///< whether placing counts what may hide
  windows_form windows = {};                 ///< form `windows`: how early at most, and whether every edge may hide
  /// Where savings count, place without them first, begin with that plan when they count, and keep what the simulator
  /// finds faster: a prediction of what hides knows neither buckets nor schedule, and must not cost time.
  /// `training_plan::problem` is the one that was kept.
  bool compare = true;

  explicit pipeline(Solver placement_solver = {}, Pass bucket_and_order = {}, Lowering how_to_lower = {})
      : solver(std::move(placement_solver)), pass(std::move(bucket_and_order)), lowering(std::move(how_to_lower)) {}

  template <bucketing_policy Bucketing, scheduler Scheduler>
    requires std::same_as<Pass, two_steps<Bucketing, Scheduler>>
  pipeline(Solver placement_solver, Bucketing bucketing, Scheduler order, Lowering how_to_lower = {})
      : pipeline(std::move(placement_solver), {std::move(bucketing), std::move(order)}, std::move(how_to_lower)) {}
  template <bucketing_policy Bucketing>
    requires std::same_as<Pass, two_steps<Bucketing, prefetch>>
  pipeline(Solver placement_solver, Bucketing bucketing)
      : pipeline(std::move(placement_solver), Pass{std::move(bucketing), {}}) {}

  /// From a cost model that knows its graph to the timeline of one device. `control` limits the whole.
  /// \param model  whose problem `describe(model, constraints, control)` states, a function of the model's namespace;
  ///               that of `spmd_cost_model` is declared in `shardweave/spmd/describe_spmd.hpp`
  /// \throws error (constraint) if the constraints contradict each other, (input) for wrong data, (stopped) if a
  ///         limit came before the problem was built
  template <class M>
  [[nodiscard]] training_plan run(const M& model, const constraint_set& constraints,
                                  const solve_control& control = {}) const {
    return run_stated(model, control,
                      [&](const solve_control& rest) { return detail::stated_by(model, constraints, rest); });
  }

  /// The same for any graph and cost model with costs in double, which the lowering understands. Edges that may hide
  /// are those that an `overlap_cost_model` names.
  /// \param names  as `describe` takes them
  template <planning_graph G, class M, class Names = unnamed_vertices>
  [[nodiscard]] training_plan run(const G& graph, const M& model, const constraint_set& constraints = {},
                                  const solve_control& control = {}, const Names& names = {}) const {
    static_assert(std::same_as<typename detail::cost_of<M>::type, double>, "A pipeline plans with costs in double.");
    if constexpr (detail::is_cost_model<M, G>())
      return run_stated(model, control,
                        [&](const solve_control& rest) { return describe(graph, model, constraints, rest, names); });
    else
      return {};
  }

  /// From a task graph, lowered here or captured elsewhere.
  /// \throws error if the graph's order is not topological, or a bucket cannot be priced
  [[nodiscard]] task_plan run(const task_graph& graph, const solve_control& control = {}) const {
    detail::stage_clock timed(control);
    task_plan plan;
    decide(pass, graph, timed, plan);
    plan.after = timed(plan.stages, "simulate", [&] {
      plan.before = simulate(graph);
      plan.makespan_bound = makespan_bound(graph, plan.order.buckets, {.stop = control.stop}).value();
      return simulate(graph, plan.order, {.memory_samples = true});
    });
    return plan;
  }

 private:
  template <bucketing_policy Bucketing, scheduler Scheduler>
  static void decide(const two_steps<Bucketing, Scheduler>& steps, const task_graph& graph, detail::stage_clock& timed,
                     task_plan& plan) {
    plan.buckets =
        timed(plan.stages, "bucket", [&] { return bucket_collectives(graph, steps.bucketing, timed.rest()); });
    plan.order =
        timed(plan.stages, "schedule", [&] { return schedule_tasks(graph, plan.buckets, steps.order, timed.rest()); });
  }
  template <scheduling_pass Whole>
  static void decide(const Whole& whole, const task_graph& graph, detail::stage_clock& timed, task_plan& plan) {
    plan.order = timed(plan.stages, "schedule", [&] { return whole.plan(graph, timed.rest()); });
    plan.buckets.buckets = plan.order.buckets;
  }

  template <class Model, class State>
  [[nodiscard]] training_plan run_stated(const Model& model, const solve_control& control, const State& state) const {
    detail::stage_clock timed(control);
    training_plan plan;
    plan.problem = timed(plan.stages, "build", [&] {
      placement_description<double> stated = state(timed.rest());
      stated.counted = counted;
      stated.windows = windows;
      return std::make_shared<const placement_description<double>>(std::move(stated));
    });
    const auto problem = timed(plan.stages, "compile", [&] { return compile(plan.problem, timed.rest()); });
    const bool compares = problem.savings() != nullptr && compare;
    const placement_problem<double> first = compares ? problem.without_savings() : problem;
    plan.placement = timed(plan.stages, "solve", [&] {
      solve_control control_of_first = timed.rest();
      if (compares && std::isfinite(control_of_first.seconds)) control_of_first.seconds *= 0.7;
      return solver.solve(first, control_of_first);
    });
    if (!plan.placement.has_assignment()) return plan;
    plan.problem = first.shared_description();
    plan.priced = evaluate(first, plan.placement.choice);
    plan.lowered =
        timed(plan.stages, "lower", [&] { return detail::lowered_by(lowering, model, plan.placement.choice); });
    plan.tasks = run(plan.lowered->tasks, timed.rest());
    plan.stages.insert(plan.stages.end(), plan.tasks->stages.begin(), plan.tasks->stages.end());
    if (compares) compare_with_savings(model, problem, timed, plan);
    detail::join_equal(plan.stages);
    return plan;
  }

  /// \param problem  with savings. If its plan is no slower, it is what was solved, and its bound is the bound.
  template <class Model>
  void compare_with_savings(const Model& model, const placement_problem<double>& problem, detail::stage_clock& timed,
                            training_plan& plan) const {
    solution<double> other = timed(plan.stages, "solve", [&] {
      solve_control control = timed.rest();
      control.start = plan.placement.choice;
      return solver.solve(problem, control);
    });
    if (!other.has_assignment()) return;
    if (other.choice != plan.placement.choice) {
      lowered_graph lowered =
          timed(plan.stages, "lower", [&] { return detail::lowered_by(lowering, model, other.choice); });
      task_plan tasks = run(lowered.tasks, timed.rest());
      plan.stages.insert(plan.stages.end(), tasks.stages.begin(), tasks.stages.end());
      if (tasks.after.end_to_end > plan.tasks->after.end_to_end) {
        plan.placement.statistics.add_note("placed as if nothing hid: that is faster in the simulator.");
        return;
      }
      plan.lowered = std::move(lowered);
      plan.tasks = std::move(tasks);
    }
    plan.priced = evaluate(problem, other.choice);
    plan.problem = problem.shared_description();
    plan.placement = std::move(other);
  }
};

template <class Solver, bucketing_policy Bucketing, scheduler Scheduler>
pipeline(Solver, Bucketing, Scheduler) -> pipeline<Solver, two_steps<Bucketing, Scheduler>>;
template <class Solver, bucketing_policy Bucketing, scheduler Scheduler, class Lowering>
pipeline(Solver, Bucketing, Scheduler, Lowering) -> pipeline<Solver, two_steps<Bucketing, Scheduler>, Lowering>;
template <class Solver, bucketing_policy Bucketing>
  requires(!scheduling_pass<Bucketing>)
pipeline(Solver, Bucketing) -> pipeline<Solver, two_steps<Bucketing, prefetch>>;

}  // namespace shardweave::inline v0
