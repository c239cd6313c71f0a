#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/cut_front.hpp>
#include <shardweave/solve/search/detail/repair.hpp>
#include <shardweave/solve/search/detail/savings_descent.hpp>
#include <shardweave/solve/search/detail/split.hpp>
#include <shardweave/solve/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The search behind `overlapped`.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Effort of the search behind `overlapped`.
struct savings_search_options {
  std::size_t nodes = 20000;
  std::size_t root_steps = 200;  ///< of the prices
  std::size_t node_steps = 30;
  /// Where a gap is enough: so many nodes, and twice those so far, without an assignment that is better by a tenth of
  /// the gap end the search. Depth first, the bound rises only when all is over.
  std::size_t patience = 40;
  savings_ascent_options ascent = {};
  front_options front = {};
};

/// Branch and bound with savings: at every node the bound of `savings_ascent` is raised; it is split in two without the
/// labels whose bound is no better than the incumbent (reduced-cost fixing). At the root labelings are looked for that
/// prices do not lead to.
template <cost_value Cost>
class savings_search {
 public:
  using lift_to_root = std::function<std::vector<strategy>(std::span<const strategy>)>;
  using cut_list = std::vector<typename savings_ascent<Cost>::cut_pointer>;

  savings_search(const savings_search_options& settings, const solve_control& how, const placement_problem<Cost>& root)
      : options(settings), control(how), limit(how), best(how.gap), root_(root) {
    if (const std::vector<strategy> start = start_labels(root, how); !start.empty()) offer(start);
  }

  /// \returns a lower bound on the objective
  double run() {
    return explore(root_.compact(), *root_.savings(), {}, {}, {}, [](std::span<const strategy> labels) {
      return std::vector<strategy>(labels.begin(), labels.end());
    });
  }

  bool offer(std::span<const strategy> of_root) {
    const Cost objective = root_.objective(of_root);
    if (!best.is_beaten_by(objective) || !root_.compact().keeps_rows(of_root, budget_tolerance / 2)) return false;
    if (!(best.upper() - static_cast<double>(objective) <= 0.1 * control.gap * std::abs(best.upper())))
      gained_at_ = explored;
    return best.offer(objective, std::vector<strategy>(of_root.begin(), of_root.end()), limit.elapsed());
  }

  const savings_search_options& options;
  const solve_control& control;
  deadline limit;
  incumbent<Cost> best;
  bool cut_short = false;
  std::size_t explored = 0, dropped = 0, steps = 0;
  double root_bound = -infinity;

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::size_t most_guesses = 5;  ///< rounds of dropping
  static constexpr double worthwhile = 0.05;      ///< share of labels that must go for another round

  /// Depth first. \returns a lower bound on the objective of all labelings that beat the best one known at the end
  double explore(const compact_problem<Cost>& p, const savings_terms<Cost>& terms, const cut_list& cuts,
                 const std::vector<double>& chain, const known_prices& row_prices, const lift_to_root& lift) {
    const bool is_root = explored++ == 0;
    const bool is_idle = control.gap > 0 && explored > 3 * gained_at_ + options.patience;
    if (explored > options.nodes || explored > control.iterations || is_idle || limit.expired()) {
      cut_short = true;
      return -infinity;
    }
    if (p.size() == 0) {
      offer(lift({}));
      return best.settled();
    }
    savings_ascent<Cost> ascent(p, terms, options.ascent, cuts);
    if (!chain.empty()) ascent.start(chain);
    ascent.start_rows(row_prices.for_rows_of(p));
    climb(ascent, p, is_root ? options.root_steps : options.node_steps, lift);
    if (is_root) {
      root_bound = ascent.bound();
      if (best.is_known() && !best.closes(root_bound)) improve_best();
      if (best.is_known() && !best.closes(root_bound)) guess(p, terms, ascent);
    }
    if (best.closes(ascent.bound())) return best.settled();
    if (limit.expired()) {
      cut_short = true;
      return ascent.bound();
    }
    return split(p, terms, ascent, lift);
  }

  static const savings_terms<Cost>* savings_in(const restricted_problem<Cost>& part) { return part.problem.savings(); }

  void climb(savings_ascent<Cost>& ascent, const compact_problem<Cost>& p, std::size_t most, const lift_to_root& lift) {
    for (std::size_t i = 0; i < most; ++i) {
      const bool more = ascent.step(best.upper());
      ++steps;
      std::vector<strategy> labels(ascent.labels().begin(), ascent.labels().end());
      if (!is_forbidden(p.cost(labels)) &&
          (p.rows().empty() || detail::repair(p, std::span<strategy>(labels), 2 * p.size() + 10, limit)))
        offer(lift(labels));
      if (control.progress)
        control.progress({.stage = "overlapped",
                          .seconds = limit.elapsed(),
                          .objective = best.upper(),
                          .lower_bound = explored == 1 ? ascent.bound() : root_bound});
      if (!more || best.closes(ascent.bound()) || limit.expired()) return;
    }
  }

