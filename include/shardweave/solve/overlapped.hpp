#pragma once

#include <shardweave/solve/bound/trws.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/search/detail/savings_search.hpp>
#include <shardweave/solve/solver.hpp>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Prices on the computation that hides communication.

namespace shardweave {
inline namespace v0 {

/// Counts savings: prices on the computation that hides make every problem a plain one, whose bound is a bound with
/// savings (see `savings_ascent`). `S` gives a second bound, and assignments, on the plain problem at the best prices;
/// fixing and branching close the gap that prices leave.
///
/// Rows are priced together with the chain. Without savings it is `S`. Without a time limit it ends after `nodes`.
template <class S = trws>
class overlapped {
 public:
  static constexpr std::string_view name = "overlapped";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  S inner;
  detail::savings_search_options search = {};

  overlapped() = default;
  explicit overlapped(S inner_solver, detail::savings_search_options effort = {})
      : inner(std::move(inner_solver)), search(effort) {}

  template <cost_value Cost>
    requires solver<S, Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    if (problem.savings() == nullptr) return inner.solve(problem, control);
    detail::savings_search<Cost> s(search, control, problem);
    const double bound = s.run([&](detail::savings_search<Cost>& running, savings_ascent<Cost>& ascent) {
      return second_opinion<Cost>(running, ascent);
    });
    solve_statistics statistics{.solver = std::string(name), .seconds = s.limit.elapsed(), .iterations = s.explored};
    statistics.seconds_to_best = s.best.found_at();
    statistics.counters = {{"nodes", static_cast<double>(s.explored)},
                           {"labels dropped", static_cast<double>(s.dropped)},
                           {"price steps", static_cast<double>(s.steps)},
                           {"root bound", s.root_bound}};
    if (!s.best.is_known() && !s.cut_short)
      statistics.add_note("no labeling keeps all rows: every branch of the search is empty.");
    if (s.cut_short) statistics.add_note("stopped after " + std::to_string(s.explored) + " nodes.");
    return conclude(problem, std::span<const strategy>(s.best.labels()), bound, s.cut_short, std::move(statistics),
                    control, bound_on::objective);
  }

 private:
  template <class Cost>
  double second_opinion(detail::savings_search<Cost>& running, savings_ascent<Cost>& ascent) const {
    if constexpr (solver<S, double>) {
      const solution<double> plain =
          inner.solve(placement_problem<double>(ascent.at_best_prices()), running.limit.rest_for_part());
      if (plain.has_assignment()) running.offer(plain.choice);
      const double slack = 1e-11 * std::abs(plain.lower_bound);
      return std::isfinite(plain.lower_bound) ? plain.lower_bound - slack : plain.lower_bound;
    } else {
      return -std::numeric_limits<double>::infinity();
    }
  }
};

template <class S>
overlapped(S) -> overlapped<S>;

}  // namespace v0
}  // namespace shardweave
