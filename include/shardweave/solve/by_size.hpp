#pragma once

#include <shardweave/solve/for_small.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

/// \file
/// One solver for small problems, another one for large ones.

namespace shardweave {
inline namespace v0 {

/// Passes a problem up to a size to `Small`, a larger one to `Large`: a limit on effort that does not depend on the
/// clock, for solvers whose time explodes.
template <class Small, class Large>
class by_size {
 public:
  static constexpr std::string_view name = "by_size";
  static constexpr solver_abilities abilities{.budgets = Small::abilities.budgets && Large::abilities.budgets,
                                              .savings = Small::abilities.savings && Large::abilities.savings};

  Small small;
  Large large;
  small_size most = {};
  std::size_t labels_without_rows = 0;  ///< of a problem without rows, if that is more: they make it easier

  by_size() = default;
  explicit by_size(Small for_small, Large for_large, small_size limits = {}, std::size_t without_rows = 0)
      : small(std::move(for_small)), large(std::move(for_large)), most(limits), labels_without_rows(without_rows) {}

  template <cost_value Cost>
    requires solver<Small, Cost> && solver<Large, Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    const compact_problem<Cost>& p = problem.compact();
    const bool is_small =
        p.total_labels() <= (p.rows().empty() ? std::max(most.labels, labels_without_rows) : most.labels) &&
        p.rows().size() <= most.rows;
    return is_small ? small.solve(problem, control) : large.solve(problem, control);
  }
};

template <class Small, class Large>
by_size(Small, Large) -> by_size<Small, Large>;
template <class Small, class Large>
by_size(Small, Large, small_size) -> by_size<Small, Large>;
template <class Small, class Large>
by_size(Small, Large, small_size, std::size_t) -> by_size<Small, Large>;

}  // namespace v0
}  // namespace shardweave