  void improve_best() {
    std::vector<strategy> labels = best.labels();
    if (savings_descent(root_.compact(), *root_.savings(), labels, limit)) offer(labels);
  }

  /// Looks for labelings that prices do not lead to, first not far above the bound: the nearer the objective that one
  /// hopes for, the fewer labels and the smaller fronts.
  void guess(const compact_problem<Cost>& given, const savings_terms<Cost>& given_terms, savings_ascent<Cost>& root) {
    const double gap = best.upper() - root.bound(), before = best.upper();
    for (const double hope : {1.0 / 32, 1.0 / 8, 1.0 / 3}) {
      if (limit.expired() || best.upper() < before) break;
      try_fronts(given, given_terms, root, root.bound() + hope * gap, {0.05});
    }
    if (!limit.expired() && !best.closes(root.bound()))
      try_fronts(given, given_terms, root, best.settled(), {0.05, 0.03, 0.02, 0.015, 0.01});
  }

  /// Drops the labels whose bound is no better than a target, in rounds, and tries fronts on what is left, from coarse
  /// ones to finer ones as long as they are not too much.
  void try_fronts(const compact_problem<Cost>& given, const savings_terms<Cost>& given_terms,
                  savings_ascent<Cost>& root, double target, std::initializer_list<double> shares) {
    const compact_problem<Cost>* p = &given;
    const savings_terms<Cost>* terms = &given_terms;
    std::vector<restricted_problem<Cost>> parts;
    parts.reserve(most_guesses);
    std::optional<savings_ascent<Cost>> own;
    savings_ascent<Cost>* ascent = &root;
    const auto offer_lifted = [&](std::span<const strategy> of_part) {
      std::vector<strategy> labels(of_part.begin(), of_part.end());
      for (std::size_t i = parts.size(); i-- > 0;) labels = parts[i].lift(labels);
      offer(labels);
    };
    while (parts.size() < most_guesses) {
      const std::vector<double> least = ascent->label_bounds();
      const auto gone = std::count_if(least.begin(), least.end(), [&](double b) { return b >= target; });
      if (static_cast<double>(gone) < worthwhile * static_cast<double>(least.size())) break;
      restriction<Cost> part(*p);
      part.with_savings(*terms).forbid_if([&](std::size_t label) { return least[label] >= target; });
      auto rest = part.build();
      if (!rest || rest->problem.compact().size() == 0) break;
      parts.push_back(*std::move(rest));
      p = &parts.back().problem.compact();
      terms = savings_in(parts.back());
      if (terms == nullptr) return;
      cut_list cuts = ascent->cuts();
      own.emplace(*p, *terms, options.ascent, std::move(cuts));
      ascent = &*own;
      for (std::size_t i = 0; i < options.node_steps && ascent->step(target); ++i) ++steps;
    }
    for (const double share : shares) {
      const double before = best.upper();
      const auto upper = [&] { return std::min(target, best.settled()); };
      if (!front_bound(*p, *terms, *ascent, options.front, share, limit, upper, offer_lifted)) return;
      if (shares.size() > 1 && best.upper() < before) improve_best();
    }
  }

  /// Two halves, the one with the greater share of the mixture first, and no labels that no better labeling has.
  double split(const compact_problem<Cost>& p, const savings_terms<Cost>& terms, savings_ascent<Cost>& ascent,
               const lift_to_root& lift) {
    const std::vector<double> least = ascent.label_bounds();
    const auto [x, halves] = split_by_mixture(p, terms, ascent, least, best);
    const cut_list cuts = ascent.cuts();
    const known_prices row_prices(p, ascent.best_rows());
    double weakest = infinity;
    for (const std::vector<strategy>& half : halves) {
      restriction<Cost> part(p);
      part.with_savings(terms);
      dropped += part.forbid_if([&](std::size_t label) { return best.closes(least[label]); });
      part.keep(x, half);
      const auto rest = part.build();
      if (!rest) continue;
      const savings_terms<Cost>* left = savings_in(*rest);
      const double of_half =
          explore(rest->problem.compact(), left == nullptr ? nothing_ : *left, cuts, ascent.best_chain(), row_prices,
                  [&rest, &lift](std::span<const strategy> labels) { return lift(rest->lift(labels)); });
      weakest = std::min(weakest, of_half);
    }
    return std::min(best.settled(), std::max(ascent.bound(), weakest));
  }

  const placement_problem<Cost>& root_;
  savings_terms<Cost> nothing_{};
  std::size_t gained_at_ = 0;  ///< the last node that found something much better
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
