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
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/step/fitted_plan.hpp>
#include <shardweave/step/memory_limit.hpp>
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

struct fastest_plan_options {
  step_search_options search = {};
  /// Of a device: what a timeline holds at its peak, inputs included, and what lies `beside` it.
  /// A plan that holds more makes values again in its backward part; one that holds more even so does not count.
  std::optional<bytes> memory = std::nullopt;
  std::vector<held_form> beside = {};  ///< not seen by a timeline: state of the optimizer (`optimizer_state_of`)
  /// What the vertices hold, told when a plan does not fit. With it the bound and the prices of the search see the
  /// limit, and values of blocks are made again; without it a plan must fit as it is.
  std::function<held_values()> held = nullptr;
  /// Makes buckets and an order that hold no more than so much, if it can; nothing: as the pass of the pipeline does.
  std::function<schedule(const task_graph&, bytes, const solve_control&)> within = nullptr;
  /// Of the search over orders at its first glance (`search::changes`). For the plan that is kept ten times as many,
  /// again and again as long as that gains something worth it.
  std::size_t changes = 3000;
  std::size_t rounds = 8;  ///< so often at most; of large graphs less
  bool rebucket = true;    ///< that search may change buckets, too
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

/// Makes plans by the policies of a pipeline.
template <class Pipeline, class Model>
class pipeline_planner {
 public:
  struct plan {
    double step = std::numeric_limits<double>::infinity();
    std::shared_ptr<const lowered_graph> lowered = nullptr;
    schedule order = {};
    std::shared_ptr<const fitted_plan> fitted = nullptr;
    std::optional<bytes> room = std::nullopt;              ///< for the timeline
    std::shared_ptr<const lowered_graph> plain = nullptr;  ///< that makes nothing again
  };

  /// Its plans do not keep to the memory yet.
  pipeline_planner(const Pipeline& way, const Model& model, std::size_t vertices, const fastest_plan_options& options)
      : way_(way), model_(model), vertices_(vertices), options_(options) {}

  /// The plan of a placement that is made already; after a stop no other one is. If it makes values again, all others
  /// do so at once, and gather parameters again as it does.
  void knows(const assignment& choice, plan made) {
    known_choice_ = choice;
    if (made.fitted) regathers_ = made.fitted->regathers;
    known_ = std::move(made);
  }
  /// From now on plans keep to the memory, and none is known. \param held  asked for whose values are made again, by
  /// several threads, only if a plan does not fit as it is; null: none are. What it gives must outlive this
  void limit(std::function<const held_values*()> held) {
    is_limited_ = true;
    held_ = std::move(held);
    known_.reset();
  }

  [[nodiscard]] plan operator()(std::span<const strategy> choice, const solve_control& control) const {
    // passes that take all the time they are given would leave none for the next plan
    const solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
    const auto placed = choice.first(vertices_);
    if (known_ && std::ranges::equal(placed, known_choice_)) return *known_;
    plan made;
    if (!lower(made, placed, control)) return made;
    if (is_limited_)
      made.room =
          bytes(options_.memory->count() - static_cast<std::int64_t>(std::ceil(bytes_of(options_.beside, placed))));
    if (!regathers_) {
      made.order = way_.pass.plan(made.lowered->tasks, part);
      made.step = step_of(made);
      if (!std::isfinite(made.step) && options_.within) {
        made.order = options_.within(made.lowered->tasks, *made.room, part);
        made.step = step_of(made);
      }
    }
    if (made.room && !std::isfinite(made.step)) fit(made, *made.room, control);
    return made;
  }
  [[nodiscard]] plan improved(const plan& known, std::size_t effort, const solve_control& control) const {
    plan best = known;
    if (known.fitted && effort > 1)  // more made again leaves room for more collectives at once
      for (const std::int64_t spare : {64, 24}) {
        plan other = known;
        other.step = std::numeric_limits<double>::infinity();
        fit(other, bytes(known.room->count() - known.room->count() / spare), control);
        if (other.step < best.step) best = std::move(other);
      }
    const task_graph& tasks = best.lowered->tasks;
    search<> by{.changes = options_.changes * effort, .runs = 12 * effort, .rebucket = options_.rebucket};
    const auto peak = [&](const schedule& s) { return simulate(tasks, s, {.validate = false}).peak; };
    bytes most = best.fitted ? *best.room : std::max(peak(in_order{}(tasks, {})), peak(best.order));
    if (best.room) most = std::min(most, *best.room);
    by.memory = most;
    solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
    if (effort == 1) return searched(best, by, part);
    const deadline clock(control);
    const std::size_t rounds =
        std::clamp<std::size_t>(rounds_of_tasks / std::max<std::size_t>(tasks.size(), 1), 1, options_.rounds);
    for (std::size_t i = 0; i < rounds && !clock.expired(); ++i) {
      part.seconds = clock.rest().seconds;
      const double before = best.step;
      best = searched(best, by, part);
      const auto least = static_cast<double>(makespan_bound(tasks, best.order.buckets).value().count());
      if (best.step <= least * (1 + worth_a_round) || best.step > before * (1 - worth_a_round)) break;
      ++part.seed;
      by.runs = 0;  // of the start: they are made
    }
    return best;
  }

