#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/timed_stop.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
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
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/simulate/simulate.hpp>
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
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// The plan with the shortest step, over placements, buckets and orders.

namespace shardweave::inline v0 {

/// A lowering that states the work of its tasks for all placements: `work(model, threads)` returns an object whose
/// `least()` and `alone()` are work models of the graph, in nanoseconds (see `lowered_work`).
template <class L, class M, class G>
concept foretelling_lowering = lowering_policy<L, M> && requires(const L& policy, const M& model) {
  describe_work(std::declval<const G&>(), policy.work(model, 1U).least(), [](vertex_t<G>) { return std::size_t{1}; });
  describe_work(std::declval<const G&>(), policy.work(model, 1U).alone(), [](vertex_t<G>) { return std::size_t{1}; });
};

/// A placement with its tasks and their order.
struct ordered_placement {
  assignment choice = {};
  std::shared_ptr<const lowered_graph> lowered = nullptr;
  schedule order = {};
};

/// The plan with the shortest step that was found, and a bound on the step of all plans.
struct fastest_plan_result {
  training_plan plan;
  /// The plan of the least sum, if another placement was chosen and this one fits the memory.
  std::optional<ordered_placement> least_sum = std::nullopt;
  /// In nanoseconds; empty if the plan has a coalesced bucket, since work is stated for packed buckets.
  step_bounds bounds;
  std::shared_ptr<const step_work> work = nullptr;  ///< least work of all plans, which the bound is on
  /// The problem that the bound is on: the plan's; under a memory limit with the choices of what is kept and
  /// recomputed.
  std::shared_ptr<const placement_description<double>> bounded = nullptr;
  nanoseconds step_of_least_sum{};  ///< of the plan of the least sum; 0: none fits
  std::size_t plans = 0;            ///< number of plans made
  /// The search was exhaustive (`step_search_result::complete`): every placement that may have a better plan was
  /// planned, under a memory limit with the best choice of what is recomputed, and with buckets and an order by the
  /// pipeline's policies. Not certified.
  bool complete = false;
  bool stopped = false;  ///< a limit ended the search
  /// How much the bound rises per nanosecond of work on a channel, the compute stream first, and along paths.
  std::vector<double> channel_prices = {};
  double path_price = 0;
  /// What is recomputed, without its graph, which is the plan's; nothing: no recomputation.
  std::optional<fitted_plan> fitted = std::nullopt;
  /// Step of the plan of the same placement without the memory limit; nothing if the plan recomputes nothing, or if a
  /// stop came before that one was made.
  std::optional<nanoseconds> step_without_limit = std::nullopt;
  /// How much the bound falls per additional byte of memory, in ns.
  double memory_price = 0;

  /// Relative distance of the step from the bound, step / bound - 1; +infinity without a bound.
  [[nodiscard]] double gap() const {
    if (!plan.tasks || !(bounds.bound > 0)) return std::numeric_limits<double>::infinity();
    return static_cast<double>(plan.tasks->after.end_to_end.count()) / bounds.bound - 1;
  }
};

namespace detail {

/// One run of `fastest_plan`.
template <class Pipeline, class G, class Model>
class fastest_plan_run {
 public:
  fastest_plan_run(const Pipeline& way, const G& graph, const Model& model, const fastest_plan_options& options,
                   const solve_control& control)
      : way_(way),
        graph_(graph),
        model_(model),
        options_(options),
        control_(control),
        timed_(control),
        stop_(control) {}

  /// \param state  makes the description of the placement problem, within a control
  template <class State>
  [[nodiscard]] fastest_plan_result run(const State& state) && {
    plan_.problem = timed_(plan_.stages, "build",
                           [&] { return std::make_shared<const placement_description<double>>(state(timed_.rest())); });
    const auto problem = timed_(plan_.stages, "compile", [&] { return compile(plan_.problem, timed_.rest()); });
    plan_.placement = timed_(plan_.stages, "solve", [&] { return way_.solver.solve(problem, timed_.rest()); });
    if (!plan_.placement.has_assignment()) return std::move(result_);

    planner_type planner(way_, model_, plan_.problem->vertices.size(), options_);
    planner.knows(plan_.placement.choice, plan_of_pipeline());
    if (options_.memory && !is_over())
      timed_(plan_.stages, "search", [&] { return sees_memory_ = keep_to_memory(planner); });
    made_plan without_limit = *planner.known();
    found best = searched(problem, planner);
    take_bounds(best);
    if (!best.plan) best.plan = std::move(without_limit);
    const auto& first = planner.first();
    if (first && std::isfinite(first->step) && best.choice != plan_.placement.choice)
      result_.least_sum = ordered_placement{plan_.placement.choice, first->lowered, first->order};
    take_placement(std::move(best.choice), problem);
    take_plan(*std::move(best.plan), planner);
    join_equal(plan_.stages);
    return std::move(result_);
  }

