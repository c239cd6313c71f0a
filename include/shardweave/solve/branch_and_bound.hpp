#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/search/detail/bounded_search.hpp>
#include <shardweave/solve/search/detail/climb.hpp>
#include <shardweave/solve/search/detail/remainder.hpp>
#include <shardweave/solve/search/detail/repair.hpp>
#include <shardweave/solve/search/detail/split.hpp>
#include <shardweave/solve/search/detail/strong_branching.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Branch and bound over Lagrangian bounds.

namespace shardweave::inline v0 {

/// Exact search with budgets. At every node the problem is reduced, the bound of `price_ascent` is raised, and labels
/// whose bound is no better than the incumbent are removed (reduced-cost fixing), repeatedly while that removes enough.
/// Then the node is split in two at the variable whose near-optimal labels differ most in priced usage, or, where many
/// labels are left and trials show that it gains more, into all labels of a variable (strong branching). Best-first:
/// the open node of least bound is next. Where price steps stop gaining, the rows of largest contribution are
/// strengthened as knapsacks (`price_ascent::strengthen`); a node starts from the prices and messages of its parent.
///
/// Every bound is computed by this library, so a proof of optimality does not rest on a backend. It ends after `nodes`.
/// The reported bound is the least one of the open nodes, valid at any time. Source: reduced-cost fixing and two-way
/// splits on usage are standard in Lagrangian branch and bound; see A. Geoffrion, Lagrangean relaxation for integer
/// programming, Math. Programming Study 2 (1974). Strong branching: D. Applegate, R. Bixby, V. Chvatal and W. Cook,
/// Finding cuts in the TSP, DIMACS report 95-05 (1995).
///
/// An iteration (`solve_control::iterations`) is a step of the ascent.
/// Complexity: exponential without a limit; a node takes reductions, up to `node_steps` steps of `price_ascent` after
/// each (`root_steps` at the root), an elimination if its factors are small, and with `trials` up to some two thousand
/// steps to choose a split. An open node keeps its labels, prices and messages.
class branch_and_bound {
 public:
  static constexpr std::string_view name = "branch_and_bound";
  static constexpr solver_abilities abilities{.budgets = true};

  std::size_t nodes = 2000;       ///< most nodes
  bool goes_on = false;           ///< with a time limit: continues until then, beyond `nodes`
  bool reduces_root = true;       ///< false for a kernel of a `reduction`
  std::size_t root_steps = 2000;  ///< of the ascent, at the root
  std::size_t node_steps = 200;   ///< of the ascent, elsewhere, and after each removal of labels
  /// Steps between two decodings to an assignment; 0: only at the end. Less where a brief search must find one.
  std::size_t decode_every = 20;
  /// Whether large nodes may be split by trials (strong branching) into all labels of a variable.
  bool trials = true;
  std::size_t polish_moves = 40;  ///< of local search, per variable of the root; 0 where one runs before or after this

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;
  /// Looks for an assignment that costs less than `known` and prunes all others. If it returns none, no assignment
  /// costs less than its bound.
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve_below(const placement_problem<Cost>& problem, Cost known,
                                           const solve_control& control = {}) const {
    return search<Cost>(problem, known, control);
  }

 private:
  /// Share of labels that must be removed for another round at the same node: half and twice prove as much; without
  /// such rounds proofs are lost.
  static constexpr double worthwhile = 0.02;
  /// Least number of variables for local search: branching finds assignments of smaller nodes sooner.
  static constexpr std::size_t polished_size = 12;
  /// Work limit of `price_ascent::strengthen`.
  static constexpr std::size_t row_work = 1 << 22;
  /// Largest factor for which a node is left to `elimination`.
  static constexpr std::size_t elimination_entries = std::size_t{1} << 20;
  static constexpr std::size_t elimination_work = std::size_t{1} << 26;  ///< `elimination::work` of a node; 0: never
  /// Nodes at which the assignment of the ascent is improved by local search; beyond the root with a quarter of the
  /// moves.
  static constexpr std::size_t polished_nodes = 10;

  static local_search single_start() {
    local_search brief;
    brief.starts = 1;
    return brief;
  }

  template <cost_value Cost>
  class relaxation;
  /// \param known  upper cutoff on the cost; forbidden: none
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> search(const placement_problem<Cost>& problem, Cost known,
                                      const solve_control& control) const;
};

/// The bound of a node: it is reduced, `price_ascent` raises its bound, rows become knapsacks at the root.
template <cost_value Cost>
class branch_and_bound::relaxation {
 public:
  using memory = std::shared_ptr<const detail::ascent_memory>;
  using part = detail::open_part<memory>;
  static constexpr detail::search_order order = detail::search_order::least_bound_first;

  /// \pre all outlive this object
  relaxation(const branch_and_bound& settings, const placement_problem<Cost>& whole, const solve_control& how)
      : options_(settings), control_(how), limit_(how), best_(how.gap), root_(whole.compact()), branch_(root_.size()) {
    if (const std::vector<strategy> start = detail::start_labels(whole, how); !start.empty())
      best_.offer(root_.cost(start), start, 0);
  }

