#pragma once

#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/reduce/reduction.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Reduce first, then solve what is left.

namespace shardweave::inline v0 {

/// Reduces a problem exactly (see `reduction`), solves the kernel with `S` and lifts the answer back. The bound of the
/// kernel is a bound of the problem. A problem with savings goes to `S` unchanged.
template <class S>
class reduced {
 public:
  static constexpr std::string_view name = "reduced";
  static constexpr solver_abilities abilities = detail::abilities_of<S>;

  S inner;

  reduced() = default;
  explicit reduced(S inner_solver) : inner(std::move(inner_solver)) {}

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    // a kernel of the costs is not one of the objective; solvers that count savings reduce for themselves
    if (problem.savings() != nullptr) return detail::solved_by(inner, problem, control);
    const deadline limit(control);
    reduction<Cost> r(problem.compact(), {}, control);
    if (r.is_infeasible()) {
      solve_statistics statistics{.solver = std::string(name), .seconds = limit.elapsed()};
      statistics.add_note("the reduction left a variable without a label or a row without room.");
      return conclude<Cost>(problem, {}, std::numeric_limits<double>::infinity(), false, std::move(statistics),
                            control);
    }
    const double spent = limit.elapsed();
    const placement_problem<Cost> kernel(r.take_kernel());
    const compact_problem<Cost>& left = kernel.compact();
    solve_control rest = limit.rest();
    rest.start = projected(r, left, detail::start_labels(problem, control));
    solution<Cost> answer = detail::solved_by(inner, kernel, rest);
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
                    answer.status == solve_status::stopped, std::move(statistics), control);
  }

 private:
  /// A labeling of the whole problem on the kernel: where a label was removed, the cheapest one given the others. Empty
  /// if that is infeasible.
  template <cost_value Cost>
  [[nodiscard]] static assignment projected(const reduction<Cost>& r, const compact_problem<Cost>& kernel,
                                            const std::vector<strategy>& labels) {
    if (labels.empty()) return {};
    constexpr strategy gone = ~strategy{0};
    assignment result(kernel.size(), gone);
    for (std::size_t x = 0; x < kernel.size(); ++x) {
      const auto& [whole, kept] = r.origin()[x];
      const auto at = std::find(kept.begin(), kept.end(), labels[whole]);
      if (at != kept.end()) result[x] = static_cast<strategy>(at - kept.begin());
    }
    for (std::size_t x = 0; x < kernel.size(); ++x) {
      if (result[x] != gone) continue;
      Cost least = forbidden<Cost>;
      result[x] = 0;
      for (strategy l = 0; l < kernel.label_count(x); ++l) {
        Cost cost = kernel.unary(x)[l];
        for (const compact_link& link : kernel.links(x))
          if (result[link.other] != gone) cost = plus(cost, kernel.link_cost(link, l, result[link.other]));
        if (cost < least) {
          least = cost;
          result[x] = l;
        }
      }
    }
    if (is_forbidden(kernel.cost(result)) || !kernel.keeps_rows(result)) return {};
    return result;
  }
};

template <class S>
reduced(S) -> reduced<S>;

}  // namespace shardweave::inline v0
