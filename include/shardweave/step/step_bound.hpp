#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/solution.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/step/detail/claim_game.hpp>
#include <shardweave/step/detail/claim_search.hpp>
#include <shardweave/step/detail/game_value.hpp>
#include <shardweave/step/detail/rounded_down.hpp>
#include <shardweave/step/detail/smoothed_weights.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_search_options.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A lower bound on the makespan over all placements, buckets and orders.

namespace shardweave::inline v0 {

namespace detail {

/// How many priced problems are solved, and with how many iterations each (`step_bound_options::entries`).
struct priced_effort {
  std::size_t placements = 0;
  std::size_t iterations = 0;

  priced_effort(const compact_problem<double>& problem, std::size_t most, std::size_t entries) {
    std::size_t own = 1;
    for (const compact_edge& e : problem.edges()) {
      const cost_table<double>& table = *problem.tables()[e.table];
      own += table.row_classes() * table.column_classes();
    }
    placements = std::min(most, std::max<std::size_t>(4, entries / own));
    iterations = std::max<std::size_t>(50, 2 * entries / own);
  }
};

/// The work that claims are priced with: with a choice of one way per edge, or, until `count_ways`, the least of all
/// ways entry by entry (`least_of_ways`), which is priced in a fraction of the time.
class counted_work {
 public:
  counted_work(const placement_problem<double>& problem, const step_work& work, bool ways_at_once)
      : problem_(problem),
        work_(work),
        has_ways_(std::ranges::any_of(work.tables, [](const work_table& t) { return t.ways() > 1; })) {
    if (has_ways_ && !ways_at_once) together_ = std::make_unique<step_work>(least_of_ways(work));
    priced_.emplace(problem, counted());
  }
  [[nodiscard]] const step_work& counted() const { return together_ ? *together_ : work_; }
  [[nodiscard]] bool counts_ways() const { return has_ways_ && !has_ways_left(); }
  /// Whether the choice of ways is still relaxed to the least of them.
  [[nodiscard]] bool has_ways_left() const { return together_ != nullptr; }
  void count_ways() {
    priced_.reset();
    together_.reset();
    priced_.emplace(problem_, work_);
  }
  [[nodiscard]] auto at(const work_prices& prices) { return priced_->at(prices); }

