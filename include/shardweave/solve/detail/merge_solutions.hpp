#pragma once

#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

/// \file
/// One answer from several.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Whether nothing is left to be found.
/// \param gap  that is enough
template <cost_value Cost>
[[nodiscard]] bool is_settled(const solution<Cost>& s, double gap) {
  return s.status == solve_status::optimal || s.status == solve_status::infeasible ||
         (s.has_assignment() && is_within(gap, s.lower_bound, s.objective));
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
  settle(result, stopped);
  return result;
}

/// The answer of a composition: its start counts, whether the parts looked at it or not, and what a stop or the time
/// limit ended is called so.
template <cost_value Cost>
[[nodiscard]] solution<Cost> ended(solution<Cost> s, const placement_problem<Cost>& problem,
                                   const solve_control& control, const deadline& limit) {
  keep_start(problem, control, s);
  settle(s, s.status == solve_status::stopped || limit.expired(), control.gap);
  return s;
}

/// The control of a part of the work: its share of the time that is left.
[[nodiscard]] inline solve_control shared_time(const deadline& limit, double share) {
  solve_control control = limit.rest();
  if (control.seconds < std::numeric_limits<double>::infinity()) control.seconds *= share;
  return control;
}

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
