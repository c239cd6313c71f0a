#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/memory/held_values.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/step/detail/is_better.hpp>
#include <shardweave/step/detail/least_peak.hpp>
#include <shardweave/step/detail/retention_search.hpp>
#include <shardweave/step/fastest_plan_options.hpp>
#include <shardweave/step/fitted_plan.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Plans of placements by the policies of a pipeline, within a memory limit.

namespace shardweave::inline v0 {

/// A `step_planner` of the policies of a pipeline: lowers a placement and orders its tasks by the pipeline's pass.
/// After `limit` was called, plans recompute values until they fit the memory.
/// \tparam Pipeline  has a `lowering` and a `pass`
template <class Pipeline, class Model>
class pipeline_planner {
 public:
  /// A placement's tasks in an order, timed.
  struct plan {
    double step = std::numeric_limits<double>::infinity();  ///< makespan in nanoseconds; infinite: does not fit
    double peak = 0;                                        ///< peak in bytes, under a limit with what is beside
    double communication = 0;                               ///< nanoseconds of all channels together
    std::shared_ptr<const lowered_graph> lowered = nullptr;
    schedule order = {};
    std::shared_ptr<const fitted_plan> fitted = nullptr;   ///< what is recomputed; null: nothing
    std::optional<bytes> room = std::nullopt;              ///< bytes for the timeline; nothing: no limit
    std::shared_ptr<const lowered_graph> plain = nullptr;  ///< without recomputation
    /// Makespan without a limit; nothing unless the plan recomputes and this was computed.
    std::optional<double> step_without_limit = std::nullopt;
  };

  /// The best plan of a placement, and whether all choices of what it recomputes were tried.
  struct completed_plan {
    plan best = {};
    bool is_all = false;
  };

  /// Plans ignore the memory until `limit` is called.
  /// \param vertices  number of vertices of a placement, the first ones of those that a search assigns
  /// \pre all outlive this
  pipeline_planner(const Pipeline& way, const Model& model, std::size_t vertices, const fastest_plan_options& options)
      : way_(way), model_(model), vertices_(vertices), options_(options) {}

  /// Gives the plan of a placement that is lowered and ordered already, without a limit. After that a stop prevents all
  /// other plans.
  void knows(const assignment& choice, plan made) {
    made.plain = made.lowered;
    time(made);
    known_choice_ = choice;
    known_ = std::move(made);
  }
  [[nodiscard]] const std::optional<plan>& known() const { return known_; }
  /// From now on plans must fit the memory, except for the known one. The known placement is planned first (`first`):
  /// if its plan recomputes values, all others do so without a trial without recomputation, and gather parameters again
  /// if it does.
  ///
  /// \param held  gives the values that may be recomputed, or null: none. Called only if a plan does not fit as it is,
  ///              perhaps concurrently; the values must outlive this
  void limit(std::function<const held_values*()> held) {
    is_limited_ = true;
    held_ = std::move(held);
  }
  /// The plan of the known placement, within the limit if there is one; nothing if none was asked for yet.
  [[nodiscard]] const std::optional<plan>& first() const { return is_limited_ ? first_ : known_; }

