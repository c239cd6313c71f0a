#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/solve_restricted.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The k best plans.

namespace shardweave::inline v0 {

/// When two plans count as different, and the effort of the search.
struct best_plans_options {
  /// Vertices that distinguish plans: of all plans that agree on them only the best one counts. Empty: all vertices.
  std::vector<std::uint32_t> differ_in = {};
  /// Sweeps of message passing for the label bounds that prune parts without a call of the solver. 0: no pruning.
  std::size_t bound_steps = 100;
  std::size_t solves = std::numeric_limits<std::size_t>::max();  ///< calls of the solver, at most
};

/// A plan of the ranking.
template <cost_value Cost>
struct ranked_plan {
  /// Its bound holds for this plan and all later or unlisted ones; `optimal`: proven to be the next best.
  solution<Cost> answer;
  /// Vertices whose strategy differs from the first plan's; see also `diff`.
  std::vector<std::uint32_t> changed = {};
};

/// The best plans by ascending objective.
template <cost_value Cost>
struct plan_ranking {
  std::vector<ranked_plan<Cost>> plans = {};
  /// A lower bound on the objective of all plans that are not listed; +infinity if there are none.
  double rest_bound = -std::numeric_limits<double>::infinity();
  /// `optimal` if the requested number of plans, or all plans that exist, are listed in proven order; `infeasible` if
  /// there is none.
  solve_status status = solve_status::stopped;
  std::size_t solves = 0;  ///< calls of the solver
};

namespace detail {

/// Lawler's partition of the assignments around the plans found; the part of least bound first.
template <cost_value Cost, class S>
class plan_search {
 public:
  plan_search(const placement_problem<Cost>& problem, const S& policy, const solve_control& control,
              const best_plans_options& options)
      : problem_(problem), policy_(policy), options_(options), limit_(control) {
    std::vector<char> listed(p().size(), options.differ_in.empty() ? 1 : 0);
    for (const std::uint32_t v : options.differ_in) {
      if (v >= problem.vertex_count())
        refuse(error_category::input, "plans are to differ in vertex " + std::to_string(v) + ", but there are only " +
                                          std::to_string(problem.vertex_count()));
      listed[problem.variable_of(v)] = 1;
    }
    for (std::uint32_t x = 0; x < p().size(); ++x)
      if (listed[x] != 0 && p().label_count(x) > 1) told_apart_.push_back(x);
  }

