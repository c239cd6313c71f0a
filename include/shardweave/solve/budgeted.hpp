#pragma once

#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/repair.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Lagrangian relaxation of budgets.

namespace shardweave::inline v0 {

/// Relaxes rows at prices, and raises bound and prices together (`price_ascent`). Assignments are decoded at the
/// current prices and repaired until they satisfy all rows.
///
/// Without rows it is `trws`. The bound comes close to that of the linear relaxation with budgets; if `steps` did not
/// end the search, the remaining gap is that of the relaxation, and `branch_and_bound` can close it.
/// Complexity: at most `steps` steps of `price_ascent`
struct budgeted {
  static constexpr std::string_view name = "budgeted";
  static constexpr solver_abilities abilities{.budgets = true};

  std::size_t steps = 3000;  ///< of the prices, at most

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;

 private:
  static constexpr std::size_t decode_every = 20;  ///< steps between two decodings to an assignment
};

template <cost_value Cost>
solution<Cost> budgeted::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  const compact_problem<Cost>& p = problem.compact();
  if (p.rows().empty()) return trws{}.solve(problem, control);
  const deadline limit(control);
  price_ascent<Cost> climb(p);
  detail::incumbent<Cost> best(control.gap);
  if (std::vector<strategy> start = detail::start_labels(problem, control); !start.empty())
    best.offer(p.cost(start), start, 0);
  std::vector<strategy> labels(p.size());
  solve_statistics statistics{.solver = std::string(name)};
  const std::size_t most = std::min(steps, control.iterations);
  bool stopped = false, more = true;
  while (more && statistics.iterations < most && !(stopped = limit.expired())) {
    more = climb.step(best.upper());
    if (statistics.iterations++ % decode_every == 0 || !more || statistics.iterations == most) {
      climb.decode(labels);
      if (detail::repair(p, std::span<strategy>(labels), limit)) best.offer(p.cost(labels), labels, limit.elapsed());
      if (control.progress)
        control.progress({.stage = name,
                          .seconds = limit.elapsed(),
                          .objective = best.upper(),
                          .lower_bound = climb.bound(),
                          .done = static_cast<double>(statistics.iterations) / static_cast<double>(steps)});
    }
    if (best.is_enough(climb.bound())) break;
  }
  stopped = stopped || (more && statistics.iterations == most && most < steps);
  statistics.seconds = limit.elapsed();
  statistics.seconds_to_best = best.found_at();
  const std::vector<double> prices = climb.prices();
  statistics.count({{"priced rows", static_cast<double>(std::count_if(prices.begin(), prices.end(),
                                                                      [](double price) { return price != 0; }))}});
  if (stopped) statistics.add_note("stopped after " + std::to_string(statistics.iterations) + " steps of the prices.");
  return conclude(problem, std::span<const strategy>(best.labels()), climb.bound(), stopped, std::move(statistics),
                  control);
}

#ifdef SHARDWEAVE_COMPILED
extern template solution<double> budgeted::solve(const placement_problem<double>&, const solve_control&) const;
extern template solution<std::int64_t> budgeted::solve(const placement_problem<std::int64_t>&,
                                                       const solve_control&) const;
#endif

}  // namespace shardweave::inline v0
