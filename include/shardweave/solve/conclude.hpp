#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// How a solver makes its answer.

namespace shardweave::inline v0 {

namespace detail {

/// The labels of the start that a control gives, if it is feasible; otherwise none.
template <cost_value Cost>
[[nodiscard]] std::vector<strategy> start_labels(const placement_problem<Cost>& problem, const solve_control& control) {
  if (control.start.empty()) return {};
  std::optional<std::vector<strategy>> labels = problem.labels_of(control.start);
  if (!labels || is_forbidden(problem.objective(*labels)) || !problem.compact().keeps_rows(*labels)) return {};
  return *std::move(labels);
}

/// Says something of an answer once.
inline void say_once(solve_statistics& statistics, std::string_view sentence) {
  if (statistics.note.find(sentence) == std::string::npos) statistics.add_note(sentence);
}

/// Has the start of a control for an assignment if there is none, or a worse one; says why a start does not count.
template <cost_value Cost>
void keep_start(const placement_problem<Cost>& problem, const solve_control& control, solution<Cost>& answer) {
  if (control.start.empty()) return;
  if (control.start.size() != problem.vertex_count())
    return say_once(answer.statistics, "the start has " + std::to_string(control.start.size()) + " strategies for " +
                                           std::to_string(problem.vertex_count()) + " vertices.");
  if (!problem.labels_of(control.start))
    return say_once(answer.statistics, "the start has a strategy that no feasible assignment has, or breaks a tie.");
  const evaluation<Cost> priced = evaluate(problem, control.start);
  if (!priced.is_feasible()) {
    say_once(answer.statistics, "the start is not feasible: " + priced.violations.front() + ".");
  } else if (!answer.has_assignment() || priced.objective < answer.objective) {
    answer.choice = control.start;
    answer.objective = priced.objective;
  }
}

/// A bound on costs as one on the objective: less all that could ever be saved, and what rounding may have lost.
template <cost_value Cost>
[[nodiscard]] double less_savings(const placement_problem<Cost>& problem, double bound) {
  if (problem.savings() == nullptr || !std::isfinite(bound)) return bound;
  const auto most = static_cast<double>(problem.savings()->most());
  return bound - most - 1e-12 * (std::abs(bound - most) + most);
}

inline constexpr std::string_view gap_note = "within the gap that was asked for.";

/// Says what an assignment and a bound prove together.
/// \param stopped  a limit ended the work
/// \param gap      that is enough
template <cost_value Cost>
void settle(solution<Cost>& s, bool stopped, double gap = 0) {
  if (!s.has_assignment()) {
    s.status =
        s.lower_bound == std::numeric_limits<double>::infinity() ? solve_status::infeasible : solve_status::stopped;
  } else if (proves(s.lower_bound, s.objective)) {
    s.status = solve_status::optimal;
    s.lower_bound = std::min(s.lower_bound, static_cast<double>(s.objective));
    s.statistics.drop_note(gap_note);
  } else if (is_within(gap, s.lower_bound, s.objective)) {
    s.status = solve_status::feasible;
    say_once(s.statistics, gap_note);
  } else {
    s.status = stopped ? solve_status::stopped : solve_status::feasible;
  }
}

}  // namespace detail

/// What a lower bound is a bound on.
enum class bound_on : std::uint8_t { costs, objective };

/// Makes the answer of a solver: labels are lifted, priced anew on the problem as stated and refused if they
/// break a constraint; a bound that meets the objective proves it. The start that the control gives is answered where
/// the labels are worse, or none.
///
/// \param labels       one per variable of the compact problem; empty if none were found
/// \param lower_bound  valid for the compact problem
/// \param stopped      a limit ended the work
/// \param control      its start and its gap count
/// \param counted      what the bound is on: the objective, or the costs alone, as solvers give it that do not see
///                     savings. From those all is subtracted that could ever be saved
/// Complexity: that of `evaluate`
template <cost_value Cost>
[[nodiscard]] solution<Cost> conclude(const placement_problem<Cost>& problem, std::span<const strategy> labels,
                                      double lower_bound, bool stopped, solve_statistics statistics,
                                      const solve_control& control = {}, bound_on counted = bound_on::costs) {
  if (counted == bound_on::costs) lower_bound = detail::less_savings(problem, lower_bound);
  solution<Cost> result;
  result.statistics = std::move(statistics);
  result.lower_bound = lower_bound;
  if (labels.size() == problem.compact().size() && (problem.vertex_count() == 0 || !labels.empty())) {
    assignment lifted = problem.lift(labels);
    const evaluation<Cost> priced = evaluate(problem, lifted);
    if (priced.is_feasible()) {
      result.choice = std::move(lifted);
      result.objective = priced.objective;
    } else {
      result.statistics.add_note("an assignment was dropped: " + priced.violations.front() + ".");
    }
  }
  detail::keep_start(problem, control, result);
  detail::settle(result, stopped, control.gap);
  return result;
}

/// Keeps the better assignment and the better bound of two answers to one problem; of two equal assignments the earlier
/// one, unless only the later is proven best by whoever found it. Seconds and iterations add up. A first answer with
/// neither assignment nor bound leaves no note where the second has an assignment.
template <cost_value Cost>
[[nodiscard]] solution<Cost> merged(solution<Cost> first, solution<Cost> second) {
  const bool second_is_lower =
      second.has_assignment() && (!first.has_assignment() || second.objective < first.objective);
  const bool only_second_is_proven = first.has_assignment() && second.has_assignment() &&
                                     second.objective == first.objective && first.status != solve_status::optimal &&
                                     second.status == solve_status::optimal;
  const bool second_is_better = second_is_lower || only_second_is_proven;
  const double bound = std::max(first.lower_bound, second.lower_bound);
  const std::string prover = (second.lower_bound > first.lower_bound ? second : first).statistics.prover();
  const bool first_failed = !first.has_assignment() && first.lower_bound == -std::numeric_limits<double>::infinity();
  // an answer without an assignment is called stopped even if no limit ended it: it does not count here
  const auto was_stopped = [](const solution<Cost>& s) {
    return s.has_assignment() && s.status == solve_status::stopped;
  };
  const bool stopped = was_stopped(first) || was_stopped(second);
  const double seconds = first.statistics.seconds + second.statistics.seconds;
  const double to_best =
      second_is_lower ? first.statistics.seconds + second.statistics.seconds_to_best : first.statistics.seconds_to_best;
  const std::size_t iterations = first.statistics.iterations + second.statistics.iterations;
  if (first_failed && second.has_assignment()) first.statistics.note.clear();
  first.statistics.add_note(second.statistics.note);
  std::string note = std::move(first.statistics.note);
  auto counters = std::move(first.statistics.counters);
  counters.insert(counters.end(), second.statistics.counters.begin(), second.statistics.counters.end());

  solution<Cost> result = second_is_better ? std::move(second) : std::move(first);
  result.take_bound(bound, prover);
  result.statistics.seconds = seconds;
  result.statistics.seconds_to_best = to_best;
  result.statistics.iterations = iterations;
  result.statistics.note = std::move(note);
  result.statistics.counters = std::move(counters);
  detail::settle(result, stopped);
  return result;
}

}  // namespace shardweave::inline v0
