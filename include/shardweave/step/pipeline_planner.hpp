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
#include <shardweave/step/memory_limit.hpp>
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
/// Plans of placements by the policies of a pipeline, within the memory that there is.

namespace shardweave::inline v0 {

/// Makes plans by the policies of a pipeline, a `step_planner`: a placement is lowered, ordered by the pipeline's pass,
/// and made to hold no more than the memory, once it is told to.
/// \tparam Pipeline  has a `lowering` and a `pass`
template <class Pipeline, class Model>
class pipeline_planner {
 public:
  /// A placement's tasks and their order.
  struct plan {
    double step = std::numeric_limits<double>::infinity();  ///< its end, in nanoseconds; infinite: it does not fit
    double peak = 0;                                        ///< bytes at most, of a limit what lies beside it, too
    double communication = 0;                               ///< nanoseconds of all channels
    std::shared_ptr<const lowered_graph> lowered = nullptr;
    schedule order = {};
    std::shared_ptr<const fitted_plan> fitted = nullptr;   ///< what is made again; null: nothing is
    std::optional<bytes> room = std::nullopt;              ///< for the timeline
    std::shared_ptr<const lowered_graph> plain = nullptr;  ///< that makes nothing again
    /// Its end if there were no limit, where something is made again and that was looked at.
    std::optional<double> step_without_limit = std::nullopt;
  };

  /// The best plan of a placement, and whether all that it may make again was looked at.
  struct completed_plan {
    plan best = {};
    bool is_all = false;
  };

  /// Its plans do not keep to the memory yet.
  /// \param vertices  of a placement, the first that a search chooses for
  /// \pre all outlive this
  pipeline_planner(const Pipeline& way, const Model& model, std::size_t vertices, const fastest_plan_options& options)
      : way_(way), model_(model), vertices_(vertices), options_(options) {}

  /// The plan of a placement whose graph and order are made already, without a limit; after a stop no other one is.
  void knows(const assignment& choice, plan made) {
    made.plain = made.lowered;
    time(made);
    known_choice_ = choice;
    known_ = std::move(made);
  }
  [[nodiscard]] const std::optional<plan>& known() const { return known_; }
  /// From now on plans keep to the memory; one that is known need not. That of its placement is then made before all
  /// others (`first`); if it makes values again, the others do so at once, and gather parameters again as it does.
  ///
  /// \param held  asked for whose values are made again, by several threads, only if a plan does not fit as it is, and
  ///              must outlive this; null: none are
  void limit(std::function<const held_values*()> held) {
    is_limited_ = true;
    held_ = std::move(held);
  }
  /// The plan of the known placement, within the limit if there is one; nothing: nobody has asked for a plan yet.
  [[nodiscard]] const std::optional<plan>& first() const { return is_limited_ ? first_ : known_; }

  /// The plan of a placement. Complexity: a lowering and a pass, and under a limit several passes where values are made
  /// again
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
  /// The same placement's plan after a search over orders and buckets, and over what is made again; no slower.
  [[nodiscard]] plan improved(const plan& known, std::size_t effort, const solve_control& control) const {
    plan best = known;
    if (known.fitted && effort > 1) best = with_more_made_again(std::move(best), control);
    if (best.room && (best.fitted || options_.fills)) best = with_retention_searched(std::move(best), control);
    search<> by{.changes = options_.changes * effort, .runs = 12 * effort, .rebucket = options_.rebucket};
    by.memory = room_of(best);
    if (best.fitted) by.runs = 0;  // what the start makes with more memory does not fit
    solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
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
    by.runs = 0;  // of the start: they are made
    by.memory = *best.room;
    return searched_in_rounds(std::move(best), by, part, clock);
  }
  /// When the plan of the same placement would end if there were no limit. Complexity: a pass
  /// \pre the plan is lowered
  [[nodiscard]] double step_without_limit(const plan& made, const solve_control& control) const {
    if (known_ && made.plain == known_->plain) return known_->step;
    const task_graph& tasks = made.plain->tasks;
    const solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
    const schedule free = way_.pass.plan(tasks, part);
    return static_cast<double>(simulate(tasks, free, {.validate = false}).end_to_end.count());
  }
  /// The best plan of the same placement over all that a small graph may make again within a limit, if one ends before
  /// `below`; else the plan itself. Nothing is made again without a limit, so that there is one plan then.
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
  static constexpr std::size_t rounds_of_tasks = 400'000;
  static constexpr std::size_t retention_tasks = 4'000;  ///< of all graphs that one search over storages makes
  static constexpr double worth_a_round = 0.002;         ///< of the step: what a round has to gain, or may leave
  static constexpr double worth_filling = 0.01;          ///< of the step: what has to be waited for

