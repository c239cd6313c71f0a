#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/sensitivity.hpp>
#include <shardweave/solve/solution.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/step/detail/chained_edges.hpp>
#include <shardweave/step/detail/small_step_search.hpp>
#include <shardweave/step/detail/tried_plans.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_planner.hpp>
#include <shardweave/step/step_search_options.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Search for the fastest plan: placements that are optimal under prices of work, each lowered, ordered and timed.

namespace shardweave::inline v0 {

/// The best plan found, and a bound on the step of all plans.
template <class Plan>
struct step_search_result {
  std::optional<Plan> plan = std::nullopt;  ///< nothing if no plan is feasible (finite `step`)
  assignment choice = {};
  double step = std::numeric_limits<double>::infinity();
  double first_step = std::numeric_limits<double>::infinity();  ///< of the plan of the start
  step_bounds bounds = {};
  std::size_t plans = 0;  ///< number of plans made, without improved ones
  /// The search was exhaustive: every placement whose own bound is below the best step was planned, and completed if
  /// the planner can do so. Not certified; orders that the planner does not try are left out.
  bool complete = false;
  bool stopped = false;  ///< a limit ended the search

  /// Relative distance of the step from the bound, step / bound - 1; +infinity without a bound.
  [[nodiscard]] double gap() const {
    return bounds.bound > 0 ? step / bounds.bound - 1 : std::numeric_limits<double>::infinity();
  }
};

namespace detail {

/// One run of `search_step`.
template <class S, class Planner>
class step_search_run {
 public:
  using plan_type = typename tried_plans<Planner>::plan_type;

  step_search_run(const placement_problem<double>& problem, const step_work& least, const step_work& alone,
                  const S& policy, const Planner& planner, const step_search_options& options,
                  const solve_control& control)
      : problem_(problem),
        least_(least),
        alone_(alone),
        policy_(policy),
        options_(options),
        control_(control),
        limit_(control),
        priced_(problem, alone),
        chained_(chained_edges(alone)),
        effort_(problem.compact(), options.plans, options.bound.entries),
        tried_(alone, planner, options.planned, effort_.placements, control, limit_) {}

  step_search_result<plan_type> run(const assignment& start) {
    const auto begin = [&] {
      tried_.consider({&start, 1}, 1);
      if (tried_.size() > 0) result_.first_step = tried_.best().step;
    };
    const auto bound = [&] {
      if (options_.bounds && !limit_.expired()) find_bounds(start);
    };
    step_bounds sharper;
    if (prices_memory()) {  // `descend` takes the price of memory from the bound
      side_by_side(control_.threads, begin, bound);
      side_by_side(
          control_.threads,
          [&] {
            descend();
            plan_promising();
            cross();
          },
          [&] {
            if (options_.bounds && !limit_.expired()) sharper = with_waits(result_.bounds);
          });
    } else {
      begin();
      side_by_side(control_.threads, bound, [&] { descend(); });
      plan_promising();
      cross();
    }
    if (sharper.bound > result_.bounds.bound) {  // it began from the placements of the first one
      sharper.placements = std::move(result_.bounds.placements);
      sharper.rounds += result_.bounds.rounds;
      sharper.stopped = sharper.stopped || result_.bounds.stopped;
      result_.bounds = std::move(sharper);
      tried_.tell_bound(result_.bounds.bound);
    }
    look_further();
    tried_.improve(options_.improved);
    result_.plans = tried_.size();
    if (tried_.size() > 0 && std::isfinite(tried_.best().step)) {
      result_.choice = tried_.best().choice;
      result_.step = tried_.best().step;
      result_.plan = tried_.best().plan;
    }
    result_.stopped = limit_.expired();
    result_.complete = is_complete_ && !result_.stopped;
    return std::move(result_);
  }

 private:
  /// Prices per unit of work and channel, the compute stream first: for edges between computations (`chained`) and for
  /// all others (`loose`), which can hide more easily. Vertices and held amounts are priced by `loose` alone.
  struct channel_prices {
    std::vector<double> chained = {};
    std::vector<double> loose = {};
  };

  [[nodiscard]] bool is_over() const {
    return tried_.size() >= effort_.placements || solves_ >= effort_.placements || tried_.is_late();
  }

