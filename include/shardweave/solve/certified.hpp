#pragma once

#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/composed.hpp>
#include <shardweave/solve/solver.hpp>

#include <limits>
#include <string_view>
#include <utility>

/// \file
/// The assignment of one solver with the bound of another.

namespace shardweave::inline v0 {

/// Returns the assignment of `finder` with the lower bound of `bounder`, and calls it optimal only if that bound proves
/// it: for a solver that is not trusted, or has no bound. The bound of `finder` itself is kept as counter "own_bound".
///
/// With a time limit `finder` gets `share` of it, `bounder` what is left. If the bounder calls a problem infeasible for
/// which the finder has an assignment, its bound is wrong and is dropped with a note.
template <class Finder, class Bounder>
class certified {
 public:
  static constexpr std::string_view name = "certified";
  static constexpr solver_abilities abilities{
      .budgets = detail::abilities_of<Finder>.budgets,
      .savings = detail::abilities_of<Finder>.savings && detail::abilities_of<Bounder>.savings};

  [[no_unique_address]] Finder finder;
  [[no_unique_address]] Bounder bounder;
  double share = 0.5;

  certified() = default;
  explicit certified(Finder find, Bounder bound, double share_of_finder = 0.5)
      : finder(std::move(find)), bounder(std::move(bound)), share(share_of_finder) {}

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    const deadline limit(control);
    solution<Cost> found = detail::solved_by(finder, problem, detail::shared_time(limit, share));
    const solution<Cost> judged = detail::solved_by(bounder, problem, limit.rest());
    found.statistics.counters.emplace_back("own_bound", found.lower_bound);
    found.statistics.seconds += judged.statistics.seconds;
    found.statistics.iterations += judged.statistics.iterations;
    const bool stopped = found.status == solve_status::stopped || limit.expired();
    if (found.status == solve_status::infeasible && judged.status != solve_status::infeasible)
      found.statistics.add_note("the finder calls the problem infeasible, the bounder does not.");
    found.take_bound(judged.lower_bound, judged.statistics.prover());
    if (found.has_assignment() && judged.lower_bound == std::numeric_limits<double>::infinity()) {
      found.take_bound(-std::numeric_limits<double>::infinity(), {});
      found.statistics.add_note("the bounder calls the problem infeasible, but here is an assignment.");
    }
    detail::keep_start(problem, control, found);
    detail::settle(found, stopped, control.gap);
    return found;
  }
};

}  // namespace shardweave::inline v0
