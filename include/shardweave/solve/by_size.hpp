#pragma once

#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Chooses a solver by the size of the problem.

namespace shardweave::inline v0 {

/// Limits of a small problem.
struct small_size {
  std::size_t labels = 20'000;  ///< of all variables together
  std::size_t rows = 100'000;   ///< limits on usage
};

/// The default for large problems: `by_size` then returns at once, without an assignment or a bound.
struct nobody {};

/// Passes a problem up to a size to `Small` and a larger one to `Large`, or declines it with a note: a limit on effort
/// that does not depend on the clock, for solvers of exponential time.
template <class Small, class Large = nobody>
class by_size {
  static constexpr bool declines = std::same_as<Large, nobody>;
  static constexpr solver_abilities both() {
    if constexpr (declines) {
      return detail::abilities_of<Small>;
    } else {
      return {.budgets = detail::abilities_of<Small>.budgets && detail::abilities_of<Large>.budgets,
              .savings = detail::abilities_of<Small>.savings && detail::abilities_of<Large>.savings};
    }
  }

 public:
  static constexpr std::string_view name = "by_size";
  static constexpr solver_abilities abilities = both();

  Small small;
  [[no_unique_address]] Large large;
  small_size most = {};
  std::size_t labels_without_rows = 0;  ///< limit on labels without rows, if larger: such problems are easier

  by_size() = default;
  explicit by_size(Small for_small, small_size limits = {})
    requires declines
      : small(std::move(for_small)), most(limits) {}
  explicit by_size(Small for_small, Large for_large, small_size limits = {}, std::size_t without_rows = 0)
    requires(!declines)
      : small(std::move(for_small)), large(std::move(for_large)), most(limits), labels_without_rows(without_rows) {}

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    const compact_problem<Cost>& p = problem.compact();
    const std::size_t labels = p.rows().empty() ? std::max(most.labels, labels_without_rows) : most.labels;
    if (p.total_labels() <= labels && p.rows().size() <= most.rows) return detail::solved_by(small, problem, control);
    if constexpr (declines) {
      solve_statistics statistics{.solver = std::string(name)};
      statistics.add_note(std::string(Small::name) + " was not asked: " + std::to_string(p.total_labels()) +
                          " labels and " + std::to_string(p.rows().size()) + " rows are more than " +
                          std::to_string(labels) + " and " + std::to_string(most.rows) + ".");
      return conclude<Cost>(problem, {}, -std::numeric_limits<double>::infinity(), true, std::move(statistics),
                            control);
    } else {
      return detail::solved_by(large, problem, control);
    }
  }
};

template <class Small>
by_size(Small) -> by_size<Small>;
template <class Small>
by_size(Small, small_size) -> by_size<Small>;
template <class Small, class Large>
by_size(Small, Large) -> by_size<Small, Large>;
template <class Small, class Large>
by_size(Small, Large, small_size) -> by_size<Small, Large>;
template <class Small, class Large>
by_size(Small, Large, small_size, std::size_t) -> by_size<Small, Large>;

}  // namespace shardweave::inline v0
