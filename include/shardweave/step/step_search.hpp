#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/evaluate.hpp>
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
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
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
/// The fastest plan: placements under prices of time, each lowered, ordered and timed.

namespace shardweave::inline v0 {

/// Makes the whole plan of a placement: lowers it, merges, orders, and tells when it ends. `step` is that end, in the
/// unit of the work; +infinity where a plan does not keep what is demanded of it (memory). Of plans that end at once
/// the one of the lower `peak` is taken, and then the one of less `communication`, where plans have such numbers.
/// `improved` makes a better plan of one that is there, with `effort` for how hard to try: 1 for a glance, 10 for the
/// plan that is kept. A planner may have a member `completed(plan, below, control)`, too: its `best` is the best of all
/// plans of the same placement if one ends before `below`, and `is_all` tells whether all were looked at that could be
/// better. It is asked where few placements are all looked at.
/// Equal arguments give equal plans, unless a limit of time came in between. Where a control allows several threads
/// all of it may be asked by several at once.
template <class P>
concept step_planner = requires(const P& planner, std::span<const strategy> choice, const solve_control& control) {
  { planner(choice, control).step } -> std::convertible_to<double>;
  {
    planner.improved(planner(choice, control), std::size_t{1}, control)
  } -> std::same_as<decltype(planner(choice, control))>;
};

/// How many plans a search makes, and how close their placements must be to their bounds.
struct step_search_options {
  /// Made at most, the start included; and no more placements are solved for them. Of large problems fewer
  /// (`step_bound_options::entries`).
  std::size_t plans = 32;
  /// In a problem of at most 500 labels this number divided by its labels is how many plans more are made, of
  /// all placements that may have a better one, or, where they are too many, of those near the best ones; 0: none.
  std::size_t around = 8192;
  std::size_t improved = 6;  ///< so many of the best are looked at by the glance, the best then at length
  /// How far a priced placement may be from its own bound, relative to it: the schedule decides in the end.
  double placement_gap = 0.003;
  step_bound_options bound = {.rounds = 36};
  /// Vertices that a plan depends on, the first ones: assignments that differ in others alone have one plan. 0: all.
  std::size_t planned = 0;
  bool bounds = true;  ///< whether to bound the step of every plan; without, the gap is not known
};

/// The best plan that was seen, and how far from the best of all it is at most.
template <class Plan>
struct step_search_result {
  std::optional<Plan> plan = std::nullopt;  ///< nothing where no plan keeps what is demanded
  assignment choice = {};
  double step = std::numeric_limits<double>::infinity();
  double first_step = std::numeric_limits<double>::infinity();  ///< of the start
  step_bounds bounds = {};
  std::size_t plans = 0;  ///< that were made, improvements not counted
  /// The search came to its end: of every placement that may have a better plan by its own bound a plan was made, and
  /// completed where the planner does so. No certificate says so; orders that the planner does not try are left out.
  bool complete = false;
  bool stopped = false;  ///< a limit ended the work

