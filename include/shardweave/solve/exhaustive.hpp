#pragma once

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
/// Tries everything.

namespace shardweave {
inline namespace v0 {

/// Enumerates all labelings depth first and cuts a branch when its cost so far, and the least that the
/// remaining variables and edges can add, do not beat the best labeling known.
///
/// For problems of some twenty variables, and for judging other solvers. Exact with budgets.
/// Complexity: product of the label counts, in the worst case; O(depth) memory
struct exhaustive {
  static constexpr std::string_view name = "exhaustive";
  static constexpr solver_abilities abilities{.budgets = true};

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    search<Cost> s(problem.compact(), control);
    s.run();
    solve_statistics statistics{.solver = std::string(name), .seconds = s.limit.elapsed(), .iterations = s.nodes};
    statistics.seconds_to_best = s.found_at;
    double bound = -std::numeric_limits<double>::infinity();
    if (!s.stopped) bound = s.has_best ? static_cast<double>(s.best_cost) : std::numeric_limits<double>::infinity();
    if (s.stopped) statistics.note = "stopped before all labelings were tried. ";
    if (!s.stopped && !s.has_best) statistics.note = "every labeling breaks a constraint. ";
    return conclude(problem, std::span<const strategy>(s.best), bound, s.stopped, std::move(statistics));
  }

 private:
  template <cost_value Cost>
  struct search {
    search(const compact_problem<Cost>& problem, const solve_control& control)
        : p(problem), limit(control), most_nodes(control.iterations), labels(problem.size()), rest(problem.size() + 1) {
      // the least that the variables from x on, and the edges back from them, can still add
      for (std::size_t x = p.size(); x-- > 0;) {
        const auto unary = p.unary(x);
        rest[x] = rest[x + 1] + *std::min_element(unary.begin(), unary.end());
        for (const compact_link& link : p.links(x))
          if (!link.is_first) rest[x] += p.table(p.edges()[link.edge]).least();
      }
    }

    /// Depth first without recursion, since a problem may have more variables than a stack has room for.
    void run() {
      std::size_t x = 0;
      next.assign(p.size() + 1, 0);
      cost.assign(p.size() + 1, p.constant());  // of the labels before each variable
      if (!enter(x)) return;
      while (!stopped) {
        if (next[x] == p.label_count(x)) {
          if (x-- == 0) return;
          continue;
        }
        const strategy l = next[x]++;
        const Cost with = extended(x, l);
        if (is_forbidden(with)) continue;
        labels[x] = l;
        cost[x + 1] = with;
        if (enter(x + 1)) next[++x] = 0;
      }
    }

    /// \returns whether the labelings below this node are to be tried
    bool enter(std::size_t x) {
      stopped = nodes == most_nodes || (nodes % 4096 == 0 && limit.expired());
      if (stopped) return false;
      ++nodes;
      if (has_best && cost[x] + rest[x] >= best_cost) return false;
      if (x < p.size()) return true;
      if (p.keeps_rows(labels)) {
        best = labels;
        best_cost = cost[x];
        has_best = true;
        found_at = limit.elapsed();
      }
      return false;
    }

    /// The cost of the labels before variable x and of label l there.
    [[nodiscard]] Cost extended(std::size_t x, strategy l) const {
      Cost sum = plus(cost[x], p.unary(x)[l]);
      for (const compact_link& link : p.links(x))
        if (!link.is_first) sum = plus(sum, p.link_cost(link, l, labels[link.other]));
      return sum;
    }

    const compact_problem<Cost>& p;
    deadline limit;
    std::size_t most_nodes;
    std::vector<strategy> labels, best, next;
    std::vector<Cost> rest, cost;
    Cost best_cost{};
    bool has_best = false, stopped = false;
    std::size_t nodes = 0;
    double found_at = 0;
  };
};

}  // namespace v0
}  // namespace shardweave
