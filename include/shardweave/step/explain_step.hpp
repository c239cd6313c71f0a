#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/explain.hpp>
#include <shardweave/simulate/slack.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// \file
/// What the work of a vertex adds to the step, and what its other strategies would.

namespace shardweave::inline v0 {

/// A task that a plan runs for a vertex, and the effect of its time on the step.
struct explained_task {
  task_index task = no_index;
  /// The edge of the problem that the task moves or copies a value for; of a transfer that several consumers share,
  /// that of the first one. Nothing: the task is the vertex's own work.
  std::optional<std::uint32_t> edge = std::nullopt;
  nanoseconds time{};        ///< of a member of a bucket: that of the bucket's launch
  std::size_t together = 1;  ///< number of collectives in its bucket
  nanoseconds slack{};       ///< by how much it may take longer before the step ends later (`slacks_of`)
  /// By how much, at least, the bound on all plans rises per unit of more such work in all plans: of the vertex, under
  /// any strategy; of all edges of the share on the same channel. Nothing: there is no bound, or the task is
  /// recomputation.
  std::optional<double> in_bound = std::nullopt;

  /// By how much the step ends later if this task takes so much longer and all others do not.
  [[nodiscard]] nanoseconds cost_of(nanoseconds longer) const { return std::max(nanoseconds(), longer - slack); }
};

/// A bound and the work that it is of; both must outlive it, neither is null.
struct priced_bound {
  const step_work* work = nullptr;
  const step_bounds* bounds = nullptr;
};

namespace detail {

/// Tasks of a vertex, and the copies and collectives of its arguments and of its results, without those that take no
/// time.
[[nodiscard]] inline std::vector<task_index> tasks_around(const lowered_graph& lowered, std::uint32_t vertex) {
  const task_graph& g = lowered.tasks;
  std::vector<bool> is_near(g.size());
  std::vector<task_index> own;
  for (task_index t = 0; t < g.size(); ++t)
    if (lowered.origin[t].operation == vertex && !lowered.origin[t].is_redistribution()) own.push_back(t);
  const auto follow = [&](const auto& next) {
    for (std::vector<task_index> open = own; !open.empty();) {
      const task_index t = open.back();
      open.pop_back();
      for (const task_index other : next(t)) {
        if (is_near[other] || !lowered.origin[other].is_redistribution()) continue;
        is_near[other] = true;
        open.push_back(other);
      }
    }
  };
  follow([&](task_index t) {
    std::vector<task_index> before;
    for (const auto& e : g.dependencies().in(t)) before.push_back(e.source);
    return before;
  });
  follow([&](task_index t) {
    std::vector<task_index> after;
    for (const auto& e : g.dependencies().out(t)) after.push_back(e.target);
    return after;
  });
  for (const task_index t : own) is_near[t] = true;
  std::vector<task_index> all;
  for (task_index t = 0; t < g.size(); ++t)
    if (is_near[t] && (g.is_collective(t) || g.duration(t) > nanoseconds())) all.push_back(t);
  return all;
}

}  // namespace detail

/// The tasks that a plan runs for a vertex (its own work, and copies and collectives of its arguments and results), and
/// the effect of each on the step, in the plan and in the bound on all plans.
///
/// \param lowered  the plan's tasks; group c of the tasks is channel c + 1 of the bound's work
/// \param line     what `simulate` gives for tasks and order
/// \param problem  of which the tasks were lowered
/// \param bound    on all plans of the problem; null: none
/// \returns in the order of the tasks
/// \throws error (input) for a vertex that does not exist
/// Complexity: O(V + E) of tasks and of the problem, and that of `prices_of`
[[nodiscard]] inline std::vector<explained_task> explain_step(const lowered_graph& lowered, const schedule& order,
                                                              const timeline& line,
                                                              const placement_description<double>& problem,
                                                              std::uint32_t vertex,
                                                              const priced_bound* bound = nullptr) {
  detail::require_vertex(problem, vertex);
  const task_graph& g = lowered.tasks;
  const std::vector<nanoseconds> slack = slacks_of(g, order, line);
  work_prices prices;
  if (bound != nullptr) prices = prices_of(bound->bounds->claims, bound->bounds->weights, *bound->work);
  // of all edges of the share; a channel that the work does not have has no price
  const auto price_of_way = [&](std::uint32_t edge, std::size_t channel) {
    const step_work& work = *bound->work;
    double sum = 0;
    for (std::size_t e = 0; e < work.edges.size(); ++e)
      if (work.edges[e].share == work.edges[edge].share)
        sum += prices.chain[e] + (channel < work.machines() ? prices.load[e * work.channels + channel] : 0);
    return sum;
  };
  std::vector<explained_task> all;
  for (const task_index t : detail::tasks_around(lowered, vertex)) {
    explained_task told{.task = t, .time = line.end[t] - line.start[t], .slack = slack[t]};
    for (const bucket& b : order.buckets)
      if (std::ranges::find(b.members, t) != b.members.end()) told.together = b.members.size();
    const task_origin& from = lowered.origin[t];
    for (std::uint32_t e = 0; e < problem.edges.size() && from.is_redistribution(); ++e)
      if (problem.edges[e].to == from.operation && problem.edges[e].slot == from.argument) told.edge = e;
    if (bound != nullptr && !from.again && told.edge.has_value() == from.is_redistribution())
      told.in_bound = told.edge ? price_of_way(*told.edge, g.is_collective(t) ? g.collective(t).group + 1 : 0)
                                : prices.time[vertex];
    all.push_back(told);
  }
  return all;
}

/// How the priced work of a placement changes if a vertex, with those tied to it, takes another strategy: an estimate
/// of the effect on the step, where `alternatives` tells that on the sum of costs. What is held, and what is
/// recomputed, is not counted.
/// \param told    `alternatives` of the vertex, of a problem whose work the bound has
/// \param choice  one strategy per vertex of that problem
/// \returns by strategy, in the unit of the work; meaningless for a forbidden one
/// Complexity: O(V + channels * E) per strategy
[[nodiscard]] inline std::vector<double> changes_at_prices(const vertex_alternatives<double>& told,
                                                           std::span<const strategy> choice,
                                                           const priced_bound& bound) {
  const step_work& work = *bound.work;
  const work_prices prices = prices_of(bound.bounds->claims, bound.bounds->weights, work);
  const auto worth = [&](std::span<const strategy> of) {
    double sum = 0;
    for (std::uint32_t v = 0; v < of.size(); ++v) sum += prices.time[v] * work.time(v, of[v]);
    for (std::size_t i = 0; i < work.edges.size(); ++i) {
      const work_edge& e = work.edges[i];
      if (e.from >= of.size() || e.to >= of.size()) continue;
      const std::span<const double> channels(prices.load.data() + i * work.channels, work.channels);
      const std::size_t way = work.cheapest_way(e, of[e.from], of[e.to], channels);
      for (std::size_t c = 0; c < work.machines(); ++c)
        if (channels[c] > 0) sum += channels[c] * work.load(e, c, of[e.from], of[e.to], way);
      if (prices.chain[i] > 0) sum += prices.chain[i] * work.chain(e, of[e.from], of[e.to]);
    }
    return sum;
  };
  const double now = worth(choice);
  std::vector<strategy> moved(choice.begin(), choice.end());
  std::vector<double> changes;
  for (strategy s = 0; s < told.strategies.size(); ++s) {
    moved[told.vertex] = s;
    for (const std::uint32_t v : told.along) moved[v] = s;
    changes.push_back(worth(moved) - now);
  }
  return changes;
}

}  // namespace shardweave::inline v0
