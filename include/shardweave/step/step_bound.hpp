#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/solution.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/step/detail/claim_search.hpp>
#include <shardweave/step/detail/game_value.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// How fast no plan can be: a bound on the step over all placements, buckets and orders.

namespace shardweave::inline v0 {

struct step_bound_options {
  std::size_t rounds = 40;   ///< placements that are solved, at most
  double tolerance = 0.002;  ///< between the bound and what other prices could make of it, relative to it
  /// How far a priced placement may be from its own bound, relative to it.
  double placement_gap = 0.0005;
  /// Of larger problems fewer placements are solved, and each with fewer iterations: table entries that all rounds may
  /// have together; an eighth of what a placement's solver may read. At least four placements are solved.
  std::size_t entries = 250'000'000;
  /// The vertex at which paths end that come before all other work of a claim, in all rounds; nothing: it is found, and
  /// such claims come in the last fifth of the rounds.
  std::optional<std::uint32_t> turn = std::nullopt;
};

/// A bound, the prices that prove it, and what was met on the way.
struct step_bounds {
  double bound = -std::numeric_limits<double>::infinity();  ///< in the unit of the work; no plan ends earlier
  /// No prices on claims of these forms prove more: some mixture of placements keeps all of them this low.
  double limit = std::numeric_limits<double>::infinity();
  std::vector<step_claim> claims = {};      ///< those that count
  std::vector<double> weights = {};         ///< per claim: how much, 1 in all
  std::vector<assignment> placements = {};  ///< the best under some prices each, the starts first; none twice
  std::size_t rounds = 0;
  bool stopped = false;  ///< a limit ended the work
};

namespace detail {

/// How many of the placements that may be solved a problem leaves time for, and how many iterations for each.
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
    iterations = std::max<std::size_t>(50, 8 * entries / own);
  }
};

}  // namespace detail

/// Bounds the end of every plan by pricing time. A weight for each claim about the step (`step_claim`: the work of one
/// channel, what lies along one path) makes a cost for every vertex and edge; a placement of least cost costs no more
/// than any plan takes. The best weights are those of a game: weights on claims against a mixture of placements. Each
/// round solves the game on the claims and placements that are known, adds the claims that are largest for the mixture
/// of placements, the ways of doing their work (`edge_work::otherwise`) and the placement that are best under the
/// weights; between two rounds weights move half of the way.
///
/// \param problem  compiled; its constraints hold, its costs and savings do not count
/// \param starts   placements to begin with, good ones
/// \param policy   solves placements under prices; the bound is as good as its bounds
/// \throws error (input) if work and problem are not of one graph, or the graph has a cycle
/// Complexity: `rounds` placements under prices; fewer of large problems (`entries`)
/// Source: Lagrangian duality; cutting planes of J. Kelley, smoothed as P. Wentges does; generation of rows and
/// columns.
template <class S>
  requires solver<S, double>