 private:
  using planner_type = pipeline_planner<Pipeline, Model>;
  using made_plan = typename planner_type::plan;
  using found = step_search_result<made_plan>;
  static constexpr double tolerance_within_memory = 0.0015;  ///< relative, of the bound

  /// Whether a stop was requested or the time is up. The pipeline's plan is made even then.
  [[nodiscard]] bool is_over() const { return stop_.token().stop_requested(); }
  /// The control of the search, in which the end of the time is a stop, since plans do not check the clock.
  [[nodiscard]] solve_control rest() const {
    solve_control left = timed_.rest();
    left.stop = stop_.token();
    return left;
  }
  /// The values that vertices hold, computed at the first call, when a plan does not fit; null if they are unknown.
  [[nodiscard]] const held_values* held() {
    std::call_once(is_held_known_, [this] {
      if (options_.held) held_ = options_.held();
    });
    return held_ ? &*held_ : nullptr;
  }

  /// Sets the limit of the planner.
  /// \returns whether the search has to see memory: the plan of the least sum does not fit, held values are known, and
  ///          nothing is copied to the host
  [[nodiscard]] bool keep_to_memory(planner_type& planner) {
    const double beside = bytes_of(options_.beside, plan_.placement.choice);
    const bool fits = planner.known()->peak + beside <= static_cast<double>(options_.memory->count());
    planner.limit([this] { return held(); });
    return !fits && held() != nullptr && options_.host_bandwidth == 0;
  }

  /// \returns a result without a plan if a stop came before the first plan
  [[nodiscard]] found searched(const placement_problem<double>& problem, const planner_type& planner) {
    found best{.choice = plan_.placement.choice, .stopped = true};
    if (is_over()) return best;
    return timed_(plan_.stages, "search", [&] {
      try_to([&] { best = search(problem, planner); },
             [](const error& e) { return e.category() == error_category::stopped; });
      return std::move(best);
    });
  }
  [[nodiscard]] found search(const placement_problem<double>& problem, const planner_type& planner) {
    const std::size_t vertices = plan_.problem->vertices.size();
    const auto strategies = [&](vertex_t<G> v) { return model_.strategy_count(v); };
    const auto work = way_.lowering.work(model_, control_.threads);
    step_work least = describe_work(graph_, work.least(), strategies),
              alone = describe_work(graph_, work.alone(), strategies);
    if (is_over()) return {.choice = plan_.placement.choice, .stopped = true};
    assignment start = plan_.placement.choice;
    step_search_options how = options_.search;
    result_.bounded = plan_.problem;
    if (sees_memory_) {
      const auto limit = static_cast<double>(options_.memory->count());
      result_.bounded = std::make_shared<const placement_description<double>>(with_policies(*plan_.problem, *held_));
      least = with_policies(std::move(least), *held_, limit, vertices);
      alone = with_policies(std::move(alone), *held_, limit, vertices);
      start = keeping_all(std::move(start), *held_);
      how.planned = vertices;
      how.bound.turn = held_->moment;
      // the search takes the price of memory from the bound
      how.bound.tolerance = std::min(how.bound.tolerance, tolerance_within_memory);
    }
    result_.work = std::make_shared<const step_work>(std::move(least));
    const placement_problem<double> of_all = sees_memory_ ? compile(result_.bounded, rest()) : problem;
    found best = search_step(of_all, *result_.work, alone, way_.solver, planner, start, how, rest());
    if (best.plan)
      best.choice.resize(std::min(best.choice.size(), vertices));
    else  // no plan fits the memory: that of the least sum shows by how much
      best.choice = plan_.placement.choice;
    return best;
  }

