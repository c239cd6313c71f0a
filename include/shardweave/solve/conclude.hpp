#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/evaluation.hpp>
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
/// How solvers construct their answers.

namespace shardweave::inline v0 {

namespace detail {

/// The labels of the control's start if it is feasible; otherwise empty.
template <cost_value Cost>
[[nodiscard]] std::vector<strategy> start_labels(const placement_problem<Cost>& problem, const solve_control& control) {
  if (control.start.empty()) return {};
  std::optional<std::vector<strategy>> labels = problem.labels_of(control.start);
  if (!labels || is_forbidden(problem.objective(*labels)) || !problem.compact().keeps_rows(*labels)) return {};
  return *std::move(labels);
}

/// Adds a sentence to the note unless it is there.
inline void say_once(solve_statistics& statistics, std::string_view sentence) {
  if (statistics.note.find(sentence) == std::string::npos) statistics.add_note(sentence);
}

/// Returns the start of a control if the answer has no assignment, or a worse one; otherwise notes why an infeasible
/// start does not count.
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

/// Converts a bound on costs to one on the objective: subtracts the largest possible savings and a margin for rounding.
template <cost_value Cost>
[[nodiscard]] double less_savings(const placement_problem<Cost>& problem, double bound) {
  if (problem.savings() == nullptr || !std::isfinite(bound)) return bound;
  const auto most = static_cast<double>(problem.most_saved());
  return bound - most - 1e-12 * (std::abs(bound - most) + most);
}

inline constexpr std::string_view gap_note = "within the gap that was asked for.";

/// Sets the status from assignment and bound.
/// \param stopped  whether a limit ended the search
/// \param gap      relative gap at which an answer is accepted
template <cost_value Cost>
void settle(solution<Cost>& s, bool stopped, double gap = 0) {
  if (!s.has_assignment()) {
    s.status =
        s.lower_bound == std::numeric_limits<double>::infinity() ? solve_status::infeasible : solve_status::stopped;
  } else if (proves(s.lower_bound, s.objective)) {
    s.status = solve_status::optimal;
    s.lower_bound = std::min(s.lower_bound, in_double(s.objective));
    s.statistics.drop_note(gap_note);
  } else if (is_within(gap, s.lower_bound, s.objective)) {
    s.status = solve_status::feasible;
    say_once(s.statistics, gap_note);
  } else {
    s.status = stopped ? solve_status::stopped : solve_status::feasible;
  }
}

}  // namespace detail

/// What a lower bound refers to.
enum class bound_on : std::uint8_t { costs, objective };

/// Makes the answer of a solver: labels are lifted, evaluated on the stated problem and rejected if they violate a
/// constraint; the answer is optimal if the bound proves the objective (`proves`). The control's start is returned if
/// the labels are worse, or missing.
///
/// \param labels       one per variable of the compact problem; empty if none were found
/// \param lower_bound  valid for the compact problem
/// \param stopped      whether a limit ended the search
/// \param control      for its start and its gap
/// \param counted      what the bound refers to: the objective, or the costs alone, as in solvers that do not see
///                     savings; from these the largest possible savings are subtracted
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

/// Combines two answers to one problem: the better assignment with the better bound; of two equal assignments the
/// first, unless only the second was proven optimal by its own solver. Seconds and iterations add up. If the first has
/// neither assignment nor bound and the second has an assignment, the first one's note is dropped.
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
  // an answer without an assignment has status `stopped` even if no limit ended it: it does not count here
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