  [[nodiscard]] bool prices_memory() const {
    return std::ranges::any_of(least_.limits, [](double limit) { return limit > 0; });
  }
  /// For a bound: a share of the remaining time, gap 0, no start, no progress calls.
  [[nodiscard]] solve_control control_of_bound() const {
    solve_control rest = limit_.rest();
    rest.gap = 0;
    rest.start = {};
    rest.progress = nullptr;
    if (std::isfinite(rest.seconds)) rest.seconds *= share_of_bound;
    return rest;
  }
  /// The bound with claims that wait (`step_claim::waits`), from the placements of a known one. May run concurrently
  /// with the search for plans.
  [[nodiscard]] step_bounds with_waits(const step_bounds& known) const {
    step_bound_options how = options_.bound;
    how.waits = true;
    how.rounds = std::min(how.rounds, rounds_with_waits);
    return step_bound(problem_, least_, policy_, how, known.placements, control_of_bound(), &known);
  }
  /// May run concurrently with `consider` and `descend`, which change nothing that it reads.
  void find_bounds(const assignment& start) {
    solve_control rest = control_of_bound();
    if (control_.progress)  // reports of the solvers in it are about other problems
      rest.progress = [this](const progress_report& now) {
        if (now.stage == "step bound") tried_.tell_bound(now.lower_bound);
      };
    result_.bounds = step_bound(problem_, least_, policy_, options_.bound, {&start, 1}, rest);
  }
  /// Plans placements that the bound met, in ascending order of their own lower bounds (the largest claim).
  void plan_promising() {
    tried_.tell_bound(result_.bounds.bound);
    if (is_over()) return;
    claim_search search(alone_);
    if (options_.bound.turn) search.want_heads_at(*options_.bound.turn);
    std::vector<std::pair<double, const assignment*>> promising;
    for (const assignment& choice : result_.bounds.placements) {
      const taken_work taken = work_of(alone_, choice);
      double most = 0;
      for (const step_claim& claim : search.largest(taken)) most = std::max(most, value_of(claim, alone_, taken));
      promising.emplace_back(most, &choice);
    }
    std::ranges::stable_sort(promising, {}, [](const auto& p) { return p.first; });
    std::vector<assignment> first;
    // claims do not see what a placement must recompute to fit the memory, so all placements are planned
    const std::size_t many = prices_memory() ? promising.size() : std::min(promising.size(), few);
    for (std::size_t i = 0; i < many; ++i) first.push_back(*promising[i].second);
    tried_.consider(first, effort_.placements);
  }

  /// The placement problem under prices. Each edge of a share is charged an equal part: the price divided by the number
  /// of edges of the share that have work in the best plan.
  [[nodiscard]] placement_problem<double> at(const channel_prices& prices) const {
    const assignment& near = tried_.best().choice;
    std::map<std::pair<std::uint32_t, std::size_t>, std::size_t> sharing;
    for (const work_edge& e : alone_.edges)
      for (std::size_t c = 0; c < alone_.machines(); ++c)
        if (alone_.load(e, c, near[e.from], near[e.to]) > 0) ++sharing[{e.share, c}];
    work_prices all{std::vector<double>(alone_.vertex_count(), prices.loose[0]),
                    std::vector<double>(alone_.edges.size() * alone_.channels),
                    std::vector<double>(alone_.edges.size())};
    for (std::size_t i = 0; i < alone_.edges.size(); ++i)
      for (std::size_t c = 0; c < alone_.channels; ++c) {
        const auto at = sharing.find({alone_.edges[i].share, c});
        const double parts = at == sharing.end() ? 1.0 : static_cast<double>(at->second);
        all.load[i * alone_.channels + c] =
            (chained_[i] && c < alone_.machines() ? prices.chained : prices.loose)[c] / parts;
      }
    return placement_problem<double>(priced_.at(all));
  }
  [[nodiscard]] solve_control control_of_placement() const {
    solve_control rest = limit_.rest_for_part();
    rest.gap = options_.placement_gap;
    rest.iterations = effort_.iterations;
    return rest;
  }