  /// How far the step is above the bound, relative to it; +infinity without one.
  [[nodiscard]] double gap() const {
    return bounds.bound > 0 ? step / bounds.bound - 1 : std::numeric_limits<double>::infinity();
  }
};

namespace detail {

/// One run of the search.
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
    if (prices_memory()) {  // which prices of placements take from the bound
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
    if (sharper.bound > result_.bounds.bound) {  // the same placements are planned, at the same prices
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
  /// What a unit of work is worth by channel, the compute stream first: of what stands between computations, and of the
  /// rest, which has more time to hide. What is held has its price in the latter alone.
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
  /// Of a bound; it tells no progress.
  [[nodiscard]] solve_control control_of_bound() const {
    solve_control rest = limit_.rest();
    rest.gap = 0;
    rest.start = {};
    rest.progress = nullptr;
    if (std::isfinite(rest.seconds)) rest.seconds *= share_of_bound;
    return rest;
  }
  /// What claims that wait prove from there. Beside the search for plans, too.
  [[nodiscard]] step_bounds with_waits(const step_bounds& known) const {
    step_bound_options how = options_.bound;
    how.waits = true;
    how.rounds = std::min(how.rounds, rounds_with_waits);
    return step_bound(problem_, least_, policy_, how, known.placements, control_of_bound(), &known);
  }
  /// Beside `descend`: nothing of what that changes is looked at.
  void find_bounds(const assignment& start) {
    solve_control rest = control_of_bound();
    if (control_.progress)  // of what works on it, only the bound itself speaks of the step
      rest.progress = [this](const progress_report& now) {
        if (now.stage == "step bound") tried_.tell_bound(now.lower_bound);
      };
    result_.bounds = step_bound(problem_, least_, policy_, options_.bound, {&start, 1}, rest);
  }
  /// Plans of what was met on the way to the bound where their own claims promise something.
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
    // claims do not tell what a placement has to make again within a limit on memory: all are planned that may be
    const std::size_t many = prices_memory() ? promising.size() : std::min(promising.size(), few);
    for (std::size_t i = 0; i < many; ++i) first.push_back(*promising[i].second);
    tried_.consider(first, effort_.placements);
  }

  /// The placement that is best when work is worth so much. Of a value that several consumers share, each pays a part,
  /// as they do in the best plan.
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

  /// The prices of some under which the best placement's plan is fastest, if it is faster than the best so far. All are
  /// solved from there, on as many threads as there may be.
  std::optional<channel_prices> fastest_of(std::span<const channel_prices> some) {
    // some are left for what is met on the way to the bound
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

  /// Prices of channels, down and up from 1, together at first and then one by one, as long as steps get shorter.
  void descend() {
    std::vector<double> unit(alone_.channels, 1.0);
    // memory is worth what the bound says
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
  /// Each price up and down by a factor, one after another. \returns whether a plan got faster
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

  /// What other good plans place in another way, one variable at a time, the rest
  /// as prices have it then.
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

  /// In a small problem beyond that (`small_step_search`).
  void look_further() {
    if (tried_.size() == 0) return;
    const std::size_t planned = options_.planned > 0 ? options_.planned : problem_.vertex_count();
    small_step_search search(problem_, least_, options_.around, planned, options_.bound.turn, tried_);
    is_complete_ = search.run(result_.bounds.bound);
  }

  static constexpr std::size_t few = 4;
  static constexpr std::size_t rounds_with_waits = 24;
  static constexpr double share_of_bound = 0.25;  ///< of a time limit

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
  std::size_t solves_ = 0;  ///< of placements under prices, the bound's not counted
  channel_prices prices_;
  bool is_complete_ = false;  ///< all placements were looked at
  step_search_result<plan_type> result_;
};

}  // namespace detail

/// Looks for the plan of the shortest step. Begins with the plan of a placement that is there; bounds the step of all
/// plans (`step_bound`) and makes plans of placements met on the way; then moves prices of the channels' work, from the
/// plain sum on, as long as the plan of the placement that is best under them gets faster; then places single variables
/// as other good plans do; in a small problem (at most 500 labels) looks at all placements whose bound allows a better
/// plan, the least bound first, or, where they are too many, at what differs from good ones in one variable or two; and
/// looks at the orders of the best plans once more. Every plan seen is a candidate.
///
/// \param least    what merging leaves of the work: for the bound
/// \param alone    the work of launches alone: for the prices of placements
/// \param policy   solves placements under prices
/// \param planner  makes a plan of a placement
/// \param start    a feasible placement, such as that of the least sum
/// The result depends on nothing but the arguments, unless there is a limit of time; a stop is obeyed as fast as solver
/// and planner do.
/// Source: prices and columns as in column generation; the choice of prices by pattern search.
/// Complexity: at most `plans` plans and placements, in a small problem `around` / labels plans more, beside those of
/// `step_bound` and the looks at orders
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
  if constexpr (solver<S, double> && step_planner<Planner>)
    return detail::step_search_run<S, Planner>(problem, least, alone, policy, planner, options, control).run(start);
}

}  // namespace shardweave::inline v0