  /// Takes the bounds of the search, and prices of work from the weights of their claims.
  void take_bounds(found& from) {
    result_.channel_prices.resize(result_.work == nullptr ? 1 : result_.work->machines());
    if (std::isfinite(from.first_step))
      result_.step_of_least_sum = nanoseconds(static_cast<std::int64_t>(from.first_step));
    result_.bounds = std::move(from.bounds);
    result_.plans = from.plans;
    result_.complete = from.complete;
    result_.stopped = from.stopped;
    for (std::size_t r = 0; r < result_.bounds.claims.size(); ++r) {
      const step_claim& claim = result_.bounds.claims[r];
      const double weight = result_.bounds.weights[r];
      (claim.channel == step_claim::path ? result_.path_price : result_.channel_prices[claim.channel]) += weight;
      result_.memory_price += weight * claim.price;
    }
  }

  /// The plan of the least sum without a limit, made even after a stop.
  [[nodiscard]] made_plan plan_of_pipeline() {
    made_plan made;
    made.lowered = timed_(plan_.stages, "lower", [&] {
      return std::make_shared<const lowered_graph>(way_.lowering(model_, plan_.placement.choice));
    });
    // no time limit: a pass that uses all its time would leave none for the search
    const solve_control part = without_time_limit(control_);
    made.order = timed_(plan_.stages, "schedule", [&] { return way_.pass.plan(made.lowered->tasks, part); });
    return made;
  }

  void take_placement(assignment choice, const placement_problem<double>& problem) {
    if (choice != plan_.placement.choice) {
      plan_.placement.choice = std::move(choice);
      plan_.placement.status = solve_status::feasible;
      plan_.placement.statistics.note = "placed for the step, not for the least sum.";
    }
    plan_.priced = evaluate(problem, plan_.placement.choice);
    plan_.placement.objective = plan_.priced.objective;
  }
  void take_plan(made_plan made, const planner_type& planner) {
    plan_.lowered = *made.lowered;
    if (made.fitted) {
      result_.fitted = *made.fitted;
      if (!made.step_without_limit && !is_over())
        made.step_without_limit =
            timed_(plan_.stages, "search", [&] { return planner.step_without_limit(made, rest()); });
      if (const auto step = made.step_without_limit)
        result_.step_without_limit = nanoseconds(static_cast<std::int64_t>(*step));
    }
    plan_.tasks = timed_(plan_.stages, "simulate", [&] {
      const task_graph& tasks = plan_.lowered->tasks;
      task_plan timed;
      timed.order = std::move(made.order);
      timed.buckets.buckets = timed.order.buckets;
      timed.before = simulate(tasks);
      timed.makespan_bound = makespan_bound(tasks, timed.order.buckets, {.stop = control_.stop}).value();
      timed.after = simulate(tasks, timed.order, {.memory_samples = true});
      return timed;
    });
    if (std::ranges::any_of(plan_.tasks->order.buckets, &bucket::coalesced)) result_.bounds = {};
  }

