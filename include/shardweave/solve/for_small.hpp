#pragma once

#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solver.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// A solver that is asked only where it has a chance.

namespace shardweave {
inline namespace v0 {

/// What counts as small.
struct small_size {
  std::size_t labels = 20'000;  ///< of all variables together
  std::size_t rows = 100'000;   ///< limits on usage
};

/// Passes problems up to a size on to `S` and declines larger ones at once: without an assignment or a bound, and
/// with a note. A limit on effort that does not depend on the clock, for solvers whose time explodes.
template <class S>
class for_small {
 public:
  static constexpr std::string_view name = "for_small";
  static constexpr solver_abilities abilities = S::abilities;

  S inner;
  small_size most = {};

  for_small() = default;
  explicit for_small(S inner_solver, small_size limits = {}) : inner(std::move(inner_solver)), most(limits) {}

  template <cost_value Cost>
    requires solver<S, Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    const compact_problem<Cost>& p = problem.compact();
    if (p.total_labels() <= most.labels && p.rows().size() <= most.rows) return inner.solve(problem, control);
    solve_statistics statistics{.solver = std::string(name)};
    statistics.add_note(std::string(S::name) + " was not asked: " + std::to_string(p.total_labels()) + " labels and " +
                        std::to_string(p.rows().size()) + " rows are more than " + std::to_string(most.labels) +
                        " and " + std::to_string(most.rows) + ".");
    return conclude<Cost>(problem, {}, -std::numeric_limits<double>::infinity(), true, std::move(statistics), control);
  }
};

template <class S>
for_small(S) -> for_small<S>;
template <class S>
for_small(S, small_size) -> for_small<S>;

}  // namespace v0
}  // namespace shardweave
