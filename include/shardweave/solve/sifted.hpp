#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/composed.hpp>
#include <shardweave/solve/detail/solve_restricted.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Solves the core of a problem first: the labels near the optimum.

namespace shardweave::inline v0 {

namespace detail {

/// How a core is chosen. Tests choose otherwise, so that small problems have one.
struct sifting {
  double width = 0.002;             ///< of the first core, relative to the bound: half and twice are as good
  std::size_t passes = 12;          ///< of message passing, each forward and backward, at most
  std::size_t least_labels = 1000;  ///< smaller problems are solved as fast whole
};

/// \returns nothing if a limit came first
template <cost_value Cost>
[[nodiscard]] std::vector<double> sifting_bounds(const compact_problem<Cost>& p, const sifting& how,
                                                 const deadline& limit, double& bound) {
  constexpr double slow = 5e-4;  // rise of the bound by a pass, relative to it, that ends the passes
  dual_ascent<Cost> ascent(p);
  for (std::size_t i = 0; i < how.passes && !limit.expired(); ++i) {
    ascent.forward();
    const double reached = ascent.backward();
    const bool is_slow = reached - bound < slow * std::abs(reached);
    bound = std::max(bound, reached);
    if (is_slow) break;
  }
  if (limit.expired()) return {};
  return ascent.label_bounds(0, bound);
}

/// What `sifted` does.
template <class S, cost_value Cost>
[[nodiscard]] solution<Cost> sift_and_solve(const S& inner, const placement_problem<Cost>& problem,
                                            const solve_control& control, const sifting& how = {}) {
  const compact_problem<Cost>& p = problem.compact();
  if (problem.savings() != nullptr || !p.rows().empty() || p.total_labels() < how.least_labels)
    return solved_by(inner, problem, control);
  constexpr double worthwhile = 0.2;  // share of the labels that must be left out
  const deadline limit(control);
  double bound = -std::numeric_limits<double>::infinity();
  const std::vector<double> least = sifting_bounds(p, how, limit, bound);
  if (least.empty()) return solved_by(inner, problem, limit.rest());
  double cutoff = bound + how.width * std::abs(bound);
  solution<Cost> best;
  const auto rest_of_control = [&] {
    solve_control rest = limit.rest();
    if (control.progress)
      rest.progress = [&](progress_report report) {  // of a part: proves no more than the cutoff
        report.lower_bound = std::max(bound, std::min(report.lower_bound, cutoff));
        if (best.has_assignment()) report.objective = std::min(report.objective, static_cast<double>(best.objective));
        report.seconds = limit.elapsed();
        control.progress(report);
      };
    return rest;
  };
  while (!limit.expired()) {
    restriction<Cost> core(p);
    const std::size_t gone = core.forbid_if([&](std::size_t label) { return least[label] >= cutoff; });
    if (static_cast<double>(gone) < worthwhile * static_cast<double>(p.total_labels())) break;
    solution<Cost> answer = solve_restricted(problem, std::move(core), inner, rest_of_control()).answer;
    bound = std::max(bound, std::min(answer.lower_bound, cutoff));
    if (answer.statistics.solver.empty()) answer.statistics.solver = "sifted";  // one labeling was left
    answer.statistics.counters.emplace_back("labels sifted out", static_cast<double>(gone));
    answer.statistics.seconds = limit.elapsed();
    const bool was_known = best.has_assignment(), is_last = cutoff == std::numeric_limits<double>::infinity();
    if (!was_known || answer.objective < best.objective) best = std::move(answer);
    best.lower_bound = bound;
    if (best.has_assignment()) {
      const auto cost = static_cast<double>(best.objective);
      if (was_known || cost <= cutoff || is_within(control.gap, bound, best.objective))
        return ended(std::move(best), problem, control, limit);
      cutoff = cost;  // labels left out then are no better
    } else {
      if (is_last) break;
      cutoff = std::numeric_limits<double>::infinity();
    }
  }
  cutoff = std::numeric_limits<double>::infinity();
  solve_control rest = rest_of_control();
  if (best.has_assignment()) rest.start = best.choice;
  solution<Cost> whole = solved_by(inner, problem, rest);
  return best.has_assignment() ? ended(merged(std::move(best), std::move(whole)), problem, control, limit) : whole;
}

}  // namespace detail

/// Solves the problem restricted to its core: the labels whose bound, after some passes of message passing, is close to
/// the lower bound. If the answer costs less than the labels left out may, it is optimal for the whole problem as well;
/// otherwise the problem is solved again with all labels that may beat it. The core has a fraction of the labels, and
/// reductions take time quadratic in labels.
///
/// Problems with budgets or savings, and those of fewer than 1000 labels, go to `S` unchanged.
/// Source: sifting, R. Bixby, J. Gregory, I. Lustig, R. Marsten and D. Shanno, Very large-scale linear programming,
/// Operations Research 40 (1992); cores of knapsack problems, E. Balas and E. Zemel, An algorithm for large
/// zero-one knapsack problems, Operations Research 28 (1980).
template <class S>
class sifted {
 public:
  static constexpr std::string_view name = "sifted";
  static constexpr solver_abilities abilities = detail::abilities_of<S>;

  S inner;

  sifted() = default;
  explicit sifted(S inner_solver) : inner(std::move(inner_solver)) {}

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    return detail::sift_and_solve(inner, problem, control);
  }
};

template <class S>
sifted(S) -> sifted<S>;

}  // namespace shardweave::inline v0