  /// The plan of a placement.
  /// Complexity: a lowering and a pass; under a limit several passes, if values are recomputed
  [[nodiscard]] plan operator()(std::span<const strategy> choice, const solve_control& control) const {
    const auto placed = choice.first(vertices_);
    if (is_limited_ && known_)
      std::call_once(is_first_made_, [&] {
        first_ = made_of(known_choice_, &*known_, control);
        if (first_->fitted) regathers_ = first_->fitted->regathers;
      });
    if (first() && std::ranges::equal(placed, known_choice_)) return *first();
    return made_of(placed, nullptr, control);
  }
  /// The plan of the same placement after a search over orders, buckets and what is recomputed; no slower.
  [[nodiscard]] plan improved(const plan& known, std::size_t effort, const solve_control& control) const {
    plan best = known;
    if (known.fitted && effort > 1) best = with_more_made_again(std::move(best), control);
    if (best.room && (best.fitted || options_.fills)) best = with_retention_searched(std::move(best), control);
    search<> by{.changes = options_.changes * effort, .runs = 12 * effort, .rebucket = options_.rebucket};
    by.memory = room_of(best);
    if (best.fitted) by.runs = 0;  // other starts ignore the memory and would not fit
    solve_control part = without_time_limit(control);
    if (effort == 1) return searched(best, by, part);
    const deadline clock(control);
    std::optional<double> free;
    side_by_side(
        control.threads, [&] { best = searched_in_rounds(std::move(best), by, part, clock); },
        [&] {
          if (known.fitted) free = step_without_limit(known, part);
        });
    best.step_without_limit = free;
    if (!is_to_be_filled(best)) return best;
    by.fills = true;
    by.runs = 0;  // other starts were tried above
    by.memory = *best.room;
    return searched_in_rounds(std::move(best), by, part, clock);
  }
  /// The makespan of the same placement's plan without a limit.
  /// \pre the plan is lowered
  /// Complexity: a pass
  [[nodiscard]] double step_without_limit(const plan& made, const solve_control& control) const {
    if (known_ && made.plain == known_->plain) return known_->step;
    const task_graph& tasks = made.plain->tasks;
    const solve_control part = without_time_limit(control);
    const schedule free = way_.pass.plan(tasks, part);
    return static_cast<double>(simulate(tasks, free, {.validate = false}).end_to_end.count());
  }
  /// Exhaustive search over what a small graph recomputes: the best plan of the same placement if that ends before
  /// `below`, otherwise the given one. Without a limit nothing is recomputed, so there is one plan.
  [[nodiscard]] completed_plan completed(const plan& known, double below, const solve_control& control) const {
    if (!known.room || !known.plain) return {known, !known.room && known.lowered != nullptr};
    const std::optional<free_storages> of = storages_of(known, control);
    if (!of || of->all.size() >= 20 || (std::size_t{1} << of->all.size()) > of->tries) return {known, false};
    const auto make = [&](const std::vector<char>& dropped) { return making_again(known, dropped, *of); };
    const auto bound = [](const plan& made) {
      return static_cast<double>(bound_of_all_bucketings(made.lowered->tasks).value().count());
    };
    const auto order = [&](plan& made) { order_within(made, control); };
    const deadline clock(control);
    plan best = detail::search_all_retention(known, below, std::vector<char>(of->dropped.size()), of->all, make, bound,
                                             order, [&] { return clock.expired(); });
    return {std::move(best), !clock.expired()};
  }

 private:
  /// Tasks times rounds of a search over orders, at most: all `fastest_plan_options::rounds` of them up to 50,000
  /// tasks, one from 200,000 on.
  static constexpr std::size_t rounds_of_tasks = 400'000;
  /// Tasks of all graphs that a search over storages makes, as many as there are storages at least: so only graphs of
  /// some sixty tasks are searched. Of a thousand tiny steps within a memory 684 were planned at their best before
  /// there was such a search, of 300 with it 293.
  static constexpr std::size_t retention_tasks = 4'000;
  /// Of the step: least gain of a round, and least distance from the bound. A plan that holds more for less of a gain
  /// is not worth its memory (docs/step.md).
  static constexpr double worth_a_round = 0.002;
  /// Of the step: least exposed time; where less is waited for a plan holds no more to fill it. Where filling paid, 6
  /// to 10 % were (docs/step.md).
  static constexpr double worth_filling = 0.01;