 private:
  static constexpr std::size_t rounds_of_tasks = 400'000;
  static constexpr double worth_a_round = 0.002;  ///< of the step: what a round has to gain, or may leave

  /// \returns false if a stop came, and there is a plan already: this one would be too late
  bool lower(plan& made, std::span<const strategy> placed, const solve_control& control) const {
    const auto lower_all = [&] {
      if constexpr (errors_are_caught && requires { way_.lowering(model_, placed, control.stop); })
        if (known_) return way_.lowering(model_, placed, control.stop);
      return way_.lowering(model_, placed);
    };
    try_to([&] { made.lowered = made.plain = std::make_shared<const lowered_graph>(lower_all()); },
           [](const error& e) { return e.category() == error_category::stopped; });
    return made.lowered != nullptr && !(known_ && control.stop.stop_requested());
  }
  [[nodiscard]] plan searched(const plan& known, const search<>& by, const solve_control& control) const {
    plan better = known;
    better.order = by.improve(known.lowered->tasks, known.order, control);
    better.step = step_of(better);
    return better.step < known.step ? better : known;
  }
  /// Makes values again until the timeline fits. \param aim  what it may hold, by which values are chosen
  void fit(plan& made, bytes aim, const solve_control& control) const {
    const held_values* held = held_();
    if (held == nullptr) return;
    const auto order = [&](const task_graph& tasks) {
      const solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
      return options_.within ? options_.within(tasks, *made.room, part) : way_.pass.plan(tasks, part);
    };
    std::optional<fitted_plan> found =
        fit_by_recomputation(*made.plain, held->block_of, *made.room, aim, regathers_, order, control);
    if (!found) return;
    made.order = std::move(found->order);
    made.lowered = std::make_shared<const lowered_graph>(std::move(found->lowered));
    found->lowered = {};
    made.fitted = std::make_shared<const fitted_plan>(*std::move(found));
    made.step = step_of(made);
  }
  [[nodiscard]] double step_of(const plan& made) const {
    const timeline line = simulate(made.lowered->tasks, made.order, {.validate = false});
    if (made.room && line.peak > *made.room) return std::numeric_limits<double>::infinity();
    return static_cast<double>(line.end_to_end.count());
  }

  const Pipeline& way_;
  const Model& model_;
  std::size_t vertices_;
  const fastest_plan_options& options_;
  bool is_limited_ = false;
  std::function<const held_values*()> held_ = nullptr;
  std::optional<bool> regathers_ = std::nullopt;  ///< nothing: plans are tried without making values again, then both
  assignment known_choice_ = {};
  std::optional<plan> known_ = std::nullopt;
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
      if (!is_over()) planner.knows(start, planner(start, timed.rest()));
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