  [[nodiscard]] detail::incumbent<Cost>& best() { return best_; }
  [[nodiscard]] const deadline& limit() const { return limit_; }
  [[nodiscard]] std::size_t steps() const { return steps_ + branch_.steps(); }
  [[nodiscard]] std::size_t eliminated() const { return eliminated_; }

  [[nodiscard]] bool goes_on(std::size_t parts) const {
    const bool is_timed = options_.goes_on && std::isfinite(control_.seconds);
    return (is_timed || parts < options_.nodes) && !is_over();
  }
  [[nodiscard]] bool is_over() const { return steps() >= control_.iterations || limit_.expired(); }
  [[nodiscard]] bool closes(double bound) const { return best_.closes(bound); }
  [[nodiscard]] bool is_unfinished(const part&) const { return is_over(); }

  [[nodiscard]] bool open(const part& here, const detail::part_visit& visit) {
    restriction<Cost> kept(root_);
    kept.forbid_if([&](std::size_t label) { return here.allowed[label] == 0; });
    auto rest = kept.build();
    if (!rest) return false;
    now_.emplace(detail::reduced_view<Cost>::of(*std::move(rest)));
    return (visit.is_first() && !options_.reduces_root) || now_->reduce(limit_only());
  }
  void raise(part& here, const detail::part_visit& visit) {
    const compact_problem<Cost>& kernel = now_->problem();
    if (is_decided()) {
      best_.offer(kernel.constant(), now_->lift({}), limit_.elapsed());
      here.bound = infinity;
      return;
    }
    best_of_climb_.clear();
    price_ascent<Cost>& ascent = ascent_.emplace(kernel);
    ascent.start(*here.known, now_->origin(), row_work);
    const bool is_warm = !here.known->messages.empty();
    const std::size_t most = visit.is_first() ? options_.root_steps : options_.node_steps;
    climb(ascent, most, visit);
    here.bound = std::max(here.bound, ascent.bound());
    if (!is_warm && !closes(ascent.bound()) && !is_over() && ascent.strengthen(row_work)) climb(ascent, most, visit);
    here.bound = std::max(here.bound, ascent.bound());
    if (closes(here.bound)) return;
    least_ = ascent.label_bounds();
    here.bound = std::max(here.bound, ascent.bound());
    here.known = std::make_shared<const detail::ascent_memory>(ascent.memory(now_->origin()));
    prices_ = ascent.prices();
    if (visit.round == 0 && !closes(here.bound) && visit.part <= polished_nodes)
      polish(
          kernel, [&](std::span<const strategy> labels) { return now_->lift(labels); },
          visit.is_root() ? options_.polish_moves : options_.polish_moves / 4);
  }
  [[nodiscard]] bool is_decided() const { return now_->problem().size() == 0; }
  [[nodiscard]] const compact_problem<Cost>& root() const { return root_; }
  [[nodiscard]] const detail::variable_origin& origin() const { return now_->origin(); }
  [[nodiscard]] std::vector<char> allowed() const { return now_->allowed_in(root_); }
  [[nodiscard]] const std::vector<double>& label_bounds() const { return least_; }
  [[nodiscard]] detail::branching split(const part& here) {
    if (!options_.trials)
      return detail::split_by_usage(now_->problem(), std::span<const double>(prices_), std::span<const double>(least_),
                                    detail::near_bound(least_, best_));
    return branch_.choose_or_split_by_usage<Cost>(now_->problem(), now_->origin(), *ascent_, prices_, least_,
                                                  here.bound, best_, [this] { return is_over(); });
  }

  /// Solves what is left of a node by `elimination`, rows relaxed, if that is cheap. If it exceeds the limits, it is
  /// not tried again until nodes are a fifth smaller.
  [[nodiscard]] bool settles(part& here) {
    const compact_problem<Cost>& kernel = now_->problem();
    if (kernel.total_labels() > narrow_labels_) return false;
    elimination at_once;
    at_once.entries = elimination_entries;
    at_once.all_entries = 4 * elimination_entries;
    at_once.work = elimination_work;
    const solution<Cost> found = at_once.solve(placement_problem<Cost>(now_->shared_problem()), limit_.rest_for_part());
    if (found.lower_bound == -infinity) {
      narrow_labels_ = kernel.total_labels() * 4 / 5;
      return false;
    }
    ++eliminated_;
    if (found.has_assignment() && best_.is_beaten_by(found.objective))
      best_.offer(found.objective, now_->lift(found.choice), limit_.elapsed());
    if (found.has_assignment()) return true;
    here.bound = std::max(here.bound, found.lower_bound);
    return closes(here.bound);
  }

  void expanded(std::size_t parts, double bound) {
    if (bound == infinity) return;
    if (parts >= 8 && parts <= 256 && (parts & (parts - 1)) == 0) {
      best_of_climb_ = best_.labels();  // the tree grows, so more effort for a better incumbent pays
      polish(
          root_, [](std::span<const strategy> labels) { return std::vector(labels.begin(), labels.end()); },
          options_.polish_moves * parts / 8);
    }
    report(bound);
  }