  const Pipeline& way_;
  const G& graph_;
  const Model& model_;
  const fastest_plan_options& options_;
  const solve_control& control_;
  stage_clock timed_;
  timed_stop stop_;
  fastest_plan_result result_;
  training_plan& plan_ = result_.plan;
  std::optional<held_values> held_;
  std::once_flag is_held_known_;
  bool sees_memory_ = false;  ///< as `keep_to_memory` returns
};

/// The faster of the plans without and with copies to the host's memory, if these are allowed and the limit binds. The
/// bound is that of plans that may copy. Takes as long as both.
/// \param state  as `fastest_plan_run::run` takes it
template <class Pipeline, class G, class Model, class State>
[[nodiscard]] fastest_plan_result fastest_of_both(const Pipeline& way, const G& graph, const Model& model,
                                                  const fastest_plan_options& options, const solve_control& control,
                                                  const State& state) {
  if (!(options.host_bandwidth > 0) || !options.memory)
    return fastest_plan_run(way, graph, model, options, control).run(state);
  const deadline clock(control);
  fastest_plan_options here = options;
  here.host_bandwidth = 0;
  solve_control half = control;
  half.seconds /= 2;
  fastest_plan_result without = fastest_plan_run(way, graph, model, here, half).run(state);
  const bool is_in_the_way = without.bounded != nullptr && without.bounded != without.plan.problem;
  if (!is_in_the_way || control.stop.stop_requested()) return without;
  fastest_plan_result with = fastest_plan_run(way, graph, model, options, clock.rest()).run(state);
  const auto step_of = [&](const fastest_plan_result& r) {
    if (!r.plan.tasks) return std::numeric_limits<double>::infinity();
    const timeline& line = r.plan.tasks->after;
    const double held = static_cast<double>(line.peak.count()) + bytes_of(options.beside, r.plan.placement.choice);
    return held <= static_cast<double>(options.memory->count()) ? static_cast<double>(line.end_to_end.count())
                                                                : std::numeric_limits<double>::infinity();
  };
  const std::size_t plans = without.plans + with.plans;
  const bool stopped = without.stopped || with.stopped;
  if (step_of(without) <= step_of(with) && std::isfinite(step_of(without))) {
    const auto& buckets = without.plan.tasks->order.buckets;
    without.bounds = std::ranges::any_of(buckets, &bucket::coalesced) ? step_bounds{} : std::move(with.bounds);
    without.work = std::move(with.work);
    without.bounded = std::move(with.bounded);
    without.channel_prices = std::move(with.channel_prices);
    without.path_price = with.path_price;
    without.memory_price = with.memory_price;
    with = std::move(without);
  }
  with.plans = plans;
  with.complete = false;  // what is copied to the host is not searched exhaustively
  with.stopped = stopped;
  return with;
}

/// The same; static assertions reject what cannot be planned.
template <class Solver, class Pass, class Lowering, class G, class M, class State>
[[nodiscard]] fastest_plan_result fastest_stated(const pipeline<Solver, Pass, Lowering>& way, const G& graph,
                                                 const M& model, const fastest_plan_options& options,
                                                 const solve_control& control, const State& state) {
  constexpr bool foretells = foretelling_lowering<Lowering, M, G>, prices = is_cost_model<M, G>();
  static_assert(foretells || !prices,
                "The lowering does not tell beforehand what its tasks take: a const member work(model, threads) that "
                "returns something with const members least() and alone(), work models of the graph; what that of "
                "spmd_lowering returns is defined in <shardweave/lowering/lowered_work.hpp> "
                "(shardweave::foretelling_lowering).");
  if constexpr (foretells && prices) return fastest_of_both(way, graph, model, options, control, state);
}

}  // namespace detail

/// The plan with the shortest step that the policies of a pipeline lead to, over placements, buckets and orders, and a
/// bound on the step of all plans (`search_step`). Starts with the placement of the least sum (of the model's costs, as
/// the solver finds it) and the pipeline's plan of it. Savings that the pipeline counts are ignored: the timeline shows
/// what hides.
///
///     const auto fastest = fastest_plan(pipeline{auto_solver{}, benefit<>{}}, model, constraints);
///
/// `control` limits the whole, but the first plan is completed even after the time limit; `control.gap` is for the
/// placement of the least sum.
/// \param model  knows its graph, and states its problem as `pipeline::run` takes it; the work of `spmd_lowering` is
///               defined in `shardweave/lowering/lowered_work.hpp`
/// \throws error as `pipeline::run` does
/// Complexity: that of `pipeline::run` and of `search_step`; twice that for `host_bandwidth` under a limit that binds
template <class Solver, class Pass, class Lowering, class M>
  requires requires(const M& model) { model.graph(); }
[[nodiscard]] fastest_plan_result fastest_plan(const pipeline<Solver, Pass, Lowering>& way, const M& model,
                                               const constraint_set& constraints = {},
                                               const fastest_plan_options& options = {},
                                               const solve_control& control = {}) {
  return detail::fastest_stated(way, model.graph(), model, options, control,
                                [&](const solve_control& rest) { return detail::stated_by(model, constraints, rest); });
}

/// The same for any graph and cost model with costs in double that the lowering supports and states the work of.
/// \param names  as `describe` takes them
template <class Solver, class Pass, class Lowering, planning_graph G, class M, class Names = unnamed_vertices>
[[nodiscard]] fastest_plan_result fastest_plan(const pipeline<Solver, Pass, Lowering>& way, const G& graph,
                                               const M& model, const constraint_set& constraints = {},
                                               const fastest_plan_options& options = {},
                                               const solve_control& control = {}, const Names& names = {}) {
  return detail::fastest_stated(way, graph, model, options, control, [&](const solve_control& rest) {
    return describe(graph, model, constraints, rest, names);
  });
}

}  // namespace shardweave::inline v0
