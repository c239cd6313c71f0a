#pragma once

#include <shardweave/solve/detail/merge_solutions.hpp>
#include <shardweave/solve/solver.hpp>

#include <concepts>
#include <span>
#include <string_view>
#include <utility>

/// \file
/// One solver finds, another one improves.

namespace shardweave {
inline namespace v0 {

/// A solver that can also start from an assignment. `improve` never returns a worse one, unless the given
/// one breaks constraints.
template <class L, class Cost>
concept improver = solver<L, Cost> && requires(const L& l, const placement_problem<Cost>& problem,
                                               std::span<const strategy> choice, const solve_control& control) {
  { l.improve(problem, choice, control) } -> std::same_as<solution<Cost>>;
};

/// Runs `first` and gives its assignment to `second` to improve; the bound is the better of both. An
/// assignment that is proven optimal is left alone; where `first` finds none, `second` solves from scratch.
///
/// With a time limit `first` may use `share` of it, `second` what is left.
template <class First, class Second>
class polished {
 public:
  static constexpr std::string_view name = "polished";
  static constexpr solver_abilities abilities{.budgets = First::abilities.budgets || Second::abilities.budgets,
                                              .savings = First::abilities.savings || Second::abilities.savings};

  [[no_unique_address]] First first;
  [[no_unique_address]] Second second;
  double share = 0.7;

  polished() = default;
  explicit polished(First find, Second improve, double share_of_first = 0.7)
      : first(std::move(find)), second(std::move(improve)), share(share_of_first) {}

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    static_assert(solver<First, Cost>, "The first argument of polished must be a solver (shardweave::solver).");
    static_assert(improver<Second, Cost>,
                  "The second argument of polished must be a solver with a const member improve(placement_problem, "
                  "assignment, solve_control) that returns a solution (shardweave::improver).");
    const deadline limit(control);
    solution<Cost> found = first.solve(problem, detail::shared_time(limit, share));
    if (detail::is_settled(found) || limit.expired()) return found;
    const solve_control rest = limit.rest();
    solution<Cost> better = found.has_assignment()
                                ? second.improve(problem, std::span<const strategy>(found.choice), rest)
                                : second.solve(problem, rest);
    return detail::ended(detail::merged(std::move(found), std::move(better)), limit);
  }
};

}  // namespace v0
}  // namespace shardweave