  plan_ranking<Cost> run(std::size_t count) {
    plan_ranking<Cost> result;
    std::vector<std::uint32_t> ranked;
    open_.push({-infinity, none, 0});
    bool stopped = false;
    while (ranked.size() < count) {
      if (!found_.empty() && (stopped || open_.empty() || proves(open_.top().bound, found_.top().objective))) {
        ranked.push_back(found_.top().part);
        found_.pop();
        if (count > 1) split(ranked.back());
      } else if (stopped || open_.empty()) {
        break;
      } else if (result.solves >= options_.solves || (result.solves > 0 && limit_.expired())) {
        stopped = true;
      } else {
        const open_part next = open_.top();
        open_.pop();
        result.solves += solve(next) ? 1U : 0U;
      }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [&](std::uint32_t a, std::uint32_t b) {
      return parts_[a].answer.objective < parts_[b].answer.objective;
    });
    finish(result, ranked, count, stopped || stopped_inside_);
    return result;
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t none = ~0U;

  /// The assignments of part `parent` that have its plan's labels on the first `at` variables of its order, and not on
  /// the next one. Without a parent: all assignments.
  struct open_part {
    double bound;
    std::uint32_t parent;
    std::uint32_t at;
    friend bool operator<(const open_part& a, const open_part& b) {  // the top of a queue is the greatest
      return std::tie(b.bound, b.parent, b.at) < std::tie(a.bound, a.parent, a.at);
    }
  };
  /// A part with its best plan.
  struct solved_part {
    open_part origin;
    solution<Cost> answer;
    std::vector<strategy> labels;
    std::vector<std::uint32_t> order = {};
    double of_class = infinity;  ///< bounds the plans that agree with it on all distinguishing variables
  };
  struct found_part {
    Cost objective;
    std::uint32_t part;
    friend bool operator<(const found_part& a, const found_part& b) {
      return std::tie(b.objective, b.part) < std::tie(a.objective, a.part);
    }
  };

  [[nodiscard]] const compact_problem<Cost>& p() const { return problem_.compact(); }

  /// Calls `fixed(variable, label)` and `gone(variable, label)` for the decisions that define the part.
  template <class Fixed, class Gone>
  void describe(open_part part, Fixed fixed, Gone gone) const {
    for (; part.parent != none; part = parts_[part.parent].origin) {
      const solved_part& up = parts_[part.parent];
      for (std::uint32_t i = 0; i < part.at; ++i) fixed(up.order[i], up.labels[up.order[i]]);
      gone(up.order[part.at], up.labels[up.order[part.at]]);
    }
  }

  /// Finds the best plan of a part. \returns whether the solver was called
  bool solve(const open_part& part) {
    restricted_answer<Cost> found;
    if (part.parent == none) {
      found.answer = solved_by(policy_, problem_, limit_.rest());
      found.asked = true;
      if (found.answer.has_assignment()) found.labels = problem_.labels_of(found.answer.choice).value();
    } else {
      restriction<Cost> left(p());
      describe(
          part, [&](std::uint32_t x, strategy l) { left.fix(x, l); },
          [&](std::uint32_t x, strategy l) { left.forbid(x, l); });
      found = solve_restricted(problem_, std::move(left), policy_, limit_.rest());
    }
    solution<Cost>& answer = found.answer;
    stopped_inside_ = stopped_inside_ || answer.status == solve_status::stopped;
    answer.lower_bound = std::max(answer.lower_bound, part.bound);
    if (!answer.has_assignment()) {
      without_plan_ = std::min(without_plan_, answer.lower_bound);
      if (part.parent == none) root_status_ = answer.status;
      return found.asked;
    }
    answer.lower_bound = std::min(answer.lower_bound, in_double(answer.objective));
    const double of_class = tells_all_apart() ? in_double(answer.objective) : answer.lower_bound;
    found_.push({answer.objective, static_cast<std::uint32_t>(parts_.size())});
    parts_.push_back({part, std::move(answer), std::move(found.labels), {}, of_class});
    return found.asked;
  }

  [[nodiscard]] bool tells_all_apart() const {
    std::size_t undecided = 0;
    for (std::size_t x = 0; x < p().size(); ++x) undecided += p().label_count(x) > 1 ? 1U : 0U;
    return told_apart_.size() == undecided;
  }

  /// Partitions the rest of a part around its plan. Variables that cost most to change come first: parts that change
  /// them are rarely solved, and those that change later variables have more of them fixed.
  void split(std::uint32_t number) {
    if (!has_bounds_) bound_labels();
    std::vector<char> fixed(p().size()), gone(p().total_labels());
    describe(
        parts_[number].origin, [&](std::uint32_t x, strategy) { fixed[x] = 1; },
        [&](std::uint32_t x, strategy l) { gone[p().label_start(x) + l] = 1; });
    solved_part& part = parts_[number];
    std::vector<std::pair<double, std::uint32_t>> changes;  // bound negated, variable
    for (const std::uint32_t x : told_apart_) {
      if (fixed[x] != 0) continue;
      double least = infinity;
      for (strategy l = 0; l < p().label_count(x); ++l)
        if (const std::size_t at = p().label_start(x) + l; l != part.labels[x] && gone[at] == 0)
          least = std::min(least, label_bounds_.empty() ? -infinity : label_bounds_[at]);
      if (least < infinity) changes.emplace_back(-least, x);
    }
    std::sort(changes.begin(), changes.end());
    for (const auto& [negated, x] : changes) {
      open_.push({std::max(part.answer.lower_bound, -negated), number, static_cast<std::uint32_t>(part.order.size())});
      part.order.push_back(x);
    }
  }

  void bound_labels() {
    has_bounds_ = true;
    if (options_.bound_steps == 0) return;
    price_ascent<Cost> ascent(p());
    const double best = in_double(parts_.front().answer.objective);
    for (std::size_t i = 0; i < options_.bound_steps && !limit_.expired() && ascent.step(best); ++i) {
    }
    label_bounds_ = ascent.label_bounds();
    if (problem_.savings() == nullptr) return;
    const auto most = static_cast<double>(problem_.most_saved());
    for (double& b : label_bounds_) b = b - most - 1e-12 * (std::abs(b) + most);
  }

  void finish(plan_ranking<Cost>& result, const std::vector<std::uint32_t>& ranked, std::size_t count, bool stopped) {
    result.rest_bound = without_plan_;
    if (!open_.empty()) result.rest_bound = std::min(result.rest_bound, open_.top().bound);
    for (; !found_.empty(); found_.pop())
      result.rest_bound = std::min(result.rest_bound, parts_[found_.top().part].answer.lower_bound);
    if (ranked.empty()) {
      result.status = root_status_;
      return;
    }
    if (count == 1) result.rest_bound = parts_[ranked[0]].answer.lower_bound;  // the rest was not searched
    double bound = result.rest_bound;
    bool proven = true;
    for (std::size_t i = ranked.size(); i-- > 0;) {
      solved_part& part = parts_[ranked[i]];
      bound = std::min(bound, part.of_class);
      ranked_plan<Cost> plan{std::move(part.answer), {}};
      plan.answer.lower_bound = bound;
      const bool is_next = proves(bound, plan.answer.objective);
      plan.answer.status = is_next ? solve_status::optimal : stopped ? solve_status::stopped : solve_status::feasible;
      proven = proven && is_next;
      result.plans.push_back(std::move(plan));
    }
    std::reverse(result.plans.begin(), result.plans.end());
    const assignment& first = result.plans.front().answer.choice;
    for (ranked_plan<Cost>& plan : result.plans)
      for (std::uint32_t v = 0; v < first.size(); ++v)
        if (plan.answer.choice[v] != first[v]) plan.changed.push_back(v);
    const bool complete = result.plans.size() == count || result.rest_bound == infinity;
    result.status = proven && complete ? solve_status::optimal
                    : stopped          ? solve_status::stopped
                                       : solve_status::feasible;
  }

  const placement_problem<Cost>& problem_;
  const S& policy_;
  const best_plans_options& options_;
  deadline limit_;
  std::vector<std::uint32_t> told_apart_;  ///< distinguishing variables with more than one label
  std::vector<solved_part> parts_;
  std::priority_queue<open_part> open_;
  std::priority_queue<found_part> found_;
  std::vector<double> label_bounds_;
  bool has_bounds_ = false, stopped_inside_ = false;
  double without_plan_ = infinity;  ///< bounds the parts in which the solver found no plan
  solve_status root_status_ = solve_status::stopped;
};

}  // namespace detail

/// The `count` best plans that differ, each with its objective, a bound and the vertices that it changes.
///
/// The first plan is the solver's answer. All other assignments are partitioned: part i has the plan's labels on the
/// first i variables of some order and another label on the next one. The part of least bound is solved next, and is
/// partitioned around its plan in turn. Bounds come from one run of message passing, so most parts are never solved. If
/// the solver proves its answers, the plans are proven to be the best ones; otherwise they are the ones that it found,
/// with valid bounds.
///
/// \param control  limits the whole search; `iterations` are for each call of the solver
/// \throws error (input) if `count` is 0, or `differ_in` names a vertex that does not exist
///
/// Deterministic: as the solver is.
/// Complexity: one call of the solver, and at most one per vertex for each plan, on ever smaller problems; message
/// passing once
/// Source: E. Lawler, A procedure for computing the K best solutions to discrete optimization problems, Management
/// Science 18 (1972).
template <cost_value Cost, class S>
[[nodiscard]] plan_ranking<Cost> best_plans(const placement_problem<Cost>& problem, const S& policy, std::size_t count,
                                            const solve_control& control = {}, const best_plans_options& options = {}) {
  if (count == 0) refuse(error_category::input, "0 plans are asked for, expected at least 1");
  return detail::plan_search<Cost, S>(problem, policy, control, options).run(count);
}

}  // namespace shardweave::inline v0
