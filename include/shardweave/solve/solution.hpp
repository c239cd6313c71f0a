#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What a solver answers.

namespace shardweave {
inline namespace v0 {

enum class solve_status : std::uint8_t {
  optimal,     ///< the lower bound meets the objective
  feasible,    ///< an assignment, not proven best
  infeasible,  ///< no assignment keeps all constraints; `statistics.note` says why
  stopped      ///< a limit or a stop request came first; the best assignment so far is there, if any
};

[[nodiscard]] constexpr std::string_view name_of(solve_status status) {
  constexpr std::string_view names[] = {"optimal", "feasible", "infeasible", "stopped"};
  return names[static_cast<std::size_t>(status)];
}

/// How the answer came about. Nothing in it depends on the clock but the seconds.
struct solve_statistics {
  std::string solver = {};     ///< name of the policy that gave the assignment
  std::string bound_by = {};   ///< of the policy that proved the bound, where it is another one
  double seconds = 0;          ///< of the whole call
  double seconds_to_best = 0;  ///< until an assignment of this objective was found
  std::size_t iterations = 0;  ///< of the policy's own loop
  std::vector<std::pair<std::string, double>> counters = {};  ///< what a policy wants to tell, by name
  std::string note = {};  ///< limits that were hit, truncation, infeasibility: sentences, a blank between them

  /// Who proved the bound, if there is one.
  [[nodiscard]] const std::string& prover() const { return bound_by.empty() ? solver : bound_by; }
  void add_note(std::string_view sentence) {
    if (!note.empty() && !sentence.empty()) note += ' ';
    note += sentence;
  }
  /// Takes back what `add_note` said, if it did.
  void drop_note(std::string_view sentence) {
    const std::size_t at = note.find(sentence);
    if (at == std::string::npos) return;
    const std::size_t end = at + sentence.size();
    note.erase(at > 0 ? at - 1 : 0, sentence.size() + (at > 0 || end < note.size() ? 1 : 0));
  }
};

/// Objectives (not of whole numbers) within this relative distance of a bound count as equal to it.
inline constexpr double optimality_tolerance = 1e-9;

/// An answer. `choice` is empty, or complete: one strategy per vertex of the problem, feasible, and priced
/// by `evaluate`. `lower_bound` is valid for the problem; -infinity if none is known, +infinity if the
/// problem is infeasible.
template <cost_value Cost>
struct solution {
  assignment choice;
  Cost objective = forbidden<Cost>;
  double lower_bound = -std::numeric_limits<double>::infinity();
  solve_status status = solve_status::stopped;
  solve_statistics statistics;

  /// Takes a bound that another policy proved, perhaps.
  void take_bound(double bound, const std::string& prover) {
    lower_bound = bound;
    const bool is_own = bound == -std::numeric_limits<double>::infinity() || prover == statistics.solver;
    statistics.bound_by = is_own ? std::string() : prover;
  }
  [[nodiscard]] bool has_assignment() const { return !choice.empty() || objective != forbidden<Cost>; }
  /// (objective - bound) / |bound|; infinite without both.
  [[nodiscard]] double gap() const {
    if (!has_assignment() || !std::isfinite(lower_bound)) return std::numeric_limits<double>::infinity();
    const double distance = std::max(0.0, static_cast<double>(objective) - lower_bound);
    return distance == 0 ? 0 : distance / std::max(std::abs(lower_bound), 1e-300);
  }
};

/// Whether a valid bound proves that nothing is better than an objective: whole numbers differ by one at
/// least, others count as equal within `optimality_tolerance`.
template <cost_value Cost>
[[nodiscard]] bool proves(double lower_bound, Cost objective) {
  const double value = static_cast<double>(objective);
  if constexpr (!std::floating_point<Cost>) {
    return lower_bound > value - 1;
  } else {
    return lower_bound >= value - optimality_tolerance * std::max(1.0, std::abs(value));
  }
}

/// Whether an objective is within a relative distance of a valid bound, as `solution::gap` counts it; with a gap of 0,
/// whether the bound proves it.
template <cost_value Cost>
[[nodiscard]] bool is_within(double gap, double lower_bound, Cost objective) {
  return proves(lower_bound, objective) ||
         (gap > 0 && std::isfinite(lower_bound) &&
          static_cast<double>(objective) - lower_bound <= gap * std::abs(lower_bound));
}

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

/// The answer that is known before a solver is asked: `compile` found that the constraints contradict each other, or a
/// limit came while it built the problem. Nothing for wrong data, which stays an error.
template <cost_value Cost>
[[nodiscard]] std::optional<solution<Cost>> outcome_of(const error& e) {
  if (e.category() != error_category::constraint && e.category() != error_category::stopped) return std::nullopt;
  solution<Cost> result;
  if (e.category() == error_category::constraint) {
    result.lower_bound = std::numeric_limits<double>::infinity();
    result.status = solve_status::infeasible;
  }
  result.statistics.solver = "compile";
  result.statistics.note = e.what();
  return result;
}

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
template <cost_value Cost>
[[nodiscard]] solution<Cost> conclude(const placement_problem<Cost>& problem, std::span<const strategy> labels,
                                      double lower_bound, bool stopped, solve_statistics statistics,
                                      const solve_control& control = {}, bound_on counted = bound_on::costs) {
  if (counted == bound_on::costs && problem.savings() != nullptr && std::isfinite(lower_bound)) {
    const auto most = static_cast<double>(problem.savings()->most());
    lower_bound -= most;
    lower_bound -= 1e-12 * (std::abs(lower_bound) + most);
  }
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

}  // namespace v0
}  // namespace shardweave
