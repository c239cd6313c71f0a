#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/pipelined_collectives.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/pieces.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A plan whose collectives between activations are done in pieces.

namespace programs {

/// What came of it.
struct pieces_tried {
  unsigned pieces = 1;
  std::size_t collectives = 0;                                 ///< that are done in pieces
  shardweave::nanoseconds longer{};                            ///< computation of pieces beyond that of wholes
  shardweave::nanoseconds whole{};                             ///< the step before
  std::optional<shardweave::nanoseconds> step = std::nullopt;  ///< with pieces; nothing: no such plan was found
  bool stopped = false;                                        ///< before all were tried
  /// Whether the step is shorter, so that the plan is the one in pieces.
  [[nodiscard]] bool is_kept() const { return step && *step < whole; }
};

namespace detail {

/// A plan after a search over its orders as long as that for the plan that a search for the step keeps.
/// \param order  holds at most `limit`
[[nodiscard]] inline shardweave::task_plan searched(const shardweave::task_graph& graph,
                                                    const shardweave::schedule& order, shardweave::bytes limit,
                                                    const shardweave::solve_control& control) {
  namespace sw = shardweave;
  sw::search<> by{.changes = 30'000};
  by.memory = limit;
  sw::task_plan made;
  made.order = by.improve(graph, order, control);
  made.buckets = {.buckets = made.order.buckets};
  made.after = sw::simulate(graph, made.order, {.memory_samples = true});
  made.makespan_bound = sw::makespan_bound(graph, made.order.buckets, {.stop = control.stop}).value();
  return made;
}

/// A plan in pieces, ordered as `run` does or as the whole one was, then searched; nothing if none holds at most
/// `limit`, or a stop came before it was searched.
template <class Run>
[[nodiscard]] std::optional<shardweave::task_plan> order_of_pieces(const shardweave::task_graph& graph,
                                                                   const shardweave::schedule& known, const Run& run,
                                                                   shardweave::bytes limit,
                                                                   const shardweave::solve_control& control) {
  namespace sw = shardweave;
  sw::task_plan made = run(graph);
  if (control.stop.stop_requested()) return std::nullopt;
  const sw::timeline of_known = sw::simulate(graph, known);
  const bool fits = made.after.peak <= limit, known_fits = of_known.peak <= limit;
  if (!fits && !known_fits) return std::nullopt;
  if (!fits || (known_fits && of_known.end_to_end < made.after.end_to_end)) made.order = known;
  sw::task_plan better = searched(graph, made.order, limit, control);
  if (better.after.peak > limit) return std::nullopt;
  better.before = std::move(made.before);
  better.stages = std::move(made.stages);
  return better;
}

}  // namespace detail

/// Cuts collectives of a plan, those that its step waits for or all, orders it anew, and keeps what makes the step
/// shorter than that of the whole, whose order is searched for as long.
/// \param run    gives a task graph buckets and an order
/// \param limit  what a timeline may hold; no less than that of the plan
/// \pre the plan has tasks
template <class Model, class Run>
[[nodiscard]] pieces_tried try_pieces(shardweave::training_plan& plan, const Model& model, unsigned pieces,
                                      const Run& run, shardweave::bytes limit,
                                      const shardweave::solve_control& control) {
  namespace sw = shardweave;
  const sw::task_graph& whole = plan.lowered->tasks;
  sw::task_plan again = detail::searched(whole, plan.tasks->order, limit, control);
  if (again.after.end_to_end < plan.tasks->after.end_to_end && again.after.peak <= limit) {
    again.before = std::move(plan.tasks->before);
    again.stages = std::move(plan.tasks->stages);
    plan.tasks = std::move(again);
  }
  const sw::timeline& line = plan.tasks->after;
  std::vector<char> waited_for(whole.size());
  for (sw::task_index w = 0; w < whole.size(); ++w)
    if (whole.completes(w) != sw::no_index && line.end[w] > line.start[w]) waited_for[whole.completes(w)] = 1;
  pieces_tried best{.pieces = pieces, .whole = line.end_to_end};
  sw::lowered_graph lowered;
  sw::task_plan tasks;
  for (const std::span<const char> wanted : {std::span<const char>(waited_for), std::span<const char>()}) {
    best.stopped = control.stop.stop_requested();
    if (best.stopped) break;
    auto cut = sw::with_pipelined_collectives(*plan.lowered, model, plan.placement.choice, pieces, wanted);
    const sw::schedule known = sw::in_pieces(whole, plan.tasks->order, cut.cut, pieces);
    auto made = detail::order_of_pieces(cut.lowered.tasks, known, run, limit, control);
    best.stopped = !made && control.stop.stop_requested();
    if (!made || (best.step && made->after.end_to_end >= *best.step)) continue;
    best.collectives = cut.collectives;
    best.longer = cut.longer;
    best.step = made->after.end_to_end;
    lowered = std::move(cut.lowered);
    tasks = *std::move(made);
  }
  if (best.is_kept()) {
    plan.lowered = std::move(lowered);
    plan.tasks = std::move(tasks);
  }
  return best;
}

[[nodiscard]] inline std::string pieces_text(const pieces_tried& tried) {
  namespace sw = shardweave;
  const std::string all = sw::count_text(tried.collectives, "collective") + " between activations in " +
                          std::to_string(tried.pieces) + " pieces each, with the products beside them: ";
  if (!tried.step && tried.stopped) return "The stop came before collectives in pieces were tried: they stay whole.\n";
  if (!tried.step)
    return "Collectives in " + std::to_string(tried.pieces) + " pieces hold too much: they stay whole.\n";
  if (!tried.is_kept()) return all + "no shorter step (" + sw::time_text(*tried.step) + "), so they stay whole.\n";
  return all + sw::time_text(*tried.step) + " in place of " + sw::time_text(tried.whole) + "; the products take " +
         sw::time_text(tried.longer) + " longer.\n";
}

}  // namespace programs