[[nodiscard]] step_bounds step_bound(const placement_problem<double>& problem, const step_work& work, const S& policy,
                                     const step_bound_options& options = {}, std::span<const assignment> starts = {},
                                     const solve_control& control = {}) {
  const deadline limit(control);
  const bool has_ways = std::ranges::any_of(work.tables, [](const work_table& t) { return t.ways() > 1; });
  step_work together = has_ways ? least_of_ways(work) : step_work{};
  const step_work* counted = has_ways ? &together : &work;
  std::optional<priced_steps> priced(std::in_place, problem, *counted);
  detail::claim_search search(work);
  if (options.turn) search.want_heads_at(*options.turn);
  step_bounds result;
  std::vector<step_claim> claims = search.claims_of_channels();
  std::vector<taken_work> taken;          // by each placement, in some ways to do its work: a column of the game
  std::vector<std::size_t> placement_of;  // of each column
  std::vector<std::vector<double>> gain;  // per claim, of each column
  for (std::size_t r = 0; r < claims.size(); ++r) gain.emplace_back();
  const auto add_column = [&](std::size_t placement, taken_work some) {
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (placement_of[i] == placement && taken[i].load == some.load) return false;
    placement_of.push_back(placement);
    taken.push_back(std::move(some));
    for (std::size_t r = 0; r < claims.size(); ++r) gain[r].push_back(value_of(claims[r], work, taken.back()));
    return true;
  };
  const auto add_placement = [&](assignment choice, const work_prices& prices) {
    const auto known = std::ranges::find(result.placements, choice);
    const auto at = static_cast<std::size_t>(known - result.placements.begin());
    if (known == result.placements.end()) result.placements.push_back(std::move(choice));
    return add_column(at, work_of(*counted, result.placements[at], &prices));
  };
  // what is known already, its work done in the ways that are best under the game's weights
  const auto add_ways = [&](const detail::game_value& game) {
    if (!has_ways || counted != &work) return false;
    const work_prices prices = prices_of(claims, game.rows, work);
    const double owed = price_of_limits(claims, game.rows, work);
    bool fresh = false;
    for (std::size_t p = 0; p < result.placements.size(); ++p) {
      taken_work some = work_of(work, result.placements[p], &prices);
      if (worth_of(some, prices) - owed < game.value * (1 - options.tolerance / 4))
        fresh = add_column(p, std::move(some)) || fresh;
    }
    return fresh;
  };
  const auto add_claims = [&](const detail::game_value& game) {
    bool fresh = false;
    for (step_claim& claim : search.largest(detail::mixture_of(taken, game.columns))) {
      if (std::ranges::find(claims, claim) != claims.end()) continue;
      std::vector<double> row;
      double worth = 0;
      for (std::size_t i = 0; i < taken.size(); ++i) {
        row.push_back(value_of(claim, work, taken[i]));
        worth += game.columns[i] * row.back();
      }
      if (worth <= game.value * (1 + options.tolerance / 4)) continue;
      claims.push_back(std::move(claim));
      gain.push_back(std::move(row));
      fresh = true;
    }
    return fresh;
  };
  for (const assignment& choice : starts)
    if (problem.labels_of(choice))
      add_placement(choice, prices_of(claims, std::vector<double>(claims.size(), 1), work));

  std::vector<double> best_weights;
  bool halfway = true;
  bool stays = false;  // the next round asks what the best prices prove once ways count
  const detail::priced_effort effort(problem.compact(), options.rounds, options.entries);
  // Claims with heads, and ways of which one is taken, come last: they sharpen the bound, while the placements met
  // without them make the better plans.
  const std::size_t last = has_ways ? effort.placements / 3 : effort.placements / 5;
  std::size_t most = effort.placements - (options.turn && !has_ways ? 0 : last);
  const auto goes_on = [&] {
    const bool sharpens = search.want_heads() || counted != &work;
    if (result.rounds >= effort.placements || !sharpens) return false;
    result.limit = std::numeric_limits<double>::infinity();  // there is more to claim now
    if (counted != &work) {
      counted = &work;
      together = {};
      priced.emplace(problem, work);
      taken.clear();
      placement_of.clear();
      for (auto& row : gain) row.clear();
      const std::vector<double> alike(claims.size(), 1.0);
      const work_prices prices = prices_of(claims, best_weights.empty() ? alike : best_weights, work);
      for (std::size_t p = 0; p < result.placements.size(); ++p)
        add_column(p, work_of(work, result.placements[p], &prices));
      stays = !best_weights.empty();
    }
    most = std::min(effort.placements, result.rounds + last);
    halfway = true;
    return result.rounds < most;
  };
  while (result.rounds < most || goes_on()) {
    if (limit.expired()) {
      result.stopped = true;
      break;
    }
    detail::game_value game;
    if (taken.empty()) {
      game.rows.assign(claims.size(), 1.0 / static_cast<double>(claims.size()));
    } else {
      do {
        game = detail::value_of_game(gain);
      } while (add_claims(game) || add_ways(game));
      result.limit = std::min(result.limit, game.value);
      if (!stays && result.bound >= game.value * (1 - options.tolerance)) {
        if (!goes_on()) break;
        continue;
      }
    }
    std::vector<double> weights = game.rows;
    best_weights.resize(best_weights.empty() ? 0 : weights.size());
    if (std::exchange(stays, false))
      weights = best_weights;
    else if (halfway && !best_weights.empty())
      for (std::size_t r = 0; r < weights.size(); ++r) weights[r] = (weights[r] + best_weights[r]) / 2;
    const work_prices prices = prices_of(claims, weights, work);
    const placement_problem<double> at_prices(priced->at(prices));
    solve_control rest = limit.rest_for_part();
    rest.gap = options.placement_gap;
    rest.iterations = effort.iterations;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < taken.size(); ++i) {
      double cost = 0;
      for (std::size_t r = 0; r < claims.size(); ++r) cost += weights[r] * gain[r][i];
      if (cost >= least) continue;
      least = cost;
      rest.start = *problem.labels_of(result.placements[placement_of[i]]);
    }
    if (limit.expired()) continue;
    const solution<double> answer = policy.solve(at_prices, rest);
    ++result.rounds;
    if (answer.status == solve_status::infeasible) {
      result.bound = result.limit = std::numeric_limits<double>::infinity();
      break;
    }
    const double proven =
        detail::rounded_down(answer.lower_bound) - price_of_limits(claims, weights, work) * (1 + detail::lost_in_sums);
    const bool better = proven > result.bound;
    if (better) {
      result.bound = proven;
      result.claims = claims;
      result.weights = best_weights = weights;
    }
    const bool fresh = answer.has_assignment() && add_placement(problem.lift(answer.choice), prices);
    if (control.progress)
      control.progress({.stage = "step bound",
                        .seconds = limit.elapsed(),
                        .objective = result.limit,
                        .lower_bound = result.bound,
                        .done = static_cast<double>(result.rounds) / static_cast<double>(effort.placements)});
    // halfway weights that teach nothing: the next round takes the game's own; if these do not either, none will
    if (!fresh && !better) {
      if (halfway && !best_weights.empty()) {
        halfway = false;
      } else if (!goes_on()) {
        break;
      }
    } else {
      halfway = true;
    }
  }
  for (std::size_t r = result.claims.size(); r-- > 0;)
    if (result.weights[r] <= 0) {
      result.claims.erase(result.claims.begin() + static_cast<std::ptrdiff_t>(r));
      result.weights.erase(result.weights.begin() + static_cast<std::ptrdiff_t>(r));
    }
  return result;
}

}  // namespace shardweave::inline v0