 private:
  /// Raises the bound, and decodes and repairs assignments on the way.
  void climb(price_ascent<Cost>& ascent, std::size_t most, const detail::part_visit& visit) {
    const compact_problem<Cost>& p = now_->problem();
    std::vector<strategy> labels(p.size());
    const auto look = [&](std::size_t i, bool more) {
      ++steps_;
      const bool is_time = options_.decode_every > 0 && i % options_.decode_every == 0;
      if (is_time || !more || i + 1 == most) {
        ascent.decode(labels);
        if (detail::repair(p, std::span<strategy>(labels), limit_)) {
          const Cost cost = p.cost(labels);
          if (best_.is_beaten_by(cost)) best_.offer(cost, now_->lift(labels), limit_.elapsed());
          if (best_of_climb_.empty() || cost < cost_of_climb_) {
            best_of_climb_ = labels;
            cost_of_climb_ = cost;
          }
        }
        if (visit.is_root()) report(ascent.bound());
      }
      return !closes(ascent.bound()) && !is_over();
    };
    detail::climb(
        ascent, p.size(), most, [&] { return best_.upper(); }, look);
  }

  /// Local search from the best assignment of the ascent, or from its own start.
  template <class Lift>
  void polish(const compact_problem<Cost>& p, const Lift& lift, std::size_t moves) {
    if (p.size() < polished_size) return;
    const placement_problem<Cost> part_problem(p);
    solve_control effort = limit_.rest_for_part();
    effort.iterations = std::min(moves * p.size(), control_.iterations);
    const bool known = best_of_climb_.size() == p.size();
    if (known) effort.start = best_of_climb_;
    const solution<Cost> found = single_start().solve_costs(part_problem, effort);
    if (found.has_assignment() && best_.is_beaten_by(found.objective))
      best_.offer(found.objective, lift(found.choice), limit_.elapsed());
  }

  [[nodiscard]] solve_control limit_only() const { return {.seconds = limit_.rest().seconds, .stop = control_.stop}; }

  /// \param bound  on all open nodes
  void report(double bound) {
    told_ = std::max(told_, bound);
    if (control_.progress)
      control_.progress({.stage = name,
                         .seconds = limit_.elapsed(),
                         .objective = best_.upper(),
                         .lower_bound = std::min(told_, best_.upper())});
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  const branch_and_bound& options_;
  const solve_control& control_;
  deadline limit_;
  detail::incumbent<Cost> best_;
  const compact_problem<Cost>& root_;
  std::optional<detail::reduced_view<Cost>> now_ = std::nullopt;  ///< the reduced problem of the node
  std::optional<price_ascent<Cost>> ascent_ = std::nullopt;       ///< on it
  detail::strong_branching branch_;
  std::vector<double> least_ = {}, prices_ = {};  ///< its label bounds and row prices
  std::vector<strategy> best_of_climb_ = {};      ///< of the last problem climbed; empty if none was found
  Cost cost_of_climb_{};
  double told_ = -infinity;  ///< best bound that was reported
  std::size_t steps_ = 0, eliminated_ = 0;
  std::size_t narrow_labels_ = std::numeric_limits<std::size_t>::max();  ///< see `settles`
};

template <cost_value Cost>
solution<Cost> branch_and_bound::search(const placement_problem<Cost>& problem, Cost known,
                                        const solve_control& control) const {
  relaxation<Cost> bounds(*this, problem, control);
  if (!is_forbidden(known)) bounds.best().set_cutoff(known);
  detail::no_record nothing;
  detail::bounded_search<Cost, relaxation<Cost>> tree(problem.compact(), bounds.best(), bounds, nothing, worthwhile);
  const double bound = tree.run(std::make_shared<const detail::ascent_memory>());
  const detail::incumbent<Cost>& best = bounds.best();
  solve_statistics statistics{
      .solver = std::string(name), .seconds = bounds.limit().elapsed(), .iterations = bounds.steps()};
  statistics.seconds_to_best = best.found_at();
  statistics.count({{"nodes", static_cast<double>(tree.explored())},
                    {"labels dropped", static_cast<double>(tree.dropped())},
                    {"ascent steps", static_cast<double>(bounds.steps())},
                    {"nodes eliminated", static_cast<double>(bounds.eliminated())}});
  if (!best.is_known() && !tree.is_cut_short())
    statistics.add_note("no labeling keeps all rows: every branch of the search is empty.");
  if (tree.is_cut_short()) statistics.add_note("stopped after " + std::to_string(tree.explored()) + " nodes.");
  return conclude(problem, std::span<const strategy>(best.labels()), bound, tree.is_cut_short(), std::move(statistics),
                  control);
}

template <cost_value Cost>
solution<Cost> branch_and_bound::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  return search<Cost>(problem, forbidden<Cost>, control);
}

#ifdef SHARDWEAVE_COMPILED
extern template solution<double> branch_and_bound::solve(const placement_problem<double>&, const solve_control&) const;
extern template solution<std::int64_t> branch_and_bound::solve(const placement_problem<std::int64_t>&,
                                                               const solve_control&) const;
#endif

}  // namespace shardweave::inline v0