  /// Solves the placement problem under each of some prices, from the best placement so far and in parallel, and makes
  /// plans of the solutions. \returns the prices that gave a new best plan; nothing if none did
  std::optional<channel_prices> fastest_of(std::span<const channel_prices> some) {
    // the rest is left for placements that the bound met
    const std::size_t most = effort_.placements - std::min(few, effort_.placements / 8);
    if (tried_.is_late() || solves_ >= most || tried_.size() >= most) return std::nullopt;
    some = some.first(std::min(some.size(), most - std::max(solves_, tried_.size())));
    solve_control rest = control_of_placement();
    if (const auto labels = problem_.labels_of(tried_.best().choice)) rest.start = *labels;
    std::vector<assignment> placed(some.size());
    for_each_number(some.size(), control_.threads, [&] {
      return [&](std::size_t i) {
        if (limit_.expired()) return;
        const solution<double> answer = policy_.solve(at(some[i]), rest);
        if (answer.has_assignment()) placed[i] = problem_.lift(answer.choice);
      };
    });
    solves_ += some.size();
    const auto fastest = tried_.consider(placed, most);
    return fastest ? std::optional(some[*fastest]) : std::nullopt;
  }

  /// Pattern search over channel prices, from 1 on: all channels but the compute stream by common factors, for all
  /// edges or the loose ones alone, then single prices by factors of 4, 2 and 1.4, each as long as plans get faster.
  void descend() {
    std::vector<double> unit(alone_.channels, 1.0);
    // held amounts keep the price that they have in the bound
    std::fill(unit.begin() + static_cast<std::ptrdiff_t>(alone_.machines()), unit.end(), 0.0);
    if (prices_memory())
      for (std::size_t r = 0; r < result_.bounds.claims.size(); ++r)
        if (const step_claim& claim = result_.bounds.claims[r]; claim.price > 0)
          unit[claim.held] += result_.bounds.weights[r] * claim.price;
    prices_ = {unit, unit};
    if (alone_.channels == 1) return;
    const auto scaled = [&](double factor) {
      std::vector<double> prices = unit;
      for (std::size_t c = 1; c < alone_.machines(); ++c) prices[c] *= factor;
      return prices;
    };
    std::vector<channel_prices> next;
    for (const double factor : {1.0, 0.5, 0.25, 0.12, 0.06, 0.02, 2.0})
      next.push_back({scaled(factor), scaled(factor)});
    for (const double factor : {0.5, 0.25, 0.12, 0.06, 0.02}) next.push_back({unit, scaled(factor)});
    if (const auto fastest = fastest_of(next)) prices_ = *fastest;
    for (double factor = 4; factor > 1.3; factor = std::sqrt(factor))
      for (bool better = true; better;) better = moves_one(factor);
  }
  /// Each price multiplied and divided by a factor, one price after another. \returns whether a plan got faster
  bool moves_one(double factor) {
    bool better = false;
    const auto move = [&](std::vector<double> channel_prices::*kind, std::size_t c) {
      std::array<channel_prices, 2> both{prices_, prices_};
      (both[0].*kind)[c] *= factor;
      (both[1].*kind)[c] /= factor;
      const auto fastest = fastest_of(both);
      if (!fastest) return;
      prices_ = *fastest;
      better = true;
    };
    for (std::size_t c = 1; c < alone_.channels; ++c)
      if (prices_.loose[c] > 0) move(&channel_prices::loose, c);
    for (std::size_t c = 1; c < alone_.machines(); ++c) move(&channel_prices::chained, c);
    return better;
  }

  /// Recombines good plans: forces one variable of the best placement to the label that it has in another good plan,
  /// and solves for the rest under the current prices. Starts again from each better plan.
  void cross() {
    std::set<std::pair<std::uint32_t, strategy>> forced;
    for (bool better = true; better && !is_over();) {
      better = false;
      const placement_problem<double> priced = at(prices_);
      const std::vector<strategy> own = *problem_.labels_of(tried_.best().choice);
      solve_control rest = control_of_placement();
      rest.start = own;
      const solution<double> known = policy_.solve(priced, rest);
      if (!known.has_assignment()) return;
      const auto force = [&](std::uint32_t x, strategy label) {
        if (better || is_over() || label == own[x] || !forced.emplace(x, label).second) return;
        const std::vector<fixed_strategies> demand{{x, {label}, {}}};
        ++solves_;
        const auto answer = cost_of_forcing(priced, known, demand, policy_, control_of_placement()).answer;
        if (!answer.has_assignment()) return;
        const assignment choice = problem_.lift(answer.choice);
        better = tried_.consider({&choice, 1}, effort_.placements).has_value();
      };
      for (const std::size_t other : tried_.best_ones(few)) {
        const auto labels = problem_.labels_of(tried_[other].choice);
        for (std::uint32_t x = 0; x < own.size(); ++x) force(x, (*labels)[x]);
      }
    }
  }

