#pragma once

#include <shardweave/solve/reduction.hpp>
#include <shardweave/solve/solver.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Reduce first, then solve what is left.

namespace shardweave {
inline namespace v0 {

/// Reduces a problem exactly (see `reduction`), solves the kernel with `S` and lifts the answer back. The
/// bound of the kernel is a bound of the problem.
template <class S>
class reduced {
 public:
  static constexpr std::string_view name = "reduced";
  static constexpr solver_abilities abilities = S::abilities;

  S inner;
  reduction_limits limits = {};

  reduced() = default;
  explicit reduced(S inner_solver, reduction_limits reduction = {})
      : inner(std::move(inner_solver)), limits(reduction) {}

  template <cost_value Cost>
    requires solver<S, Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    // a kernel of the costs is none of the objective; who counts savings reduces for himself
    if (problem.savings() != nullptr) return inner.solve(problem, control);
    const deadline limit(control);
    reduction<Cost> r(problem.compact(), limits, control);
    if (r.is_infeasible()) {
      solve_statistics statistics{.solver = std::string(name), .seconds = limit.elapsed()};
      statistics.add_note("the reduction left a variable without a label or a row without room.");
      return conclude<Cost>(problem, {}, std::numeric_limits<double>::infinity(), false, std::move(statistics));
    }
    const double spent = limit.elapsed();
    const placement_problem<Cost> kernel(r.take_kernel());
    const compact_problem<Cost>& left = kernel.compact();
    solution<Cost> answer = inner.solve(kernel, limit.rest());
    auto& statistics = answer.statistics;
    statistics.seconds = limit.elapsed();
    statistics.seconds_to_best += spent;
    const reduction_counts& counts = r.counts();
    for (const auto& [what, count] : {std::pair<const char*, std::size_t>{"kernel variables", left.size()},
                                      {"kernel edges", left.edges().size()},
                                      {"kernel labels", left.total_labels()},
                                      {"kernel rows", left.rows().size()},
                                      {"inconsistent labels", counts.inconsistent},
                                      {"oversized labels", counts.oversized},
                                      {"dominated labels", counts.dominated},
                                      {"merged variables", counts.merged},
                                      {"settled variables", counts.settled},
                                      {"eliminated variables", counts.eliminated}})
      statistics.counters.emplace_back(what, static_cast<double>(count));
    std::vector<strategy> labels;
    if (answer.has_assignment()) labels = r.lift(answer.choice);
    return conclude(problem, std::span<const strategy>(labels), answer.lower_bound,
                    answer.status == solve_status::stopped, std::move(statistics));
  }
};

template <class S>
reduced(S) -> reduced<S>;

}  // namespace v0
}  // namespace shardweave