  /// \param known  that of the same placement without a limit; null: there is none
  [[nodiscard]] plan made_of(std::span<const strategy> placed, const plan* known, const solve_control& control) const {
    // passes that take all the time they are given would leave none for the next plan
    const solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
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
  /// The best of a plan and of those that make more again, which leaves room for more collectives at once.
  [[nodiscard]] plan with_more_made_again(plan best, const solve_control& control) const {
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
  /// Of the device's memory, for the timeline.
  [[nodiscard]] bytes room_beside(std::span<const strategy> placed) const {
    return bytes(options_.memory->count() - static_cast<std::int64_t>(std::ceil(bytes_of(options_.beside, placed))));
  }
  /// Whether work of later is to fill the stalls of a plan: where there is room, and enough is waited for.
  [[nodiscard]] bool is_to_be_filled(const plan& made) const {
    if (!options_.fills || !made.room || made.fitted) return false;
    const timeline line = simulate(made.lowered->tasks, made.order, {.validate = false});
    return static_cast<double>(line.exposed.count()) >= worth_filling * made.step;
  }
  /// What a search over orders may hold: of a plan that fits as it is no more than that plan or the original order
  /// does.
  [[nodiscard]] static bytes room_of(const plan& made) {
    if (made.fitted) return *made.room;
    const task_graph& tasks = made.lowered->tasks;
    const auto peak = [&](const schedule& s) { return simulate(tasks, s, {.validate = false}).peak; };
    const bytes own = std::max(peak(in_order{}(tasks, {})), peak(made.order));
    return made.room ? std::min(own, *made.room) : own;
  }
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
  /// Searches on while a round gains something worth it. What fills stalls holds more, so it has to gain that much.
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
  /// Makes values again until the timeline fits; after a stop none are.
  /// \param aim  what it may hold, by which values are chosen
  void fit(plan& made, bytes aim, const solve_control& control) const {
    const held_values* held = control.stop.stop_requested() ? nullptr : held_();
    if (held == nullptr || control.stop.stop_requested()) return;
    const auto order = [&](const task_graph& tasks) {
      const solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
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
  /// What searches over the storages of a small graph need.
  struct free_storages {
    std::vector<char> dropped = {};  ///< by storage: what a plan makes again
    std::vector<std::uint32_t> all = {};
    std::vector<std::uint32_t> blocks = {};  ///< by task
    std::size_t tries = 0;                   ///< graphs that may be made
    bool regathers = false;
  };
  /// Nothing where a graph is too large, or nobody tells what is held.
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
  /// The same placement's plan that makes some storages again, without an order.
  [[nodiscard]] static plan making_again(const plan& made, const std::vector<char>& dropped, const free_storages& of) {
    plan other{.lowered = made.plain, .room = made.room, .plain = made.plain};
    if (std::ranges::all_of(dropped, [](char c) { return c == 0; })) return other;
    auto again = with_again(*made.plain, detail::recomputation_of(made.plain->tasks, dropped, of.blocks), of.regathers);
    other.lowered = std::make_shared<const lowered_graph>(std::move(again.lowered));
    again.lowered = {};
    other.fitted = std::make_shared<const fitted_plan>(std::move(again));
    return other;
  }
  /// The best plan of a small graph that makes other storages again, one or two at a time: values of blocks are chosen
  /// by what they take in the graph's own order, and what several blocks read is kept.
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
  /// Orders a plan within its room, if an order may be.
  void order_within(plan& made, const solve_control& control) const {
    const task_graph& tasks = made.lowered->tasks;
    const solve_control part{.seed = control.seed, .threads = control.threads, .stop = control.stop};
    if (detail::exceeds_in_any_order(tasks, *made.room))
      made.order = in_order{}(tasks, {});
    else
      made.order = options_.within ? options_.within(tasks, *made.room, part) : way_.pass.plan(tasks, part);
    time(made);
  }
  /// What the timeline says of it.
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
  /// Nothing: plans are tried without making values again, then both.
  mutable std::optional<bool> regathers_ = std::nullopt;
};

}  // namespace shardweave::inline v0