 private:
  const placement_problem<double>& problem_;
  const step_work& work_;
  bool has_ways_;
  std::unique_ptr<step_work> together_;
  std::optional<priced_steps> priced_;  ///< of `counted()`
};

}  // namespace detail

/// Bounds the makespan of every plan from below. Weights on claims (`step_claim`) give every vertex and edge a cost,
/// and the least cost of a placement under them bounds all plans (weak duality). The best weights solve a matrix game,
/// claims against mixtures of placements. Each round solves the game on the claims and placements that are known; adds
/// the largest claims for its mixture of placements (row generation); adds the placement that is cheapest under the
/// weights, and cheaper ways of known ones (`edge_work::otherwise`; column generation). Weights are smoothed: half way
/// between the best so far and those of the game.
///
/// \param problem  compiled; its constraints hold, its costs and savings are ignored
/// \param starts   placements to begin with, good ones
/// \param policy   solves placements under prices; the bound is as good as its bounds
/// \param known_bounds  of the same problem: the search continues with their claims and weights; null: there are none
/// \throws error (input) if work and problem are not of one graph, the graph has a cycle, or no vertex
///         `options.turn`
/// Complexity: at most `rounds` priced placement problems; fewer of large ones (`entries`)
/// Source: Lagrangian duality; the cutting planes of J. Kelley, smoothed as by P. Wentges; row and column generation.
template <class S>
[[nodiscard]] step_bounds step_bound(const placement_problem<double>& problem, const step_work& work, const S& policy,
                                     const step_bound_options& options = {}, std::span<const assignment> starts = {},
                                     const solve_control& control = {}, const step_bounds* known_bounds = nullptr) {
  const deadline limit(control);
  detail::counted_work counted(problem, work, options.waits);
  detail::claim_search search(work);
  if (options.turn) search.want_heads_at(*options.turn);
  if (options.waits) search.want_waits();
  const bool goes_on = known_bounds != nullptr && !known_bounds->claims.empty();
  detail::claim_game game(work, goes_on ? known_bounds->claims : search.claims_of_channels(), options.tolerance / 4);
  detail::smoothed_weights smoothed;
  step_bounds result;
  if (goes_on) {
    result.bound = known_bounds->bound;
    result.claims = known_bounds->claims;
    result.weights = known_bounds->weights;
    smoothed.found_better(result.weights);
  }
  game.count(counted.counted());
  const auto prices_at = [&](const std::vector<double>& weights) { return prices_of(game.claims(), weights, work); };
  const auto add_placement = [&](assignment choice, const work_prices& prices) {
    const auto known = std::ranges::find(result.placements, choice);
    const auto at = static_cast<std::size_t>(known - result.placements.begin());
    if (known == result.placements.end()) result.placements.push_back(std::move(choice));
    return game.add_placement(at, result.placements[at], prices);
  };
  for (const assignment& choice : starts)
    if (!limit.expired() && problem.labels_of(choice))
      add_placement(choice, prices_at(smoothed.best(game.claims().size())));

  // Claims with heads, and the choice of one way per edge, come last: they sharpen the bound, while the placements that
  // are found without them give better plans.
  const detail::priced_effort effort(problem.compact(), options.rounds, options.entries);
  const std::size_t last = effort.placements / (counted.has_ways_left() ? 3 : 5);
  std::size_t most = effort.placements - (options.turn && !counted.has_ways_left() ? 0 : last);
  const auto sharpens = [&] {
    result.stopped = result.stopped || limit.expired();
    if (result.stopped) return false;
    const bool has_more = search.want_heads() || counted.has_ways_left();
    if (result.rounds >= effort.placements || !has_more) return false;
    result.limit = std::numeric_limits<double>::infinity();  // of a smaller set of claims
    if (counted.has_ways_left()) {
      counted.count_ways();
      game.count(work);
      const work_prices prices = prices_at(smoothed.best(game.claims().size()));
      for (std::size_t p = 0; p < result.placements.size() && !limit.expired(); ++p)
        game.add_placement(p, result.placements[p], prices);
      smoothed.stay();  // evaluates the best weights once more, now that ways count
    }
    most = std::min(effort.placements, result.rounds + last);
    smoothed.start_halfway();
    return result.rounds < most;
  };
  const auto solved_game = [&] {
    detail::game_value value = game.value();
    while (!limit.expired() && (game.add_claims(search, value) || (counted.counts_ways() && game.add_ways(value))))
      value = game.value();
    return value;
  };
  while (result.rounds < most || sharpens()) {
    if (limit.expired()) {
      result.stopped = true;
      break;
    }
    std::vector<double> own(game.claims().size(), 1.0 / static_cast<double>(game.claims().size()));
    if (game.column_count() > 0) {
      detail::game_value value = solved_game();
      if (limit.expired()) continue;  // claims may be missing, so the value is no limit
      result.limit = std::min(result.limit, value.value);
      if (!smoothed.stays() && result.bound >= value.value * (1 - options.tolerance)) {
        if (!sharpens()) break;
        continue;
      }
      own = std::move(value.rows);
    }
    const std::vector<double> weights = smoothed.next(std::move(own));
    const work_prices prices = prices_at(weights);
    const placement_problem<double> at_prices(counted.at(prices));
    solve_control rest = limit.rest_for_part();
    rest.gap = options.placement_gap;
    rest.iterations = effort.iterations;
    if (game.column_count() > 0) rest.start = *problem.labels_of(result.placements[game.cheapest(weights)]);
    if (limit.expired()) continue;
    const solution<double> answer = detail::solved_by(policy, at_prices, rest);
    ++result.rounds;
    if (answer.status == solve_status::infeasible) {
      result.bound = result.limit = std::numeric_limits<double>::infinity();
      break;
    }
    const double proven = detail::rounded_down(answer.lower_bound) -
                          price_of_limits(game.claims(), weights, work) * (1 + detail::lost_in_sums);
    const bool better = proven > result.bound;
    if (better) {
      result.bound = proven;
      result.claims = game.claims();
      result.weights = weights;
      smoothed.found_better(weights);
    }
    const bool fresh = answer.has_assignment() && add_placement(problem.lift(answer.choice), prices);
    if (control.progress)
      control.progress({.stage = "step bound",
                        .seconds = limit.elapsed(),
                        .objective = result.limit,
                        .lower_bound = std::max(result.bound, 0.0),  // no step is negative
                        .done = static_cast<double>(result.rounds) / static_cast<double>(effort.placements)});
    if (!smoothed.may_go_on(fresh || better) && !sharpens()) break;
  }
  for (std::size_t r = result.claims.size(); r-- > 0;)
    if (result.weights[r] <= 0) {
      result.claims.erase(result.claims.begin() + static_cast<std::ptrdiff_t>(r));
      result.weights.erase(result.weights.begin() + static_cast<std::ptrdiff_t>(r));
    }
  return result;
}

}  // namespace shardweave::inline v0