  /// Exhaustive or neighbourhood search in a small problem (`small_step_search`).
  void look_further() {
    if (tried_.size() == 0) return;
    const std::size_t planned = options_.planned > 0 ? options_.planned : problem_.vertex_count();
    small_step_search search(problem_, least_, options_.around, planned, options_.bound.turn, tried_);
    is_complete_ = search.run(result_.bounds.bound);
  }

  /// Placements planned of those that the bound met, and good plans that `cross` recombines: LLaMA-3 1B, 3B and 8B have
  /// steps within 0.01 ms of one another with 1, 2 and 8.
  static constexpr std::size_t few = 4;
  /// At most: they begin from a bound. Of 405B within 74 GiB they prove 9,979 ms in place of 9,894, and no prices on
  /// such claims prove more than 10,020 (docs/step.md).
  static constexpr std::size_t rounds_with_waits = 24;
  /// Of the remaining time, if it is limited. In 5 s a tenth proves 1.89 s of LLaMA-3 70B on 8x8 within 40 GiB in place
  /// of 2.08; half leaves 8B within 16 GiB 302.3 ms in place of 301.9.
  static constexpr double share_of_bound = 0.25;

  const placement_problem<double>& problem_;
  const step_work& least_;
  const step_work& alone_;
  const S& policy_;
  const step_search_options& options_;
  const solve_control& control_;
  deadline limit_;
  priced_steps priced_;
  std::vector<bool> chained_;
  priced_effort effort_;
  tried_plans<Planner> tried_;
  std::size_t solves_ = 0;  ///< placement problems solved under prices, those of the bound not counted
  channel_prices prices_;
  bool is_complete_ = false;  ///< as `step_search_result::complete`
  step_search_result<plan_type> result_;
};

}  // namespace detail

/// Searches for the plan with the shortest step. Plans `start`, and bounds the step of all plans (`step_bound`). Then
/// changes the prices of the channels' work, from 1 on, as long as the plan of the placement that is optimal under them
/// gets faster; plans placements that the bound met; forces single variables to strategies of other good plans. In a
/// small problem (at most 500 labels) it plans all placements whose bound is below the best step, in ascending order of
/// their bounds, or, if they are too many, those that differ from good ones in one or two variables. At last the best
/// plans are improved (`step_search_options::improved`). The best of all plans is returned.
///
/// \param least    least work with merging of collectives: for the bound
/// \param alone    work of separate launches: for prices of placements
/// \param policy   solves placement problems under prices
/// \param planner  makes a plan of a placement
/// \param start    a feasible placement, such as that of the least sum
/// \throws error (input) if `start` is no placement of the problem, or as `step_bound` does
///
/// The result depends on nothing but the arguments, unless there is a time limit; a stop is obeyed as fast as solver
/// and planner obey it.
/// Source: column generation for prices and placements, pattern search for prices of channels.
/// Complexity: at most `plans` plans and solved placements, in a small problem `around` / labels more plans, beside
/// `step_bound` and the improvement of plans
template <class S, class Planner>
[[nodiscard]] auto search_step(const placement_problem<double>& problem, const step_work& least, const step_work& alone,
                               const S& policy, const Planner& planner, const assignment& start,
                               const step_search_options& options = {}, const solve_control& control = {}) {
  static_assert(solver<S, double>,
                "What places under prices must be a solver for placement problems with costs in double "
                "(shardweave::solver).");
  static_assert(step_planner<Planner>,
                "What makes plans must have a const call (placement, solve_control) that returns a plan with a number "
                "`step`, and a const member improved(plan, effort, solve_control) that returns another "
                "(shardweave::step_planner).");
  if (!problem.labels_of(start))
    refuse(error_category::input,
           "the start of a search for the shortest step is no placement of the problem: it has " +
               std::to_string(start.size()) + " strategies for " + std::to_string(problem.vertex_count()) +
               " vertices, one that no feasible placement has, or breaks a tie");
  if constexpr (solver<S, double> && step_planner<Planner>)
    return detail::step_search_run<S, Planner>(problem, least, alone, policy, planner, options, control).run(start);
}

}  // namespace shardweave::inline v0