  /// \param known  the plan of the same placement without a limit; null: none
  [[nodiscard]] plan made_of(std::span<const strategy> placed, const plan* known, const solve_control& control) const {
    // no time limit: a pass that uses all its time would leave none for the next plan
    const solve_control part = without_time_limit(control);
    plan made;
    if (known != nullptr)
      made = *known;
    else if (!lower(made, placed, control))
      return made;
    if (is_limited_) made.room = room_beside(placed);
    if (!regathers_) {
      const bool may_fit = !made.room || !detail::exceeds_in_any_order(made.lowered->tasks, *made.room);
      if (!may_fit) made.order = in_order{}(made.lowered->tasks, {});
      if (may_fit && known == nullptr) made.order = way_.pass.plan(made.lowered->tasks, part);
      time(made);
      if (!std::isfinite(made.step) && may_fit && options_.within && !control.stop.stop_requested()) {
        made.order = options_.within(made.lowered->tasks, *made.room, part);
        time(made);
      }
    }
    if (made.room && !std::isfinite(made.step)) {
      fit(made, *made.room, control);
      if (!std::isfinite(made.step)) made = with_retention_searched(std::move(made), control);
    }
    return made;
  }
  /// The best of a plan and of two that recompute more, which leaves room for more collectives at once.
  [[nodiscard]] plan with_more_made_again(plan best, const solve_control& control) const {
    // LLaMA-3 8B on 8x8 within 16 GiB and 70B within 40 have the same steps with half, with twice and without
    constexpr std::array<std::int64_t, 2> spares{64, 24};
    std::array<plan, 2> others{best, best};
    for_each_number(others.size(), control.threads, [&] {
      return [&](std::size_t i) {
        others[i].step = std::numeric_limits<double>::infinity();
        const std::int64_t room = others[i].room->count();
        fit(others[i], bytes(room - room / spares[i]), control);
      };
    });
    for (plan& other : others)
      if (detail::is_better(other, best)) best = std::move(other);
    return best;
  }
  /// Bytes of the device's memory for the timeline: without what is beside.
  [[nodiscard]] bytes room_beside(std::span<const strategy> placed) const {
    return bytes(options_.memory->count() - static_cast<std::int64_t>(std::ceil(bytes_of(options_.beside, placed))));
  }
  /// Whether stalls may be filled (`search::fills`): under a limit, if nothing is recomputed and enough is exposed.
  [[nodiscard]] bool is_to_be_filled(const plan& made) const {
    if (!options_.fills || !made.room || made.fitted) return false;
    const timeline line = simulate(made.lowered->tasks, made.order, {.validate = false});
    return static_cast<double>(line.exposed.count()) >= worth_filling * made.step;
  }
  /// Memory budget of a search over orders. For a plan without recomputation: the larger of its own peak and that of
  /// the original order, within the room.
  [[nodiscard]] static bytes room_of(const plan& made) {
    if (made.fitted) return *made.room;
    const task_graph& tasks = made.lowered->tasks;
    const auto peak = [&](const schedule& s) { return simulate(tasks, s, {.validate = false}).peak; };
    const bytes own = std::max(peak(in_order{}(tasks, {})), peak(made.order));
    return made.room ? std::min(own, *made.room) : own;
  }
  /// \returns false after a stop if a plan is known
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
  /// Repeats the search over orders while rounds gain enough (`worth_a_round`). With `fills`, a round that gains less
  /// is discarded, as its plan holds more.
  [[nodiscard]] plan searched_in_rounds(plan best, search<> by, solve_control part, const deadline& clock) const {
    const task_graph& tasks = best.lowered->tasks;
    const std::size_t rounds =
        std::min(std::max<std::size_t>(rounds_of_tasks / std::max<std::size_t>(tasks.size(), 1), 1), options_.rounds);
    for (std::size_t i = 0; i < rounds && !clock.expired(); ++i) {
      part.seconds = clock.rest().seconds;
      plan next = searched(best, by, part);
      const bool is_worth_it = next.step <= best.step * (1 - worth_a_round);
      if (is_worth_it || !by.fills) best = std::move(next);
      const auto least =
          static_cast<double>(makespan_bound(tasks, best.order.buckets, {.stop = part.stop}).value().count());
      if (!is_worth_it || best.step <= least * (1 + worth_a_round)) break;
      ++part.seed;
      by.runs = 0;
    }
    return best;
  }
  [[nodiscard]] plan searched(const plan& known, const search<>& by, const solve_control& control) const {
    plan better = known;
    better.order = by.improve(known.lowered->tasks, known.order, control);
    time(better);
    return detail::is_better(better, known) ? better : known;
  }
  /// Recomputes values until the timeline fits; not after a stop.
  /// \param aim  bytes that the choice of values aims at
  void fit(plan& made, bytes aim, const solve_control& control) const {
    const held_values* held = control.stop.stop_requested() ? nullptr : held_();
    if (held == nullptr || control.stop.stop_requested()) return;
    const auto order = [&](const task_graph& tasks) {
      const solve_control part = without_time_limit(control);
      return options_.within ? options_.within(tasks, *made.room, part) : way_.pass.plan(tasks, part);
    };
    std::optional<fitted_plan> found =
        fit_by_recomputation(*made.plain, held->block_of, *made.room, order,
                             {.aim = aim, .regathers = regathers_, .host_bandwidth = options_.host_bandwidth}, control);
    if (!found) return;
    made.order = std::move(found->order);
    made.lowered = std::make_shared<const lowered_graph>(std::move(found->lowered));
    found->lowered = {};
    made.fitted = std::make_shared<const fitted_plan>(*std::move(found));
    time(made);
  }
  /// Input of the searches over what a small graph recomputes.
  struct free_storages {
    std::vector<char> dropped = {};          ///< by storage: whether the plan recomputes it
    std::vector<std::uint32_t> all = {};     ///< that may be recomputed
    std::vector<std::uint32_t> blocks = {};  ///< by task
    std::size_t tries = 0;                   ///< number of graphs that may be made
    bool regathers = false;
  };
  /// Nothing if the graph is too large, values are offloaded, or no held values are known.
  [[nodiscard]] std::optional<free_storages> storages_of(const plan& made, const solve_control& control) const {
    const task_graph& tasks = made.plain->tasks;
    const std::size_t tries = retention_tasks / std::max<std::size_t>(tasks.size(), 1);
    if (tries < tasks.storages().size() || !held_ || control.stop.stop_requested()) return std::nullopt;
    if (made.fitted && made.fitted->chosen.chosen.offloaded > bytes(0)) return std::nullopt;
    const held_values* held = held_();
    if (held == nullptr) return std::nullopt;
    free_storages of{.dropped = std::vector<char>(tasks.storages().size()),
                     .all = detail::droppable_storages(tasks),
                     .blocks = blocks_of_tasks(*made.plain, held->block_of),
                     .tries = tries};
    if (!made.fitted) return of;
    of.dropped = made.fitted->chosen.dropped;
    of.regathers = made.fitted->regathers;
    return of;
  }
  /// The plan of the same placement that recomputes these storages, not ordered yet.
  [[nodiscard]] static plan making_again(const plan& made, const std::vector<char>& dropped, const free_storages& of) {
    plan other{.lowered = made.plain, .room = made.room, .plain = made.plain};
    if (std::ranges::all_of(dropped, [](char c) { return c == 0; })) return other;
    auto again = with_again(*made.plain, detail::recomputation_of(made.plain->tasks, dropped, of.blocks), of.regathers);
    other.lowered = std::make_shared<const lowered_graph>(std::move(again.lowered));
    again.lowered = {};
    other.fitted = std::make_shared<const fitted_plan>(std::move(again));
    return other;
  }
  /// Local search over what a small graph recomputes, one or two storages at a time. It covers more than policies of
  /// blocks: these are chosen by memory in the graph's own order, and keep what several blocks read.
  [[nodiscard]] plan with_retention_searched(plan made, const solve_control& control) const {
    const std::optional<free_storages> of = storages_of(made, control);
    if (!of) return made;
    const auto make = [&, from = made](const std::vector<char>& dropped) {
      plan other = making_again(from, dropped, *of);
      order_within(other, control);
      return other;
    };
    const deadline clock(control);
    return detail::search_retention(std::move(made), of->dropped, of->all, of->tries, make,
                                    [&] { return clock.expired(); });
  }
  /// Orders a plan within its room; if no order can fit, in the original order.
  void order_within(plan& made, const solve_control& control) const {
    const task_graph& tasks = made.lowered->tasks;
    const solve_control part = without_time_limit(control);
    if (detail::exceeds_in_any_order(tasks, *made.room))
      made.order = in_order{}(tasks, {});
    else
      made.order = options_.within ? options_.within(tasks, *made.room, part) : way_.pass.plan(tasks, part);
    time(made);
  }
  /// Sets step, peak and communication from the timeline.
  void time(plan& made) const {
    const timeline line = simulate(made.lowered->tasks, made.order, {.validate = false});
    const bool fits = !made.room || line.peak <= *made.room;
    made.step = fits ? static_cast<double>(line.end_to_end.count()) : std::numeric_limits<double>::infinity();
    const bytes held = made.room ? line.peak + *options_.memory - *made.room : line.peak;
    made.peak = static_cast<double>(held.count());
    made.communication = static_cast<double>(line.communication.count());
  }

  const Pipeline& way_;
  const Model& model_;
  std::size_t vertices_;
  const fastest_plan_options& options_;
  bool is_limited_ = false;
  std::function<const held_values*()> held_ = nullptr;
  assignment known_choice_ = {};
  std::optional<plan> known_ = std::nullopt;  ///< without a limit
  mutable std::once_flag is_first_made_ = {};
  mutable std::optional<plan> first_ = std::nullopt;  ///< of the same placement, within the limit
  /// Nothing: plans are tried without recomputation first, then with both.
  mutable std::optional<bool> regathers_ = std::nullopt;
};

}  // namespace shardweave::inline v0
