#pragma once

#include <shardweave/solve/detail/composed.hpp>
#include <shardweave/solve/solver.hpp>

#include <string_view>
#include <utility>

/// \file
/// One solver finds an assignment, another one improves it.

namespace shardweave::inline v0 {

/// Runs `first` and gives its assignment to `second` as a start; the better of both bounds counts. An assignment that
/// is proven optimal or within `control.gap` is returned at once; if `first` finds none, `second` solves without a
/// start.
///
/// With a time limit `first` may use `share` of it, `second` what is left.
template <class First, class Second>
class polished {
 public:
  static constexpr std::string_view name = "polished";
  static constexpr solver_abilities abilities{
      .budgets = detail::abilities_of<First>.budgets || detail::abilities_of<Second>.budgets,
      .savings = detail::abilities_of<First>.savings || detail::abilities_of<Second>.savings};

  [[no_unique_address]] First first;
  [[no_unique_address]] Second second;
  double share = 0.7;

  polished() = default;
  explicit polished(First find, Second improve, double share_of_first = 0.7)
      : first(std::move(find)), second(std::move(improve)), share(share_of_first) {}

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    const deadline limit(control);
    solution<Cost> found = detail::solved_by(first, problem, detail::shared_time(limit, share));
    if (detail::is_settled(found, control.gap) || limit.expired())
      return detail::ended(std::move(found), problem, control, limit);
    solve_control rest = limit.rest();
    if (found.has_assignment()) rest.start = found.choice;
    solution<Cost> better = detail::solved_by(second, problem, rest);
    return detail::ended(merged(std::move(found), std::move(better)), problem, control, limit);
  }
};

}  // namespace shardweave::inline v0
