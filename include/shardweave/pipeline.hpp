#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/schedule/bound/makespan_bound.hpp>
#include <shardweave/schedule/list/prefetch.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/spmd/hideable_edges.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The whole way: placement, lowering, bucketing, schedule, timeline.

namespace shardweave {
inline namespace v0 {

struct auto_solver;  // the default; who uses it includes <shardweave/solve/auto_solver.hpp>

/// A task graph with its buckets, its order and what they come to.
struct task_plan {
  bucketing_result buckets;
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

}  // namespace detail

/// Composes a solver, a bucketing policy and a scheduler.
///
///     const auto plan = pipeline{auto_solver{}, greedy{}, prefetch{}}.run(model, constraints);
///
/// Every stage is a free function of its own (`compile`, `lower`, `bucket_collectives`, `schedule_tasks`, `simulate`);
/// this runs them one after the other and keeps what each gave. A pipeline is a value, `run` is const.
template <class Solver = auto_solver, bucketing_policy Bucketing = greedy, scheduler Scheduler = prefetch>
class pipeline {
  static_assert(shardweave::solver<Solver, double>,
                "The first policy of a pipeline must be a solver for placement problems with costs in double "
                "(shardweave::solver).");

 public:
  Solver solver;
  Bucketing bucketing;
  Scheduler scheduling;
  lowering_options lowering;
  savings_form counted = savings_form::off;  ///< whether placing counts what `hideable_edges` may save
  windows_form windows = {};                 ///< form `windows`: how early at most, and whether every edge may hide
  /// Where savings count, place without them first, begin with that plan when they count, and keep what the simulator
  /// finds faster: a prediction of what hides knows neither buckets nor schedule, and must not cost time.
  /// `training_plan::problem` is the one that was kept.
  bool compare = true;
  /// Where a gap is enough (`solve_control::gap`), savings are compared in problems of up to so many labels: one step
  /// of their prices takes seconds in larger ones.
  std::size_t compared_labels = 40'000;

  explicit pipeline(Solver placement_solver = {}, Bucketing bucketing_policy = {}, Scheduler scheduler_policy = {},
                    lowering_options lowering_choices = {})
      : solver(std::move(placement_solver)),
        bucketing(std::move(bucketing_policy)),
        scheduling(std::move(scheduler_policy)),
        lowering(lowering_choices) {}

  /// From prices of a computation on a mesh to the timeline of one device. `control` limits the whole.
  /// \throws error (constraint) if the constraints contradict each other, (input) for wrong data, (stopped) if a
  ///         limit came before the problem was built
  [[nodiscard]] training_plan run(const spmd_cost_model& model, const constraint_set& constraints,
                                  const solve_control& control = {}) const {
    detail::stage_clock timed(control);
    training_plan plan;
    plan.problem = timed(plan.stages, "build", [&] {
      auto stated = describe(model.graph(), model, constraints, timed.rest());
      name_vertices(stated, model);
      stated.counted = counted;
      stated.windows = windows;
      if (counted != savings_form::off) stated.overlap = hideable_edges(model);
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
    plan.lowered = timed(plan.stages, "lower", [&] { return lower(model, plan.placement.choice, lowering); });
    plan.tasks = run(plan.lowered->tasks, timed.rest());
    plan.stages.insert(plan.stages.end(), plan.tasks->stages.begin(), plan.tasks->stages.end());
    if (compares && control.gap > 0 && problem.compact().total_labels() > compared_labels) {
      plan.placement.statistics.add_note(
          "savings were not counted: " + std::to_string(problem.compact().total_labels()) + " labels are more than " +
          std::to_string(compared_labels) + ".");
    } else if (compares) {
      compare_with_savings(model, problem, timed, plan);
    }
    join_equal(plan.stages);
    return plan;
  }

  /// From a task graph, lowered here or captured elsewhere.
  /// \throws error if the graph's order is not topological, or a bucket cannot be priced
  [[nodiscard]] task_plan run(const task_graph& graph, const solve_control& control = {}) const {
    detail::stage_clock timed(control);
    task_plan plan;
    plan.buckets = timed(plan.stages, "bucket", [&] { return bucket_collectives(graph, bucketing, timed.rest()); });
    plan.order =
        timed(plan.stages, "schedule", [&] { return schedule_tasks(graph, plan.buckets, scheduling, timed.rest()); });
    plan.after = timed(plan.stages, "simulate", [&] {
      plan.before = simulate(graph);
      plan.makespan_bound = makespan_bound(graph, plan.order.buckets).value();
      return simulate(graph, plan.order, {.memory_samples = true});
    });
    return plan;
  }

 private:
  /// \param problem  with savings. If its plan is no slower, it is what was solved, and its bound is the bound.
  void compare_with_savings(const spmd_cost_model& model, const placement_problem<double>& problem,
                            detail::stage_clock& timed, training_plan& plan) const {
    solution<double> other = timed(plan.stages, "solve", [&] {
      solve_control control = timed.rest();
      control.start = plan.placement.choice;
      return solver.solve(problem, control);
    });
    if (!other.has_assignment()) return;
    if (other.choice != plan.placement.choice) {
      lowered_graph lowered = timed(plan.stages, "lower", [&] { return lower(model, other.choice, lowering); });
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

  /// One entry per stage, where a stage was run for two plans.
  static void join_equal(std::vector<stage_time>& stages) {
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

  static void name_vertices(placement_description<double>& stated, const spmd_cost_model& model) {
    const computation& graph = model.operations();
    stated.name = graph.name;
    stated.unit = "us";
    for (std::uint32_t v = 0; v < stated.vertices.size(); ++v) {
      stated.vertices[v].name = graph.operations[v].name;
      stated.vertices[v].op = graph.operations[v].op;
      stated.vertices[v].phase = name_of(graph.operations[v].when);
    }
  }
};

}  // namespace v0
}  // namespace shardweave
