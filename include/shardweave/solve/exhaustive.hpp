#pragma once

#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Tries everything.

namespace shardweave::inline v0 {

/// Enumerates all labelings depth first and cuts a branch when its cost so far, and the least that the
/// remaining variables and edges can add, do not beat the best labeling known.
///
/// For problems of some twenty variables, and for judging other solvers. Exact with budgets and with savings: these are
/// measured of every labeling that is not cut, and a branch is cut only if its cost less the most that can still be
/// saved does not beat the best.
/// Complexity: product of the label counts, in the worst case; O(depth) memory
struct exhaustive {
  static constexpr std::string_view name = "exhaustive";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;

 private:
  template <cost_value Cost>
  struct search {
    search(const placement_problem<Cost>& problem, const solve_control& control)
        : whole(problem),
          p(problem.compact()),
          limit(control),
          best(control.gap),
          gap(control.gap),
          most_nodes(control.iterations),
          labels(p.size()),
          rest(p.size() + 1) {
      // the least that the variables from x on, and the edges back from them, can still add
      for (std::size_t x = p.size(); x-- > 0;) {
        const auto unary = p.unary(x);
        rest[x] = rest[x + 1] + *std::min_element(unary.begin(), unary.end());
        for (const compact_link& link : p.links(x))
          if (!link.is_first) rest[x] += p.table(p.edges()[link.edge]).least();
      }
      if (problem.savings() != nullptr) savings.emplace(*problem.savings(), p.size());
      if (const std::vector<strategy> start = detail::start_labels(problem, control); !start.empty())
        best.offer(problem.objective(start), start, 0);
    }

    /// The most that labelings can save, by what the labels so far leave open: all communication, or all computation
    /// once on every channel.
    struct savings_limit {
      savings_limit(const savings_terms<Cost>& terms, std::size_t variables)
          : t(terms),
            offers(variables),
            own(variables),
            joint(variables),
            wanted(variables + 1),
            offered(variables + 1) {
        for (const Cost c : t.amount) wanted[0] += c;
        for (const Cost c : t.computation) offered[0] += c;
        for (const label_amount<Cost>& a : t.offers) {
          offers[a.variable].push_back(&a);
          offered[0] += most_of(a);
        }
        for (const label_amount<Cost>& a : t.own) {
          own[a.variable].push_back(&a);
          wanted[0] += most_of(a);
        }
        for (const auto& table : t.tables) most_of_table.push_back(table->most());
        for (const pair_amount<Cost>& a : t.joint) {
          joint[a.second].push_back(&a);
          wanted[0] += static_cast<Cost>(a.count) * most_of_table[a.table];
        }
      }
      /// Variable x takes a label, those before it have theirs.
      void decide(std::size_t x, std::span<const strategy> taken) {
        wanted[x + 1] = wanted[x];
        offered[x + 1] = offered[x];
        for (const auto* a : offers[x]) offered[x + 1] -= most_of(*a) - a->amount[taken[x]];
        for (const auto* a : own[x]) wanted[x + 1] -= most_of(*a) - a->amount[taken[x]];
        for (const auto* a : joint[x])
          wanted[x + 1] -= static_cast<Cost>(a->count) *
                           (most_of_table[a->table] - (*t.tables[a->table])(taken[a->first], taken[x]));
      }
      [[nodiscard]] Cost most(std::size_t x) const {
        const auto channels = static_cast<Cost>(t.channels);
        const Cost saved = wanted[x] / channels > offered[x] ? channels * offered[x] : wanted[x];
        if constexpr (std::floating_point<Cost>) return saved + 1e-12 * (wanted[0] + offered[0]);  // rounding
        return saved;
      }
      static Cost most_of(const label_amount<Cost>& a) { return *std::max_element(a.amount.begin(), a.amount.end()); }

      const savings_terms<Cost>& t;
      std::vector<std::vector<const label_amount<Cost>*>> offers, own;  ///< of every variable
      std::vector<std::vector<const pair_amount<Cost>*>> joint;         ///< of the later of two variables
      std::vector<Cost> most_of_table;
      std::vector<Cost> wanted, offered;  ///< before each variable
    };

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
        if (savings) savings->decide(x, labels);
        if (enter(x + 1)) next[++x] = 0;
      }
    }

    /// \returns whether the labelings below this node are to be tried
    bool enter(std::size_t x) {
      stopped = nodes == most_nodes || (nodes % 4096 == 0 && limit.expired());
      if (stopped) return false;
      ++nodes;
      if (best.is_known()) {
        const Cost least = cost[x] + rest[x] - (savings ? savings->most(x) : Cost{});
        if (least >= best.cost() || (gap > 0 && best.closes(static_cast<double>(least)))) return false;
      }
      if (x < p.size()) return true;
      const Cost objective = savings ? whole.objective(labels) : cost[x];
      if (best.is_beaten_by(objective) && p.keeps_rows(labels)) best.offer(objective, labels, limit.elapsed());
      return false;
    }

    /// The cost of the labels before variable x and of label l there.
    [[nodiscard]] Cost extended(std::size_t x, strategy l) const {
      Cost sum = plus(cost[x], p.unary(x)[l]);
      for (const compact_link& link : p.links(x))
        if (!link.is_first) sum = plus(sum, p.link_cost(link, l, labels[link.other]));
      return sum;
    }

    const placement_problem<Cost>& whole;
    const compact_problem<Cost>& p;
    std::optional<savings_limit> savings = {};
    deadline limit;
    detail::incumbent<Cost> best;
    double gap;
    std::size_t most_nodes;
    std::vector<strategy> labels, next;
    std::vector<Cost> rest, cost;
    bool stopped = false;
    std::size_t nodes = 0;
  };
};

template <cost_value Cost>
solution<Cost> exhaustive::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  search<Cost> s(problem, control);
  s.run();
  solve_statistics statistics{.solver = std::string(name), .seconds = s.limit.elapsed(), .iterations = s.nodes};
  statistics.seconds_to_best = s.best.found_at();
  double bound = -std::numeric_limits<double>::infinity();
  if (!s.stopped) bound = control.gap > 0 ? s.best.settled() : s.best.upper();
  if (s.stopped) statistics.add_note("stopped before all labelings were tried.");
  if (!s.stopped && !s.best.is_known()) statistics.add_note("every labeling breaks a constraint.");
  return conclude(problem, std::span<const strategy>(s.best.labels()), bound, s.stopped, std::move(statistics), control,
                  bound_on::objective);
}

#ifdef SHARDWEAVE_COMPILED
extern template solution<double> exhaustive::solve(const placement_problem<double>&, const solve_control&) const;
extern template solution<std::int64_t> exhaustive::solve(const placement_problem<std::int64_t>&,
                                                         const solve_control&) const;
#endif

}  // namespace shardweave::inline v0
