#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The answer of a solver.

namespace shardweave::inline v0 {

/// How a solver ended, and what is known of its assignment.
enum class solve_status : std::uint8_t {
  optimal,     ///< the lower bound meets the objective
  feasible,    ///< an assignment, not proven best
  infeasible,  ///< no assignment satisfies all constraints; `statistics.note` names the reason
  stopped      ///< a limit or a stop request ended the search; with the best assignment so far, if any
};

/// One word, for people and files: "optimal".
[[nodiscard]] constexpr std::string_view name_of(solve_status status) {
  constexpr std::string_view names[] = {"optimal", "feasible", "infeasible", "stopped"};
  return names[static_cast<std::size_t>(status)];
}

/// How an answer was found. Without a time limit or a stop everything except the seconds is independent of the clock.
struct solve_statistics {
  std::string solver = {};     ///< name of the policy that gave the assignment
  std::string bound_by = {};   ///< name of the policy that proved the bound, if another one
  double seconds = 0;          ///< of the whole call
  double seconds_to_best = 0;  ///< until an assignment of this objective was found
  std::size_t iterations = 0;  ///< of the policy's own loop
  std::vector<std::pair<std::string, double>> counters = {};  ///< figures of a policy, by name
  std::string note = {};  ///< limits that were hit, truncation, infeasibility: sentences, a blank between them

  /// The policy that proved the bound, if there is one.
  [[nodiscard]] const std::string& prover() const { return bound_by.empty() ? solver : bound_by; }
  /// Adds counters.
  void count(std::initializer_list<std::pair<std::string_view, double>> figures) {
    for (const auto& [what, figure] : figures) counters.emplace_back(what, figure);
  }
  void add_note(std::string_view sentence) {
    if (!note.empty() && !sentence.empty()) note += ' ';
    note += sentence;
  }
  /// Removes a sentence that `add_note` added, if it did.
  void drop_note(std::string_view sentence) {
    const std::size_t at = note.find(sentence);
    if (at == std::string::npos) return;
    const std::size_t end = at + sentence.size();
    note.erase(at > 0 ? at - 1 : 0, sentence.size() + (at > 0 || end < note.size() ? 1 : 0));
  }
};

/// Objectives (not of whole numbers) count as equal to a bound within this share of max(1, |objective|): relative from
/// 1 on, absolute below. So costs should be in a unit in which objectives are well above 1.
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

  /// Sets the bound, which another policy may have proven.
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
  if constexpr (!std::floating_point<Cost>) {
    if (!(lower_bound >= -0x1p63)) return false;
    return lower_bound >= 0x1p63 || static_cast<std::int64_t>(std::ceil(lower_bound)) >= objective;
  } else {
    const double value = static_cast<double>(objective);
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

/// The answer if `compile` fails without wrong data: the constraints contradict each other, or a limit came while it
/// built the problem. Nothing for wrong data, which stays an error.
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

}  // namespace shardweave::inline v0
