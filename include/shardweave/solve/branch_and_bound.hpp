#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/reduce/reduction.hpp>
#include <shardweave/solve/search/detail/remainder.hpp>
#include <shardweave/solve/search/detail/repair.hpp>
#include <shardweave/solve/search/detail/split.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Closes the gap that prices leave.

namespace shardweave {
inline namespace v0 {

/// Exact search with budgets. At every node the problem is reduced, the bound of `price_ascent` is raised, labels whose
/// bound is no better than the best assignment known are dropped, and that is repeated while it helps; what is left is
/// split in two at the variable whose near-optimal labels differ most in priced usage. The part with the least bound is
/// searched first. Where steps of the prices gain nothing more, the rows that earn most take part as knapsacks
/// (`price_ascent::strengthen`); a node begins with the prices and messages of the one that it was split from.
///
/// Every bound is our own, so an optimum that it proves rests on no backend. It ends after `nodes`. The bound reported
/// is that of the open nodes, valid at any time. Source: reduced-cost fixing and two-way splits on usage are standard
/// in Lagrangian branch and bound; see A. Geoffrion, Lagrangean relaxation for integer programming, Math. Programming
/// Study 2 (1974).
///
/// An iteration (`solve_control::iterations`) is a step of the ascent.
class branch_and_bound {
 public:
  static constexpr std::string_view name = "branch_and_bound";
  static constexpr solver_abilities abilities{.budgets = true};

  std::size_t nodes = 2000;        ///< most nodes
  bool goes_on = false;            ///< with a time limit, until then, however many nodes that takes
  bool reduces_root = true;        ///< unneeded for a kernel of a `reduction`
  std::size_t root_steps = 2000;   ///< of the ascent, at the root
  std::size_t node_steps = 200;    ///< of the ascent, elsewhere, and after labels were dropped
  std::size_t decode_every = 20;   ///< steps between two attempts at an assignment
  double worthwhile = 0.02;        ///< share of labels that must go for another round of dropping
  std::size_t polish_moves = 40;   ///< of local search, per variable of the root
  std::size_t polished_size = 12;  ///< variables; with fewer of them branching finds assignments sooner

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;
  /// Looks for an assignment that costs less than `known`, and gives up what does not. Without an assignment its bound
  /// says that there is none that costs less than the bound.
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve_below(const placement_problem<Cost>& problem, Cost known,
                                           const solve_control& control = {}) const {
    search<Cost> s(*this, problem, control);
    s.best.set_cutoff(known);
    return s.run();
  }

 private:
  using memory = detail::ascent_memory;
  static constexpr double least_gain =
      2e-6;  ///< relative rise of the bound, in 150 steps at most, that makes it worthwhile to go on
  static constexpr std::size_t row_work =
      1 << 22;  ///< of rows that take part as knapsacks, see `price_ascent::strengthen`
  static constexpr std::size_t elimination_entries = std::size_t{1}
                                                     << 20;  ///< of a factor, where a node is left to `elimination`
  static constexpr std::size_t elimination_work = std::size_t{1} << 26;  ///< see there; 0: no node is
  static constexpr std::size_t polished_nodes =
      10;  ///< nodes where the assignment of the ascent is improved, for less long than there

  static local_search single_start() {
    local_search brief;
    brief.starts = 1;
    return brief;
  }

  /// Labelings that are still to be searched.
  struct node {
    std::vector<char> allowed;            ///< per label of the root
    std::shared_ptr<const memory> known;  ///< of the ascent before
    double bound = -std::numeric_limits<double>::infinity();
    std::size_t order = 0;
    /// Whether it comes later.
    [[nodiscard]] friend bool operator<(const node& a, const node& b) {
      return a.bound != b.bound ? a.bound > b.bound : a.order < b.order;
    }
  };

  template <cost_value Cost>
  struct search {
    search(const branch_and_bound& settings, const placement_problem<Cost>& whole, const solve_control& how)
        : options(settings), problem(whole), control(how), limit(how), best(how.gap), root(&whole.compact()) {
      if (const std::vector<strategy> start = detail::start_labels(whole, how); !start.empty())
        best.offer(root->cost(start), start, 0);
    }

    solution<Cost> run() {
      const bool is_timed = options.goes_on && std::isfinite(control.seconds);
      const double bound = explore({std::vector<char>(root->total_labels(), 1), std::make_shared<const memory>()},
                                   is_timed ? std::numeric_limits<std::size_t>::max() : options.nodes);
      solve_statistics statistics{.solver = std::string(name), .seconds = limit.elapsed(), .iterations = steps};
      statistics.seconds_to_best = best.found_at();
      statistics.counters = {{"nodes", static_cast<double>(explored)},
                             {"labels dropped", static_cast<double>(dropped)},
                             {"ascent steps", static_cast<double>(steps)},
                             {"nodes eliminated", static_cast<double>(eliminated)}};
      if (!best.is_known() && !cut_short)
        statistics.add_note("no labeling keeps all rows: every branch of the search is empty.");
      if (cut_short) statistics.add_note("stopped after " + std::to_string(explored) + " nodes.");
      return conclude(problem, std::span<const strategy>(best.labels()), bound, cut_short, std::move(statistics),
                      control);
    }

    /// Searches all labelings with labels that a node leaves, best bound first. \returns a lower bound on those that
    /// beat the best assignment known at the end; the cost of that assignment if there are none
    double explore(node first, std::size_t most_nodes) {
      std::vector<node> open;
      open.push_back(std::move(first));
      while (!open.empty()) {
        std::pop_heap(open.begin(), open.end());
        node next = std::move(open.back());
        open.pop_back();
        if (best.closes(next.bound)) break;  // and so are all others
        if (explored >= most_nodes || is_over()) {
          cut_short = true;
          return std::min(best.settled(), next.bound);
        }
        const std::size_t known = open.size();
        expand(std::move(next), open);
        if (!open.empty() && explored >= 8 && explored <= 256 && (explored & (explored - 1)) == 0) {
          best_of_climb = best.labels();  // the tree grows: better assignments are worth more effort
          polish(
              *root, [](std::span<const strategy> labels) { return std::vector(labels.begin(), labels.end()); },
              options.polish_moves * explored / 8);
        }
        for (std::size_t i = known + 1; i <= open.size(); ++i)
          std::push_heap(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(i));
        if (!open.empty()) report(open.front().bound);
      }
      return best.settled();
    }

    /// Raises the bound of a node, drops labels, and adds what is left of it, in two parts.
    void expand(node here, std::vector<node>& open) {
      const bool is_root = explored++ == 0;
      restriction<Cost> part(*root);
      part.forbid_if([&](std::size_t label) { return here.allowed[label] == 0; });
      auto rest = part.build();
      if (!rest) return;
      detail::reduced_view<Cost> now = detail::reduced_view<Cost>::of(*std::move(rest));
      for (std::size_t round = 0;; ++round) {
        if ((!is_root || round > 0 || options.reduces_root) && !now.reduce(limit_only())) return;
        const compact_problem<Cost>& kernel = now.problem();
        if (kernel.size() == 0) {  // nothing is left to decide
          best.offer(kernel.constant(), now.lift({}), limit.elapsed());
          return;
        }
        best_of_climb.clear();
        price_ascent<Cost> ascent(kernel);
        ascent.start(*here.known, now.origin(), row_work);
        const bool is_warm = !here.known->messages.empty();
        climb(ascent, now, is_root && round == 0 ? options.root_steps : options.node_steps);
        if (!is_warm && !best.closes(ascent.bound()) && !is_over() && ascent.strengthen(row_work))
          climb(ascent, now, is_root && round == 0 ? options.root_steps : options.node_steps);
        here.bound = std::max(here.bound, ascent.bound());
        if (best.closes(here.bound)) return;
        const std::vector<double> least = ascent.label_bounds();
        here.bound = std::max(here.bound, ascent.bound());
        here.known = std::make_shared<const memory>(ascent.memory(now.origin()));
        if (round == 0 && !best.closes(here.bound) && explored <= polished_nodes)
          polish(
              kernel, [&](std::span<const strategy> labels) { return now.lift(labels); },
              is_root ? options.polish_moves : options.polish_moves / 4);
        if (best.closes(here.bound)) return;
        if (is_over()) {
          open.push_back(std::move(here));
          return;
        }
        restriction<Cost> narrowed(kernel);
        const std::size_t gone = narrowed.forbid_if([&](std::size_t label) { return best.closes(least[label]); });
        dropped += gone;
        if (static_cast<double>(gone) < options.worthwhile * static_cast<double>(kernel.total_labels())) {
          if (eliminate(now, here)) return;
          split(std::move(here), now, ascent.prices(), least, open);
          return;
        }
        rest = narrowed.build();
        if (!rest) return;
        now.narrow(*std::move(rest));
      }
    }

    /// Asks for what is left of a node at once, rows relaxed, where that is little work. What is too much for one node
    /// is not tried again before a fifth of the labels are gone. \returns whether the node is closed
    bool eliminate(const detail::reduced_view<Cost>& now, node& here) {
      const compact_problem<Cost>& kernel = now.problem();
      if (kernel.total_labels() > narrow_labels) return false;
      elimination at_once;
      at_once.entries = elimination_entries;
      at_once.all_entries = 4 * elimination_entries;
      at_once.work = elimination_work;
      const solution<Cost> found = at_once.solve(placement_problem<Cost>(now.shared_problem()), limit.rest_for_part());
      if (found.lower_bound == -infinity) {
        narrow_labels = kernel.total_labels() * 4 / 5;
        return false;
      }
      ++eliminated;
      if (found.has_assignment() && best.is_beaten_by(found.objective))
        best.offer(found.objective, now.lift(found.choice), limit.elapsed());
      if (found.has_assignment()) return true;
      here.bound = std::max(here.bound, found.lower_bound);
      return best.closes(here.bound);
    }

    /// Raises the bound and tries to make assignments of what the prices favour.
    void climb(price_ascent<Cost>& ascent, const detail::reduced_view<Cost>& now, std::size_t most) {
      const compact_problem<Cost>& p = now.problem();
      std::vector<strategy> labels(p.size());
      double mark = -infinity;
      // the fewer variables there are, the sooner prices and messages settle
      const std::size_t patience = std::min<std::size_t>(150, 20 + 2 * p.size());
      for (std::size_t i = 0; i < most; ++i) {
        if (i % patience == 0) {
          if (ascent.bound() <= mark + least_gain * std::abs(mark)) return;
          mark = ascent.bound();
        }
        const bool more = ascent.step(best.upper());
        ++steps;
        if (i % options.decode_every == 0 || !more || i + 1 == most) {
          ascent.decode(labels);
          if (detail::repair(p, std::span<strategy>(labels), 2 * p.size() + 10, limit)) {
            const Cost cost = p.cost(labels);
            if (best.is_beaten_by(cost)) best.offer(cost, now.lift(labels), limit.elapsed());
            if (best_of_climb.empty() || cost < cost_of_climb) {
              best_of_climb = labels;
              cost_of_climb = cost;
            }
          }
          if (explored == 1) report(ascent.bound());
        }
        if (!more || best.closes(ascent.bound()) || is_over()) return;
      }
    }

    /// Local search from the best assignment of the ascent, or from its own start.
    template <class Lift>
    void polish(const compact_problem<Cost>& p, const Lift& lift, std::size_t moves) {
      if (p.size() < options.polished_size) return;
      const placement_problem<Cost> part(p);
      solve_control effort = limit.rest_for_part();
      effort.iterations = std::min(moves * p.size(), control.iterations);
      const bool known = best_of_climb.size() == p.size();
      if (known) effort.start = best_of_climb;
      const solution<Cost> found = single_start().solve(part, effort);
      if (found.has_assignment() && best.is_beaten_by(found.objective))
        best.offer(found.objective, lift(found.choice), limit.elapsed());
    }

    /// Two halves, and no labels that no better assignment has.
    void split(node here, const detail::reduced_view<Cost>& now, const std::vector<double>& prices,
               const std::vector<double>& least, std::vector<node>& open) {
      const compact_problem<Cost>& p = now.problem();
      const double floor = *std::min_element(least.begin(), least.end());
      const double near = best.is_known() ? floor + 0.5 * (best.upper() - floor) : infinity;
      const auto [chosen, halves] = detail::split_by_usage(p, prices, least, near);
      here.allowed = now.allowed_in(*root);
      for (std::size_t x = 0; x < p.size(); ++x)
        for (strategy l = 0; l < p.label_count(x); ++l)
          if (best.closes(least[p.label_start(x) + l])) here.allowed[now.root_label(*root, x, l)] = 0;
      for (std::size_t i = 0; i < halves.size(); ++i) {
        node half = here;
        half.order = 2 * explored + 1 - i;  // the one with the better label first
        double of_half = infinity;
        for (const strategy l : halves[i]) of_half = std::min(of_half, least[p.label_start(chosen) + l]);
        for (const strategy l : halves[1 - i]) half.allowed[now.root_label(*root, chosen, l)] = 0;
        half.bound = std::max(half.bound, of_half);
        if (!best.closes(half.bound)) open.push_back(std::move(half));
      }
    }

    [[nodiscard]] bool is_over() const { return steps >= control.iterations || limit.expired(); }
    [[nodiscard]] solve_control limit_only() const { return {.seconds = limit.rest().seconds, .stop = control.stop}; }

    /// \param bound  on all that is still to be searched
    void report(double bound) {
      told = std::max(told, bound);
      if (control.progress)
        control.progress({.stage = name,
                          .seconds = limit.elapsed(),
                          .objective = best.upper(),
                          .lower_bound = std::min(told, best.upper())});
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();
    const branch_and_bound& options;
    const placement_problem<Cost>& problem;
    const solve_control& control;
    deadline limit;
    detail::incumbent<Cost> best;
    std::vector<strategy> best_of_climb = {};  ///< of the last problem that was climbed, if any was found
    Cost cost_of_climb{};
    bool cut_short = false;
    double told = -infinity;  ///< best bound that was reported
    const compact_problem<Cost>* root;
    std::size_t explored = 0, dropped = 0, steps = 0, eliminated = 0;
    std::size_t narrow_labels = std::numeric_limits<std::size_t>::max();  ///< see `eliminate`
  };
};

template <cost_value Cost>
solution<Cost> branch_and_bound::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  return search<Cost>(*this, problem, control).run();
}

#ifdef SHARDWEAVE_COMPILED
extern template solution<double> branch_and_bound::solve(const placement_problem<double>&, const solve_control&) const;
extern template solution<std::int64_t> branch_and_bound::solve(const placement_problem<std::int64_t>&,
                                                               const solve_control&) const;
#endif

}  // namespace v0
}  // namespace shardweave
