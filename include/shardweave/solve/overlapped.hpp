#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/detail/front_bound.hpp>
#include <shardweave/solve/detail/repair.hpp>
#include <shardweave/solve/detail/savings_descent.hpp>
#include <shardweave/solve/savings_ascent.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Prices on the computation that hides communication.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Effort of the search behind `overlapped`.
struct savings_search_options {
  std::size_t nodes = 20000;
  std::size_t root_steps = 200;  ///< of the prices
  std::size_t node_steps = 30;
  double worthwhile = 0.05;  ///< share of labels that must go for another round of dropping
  savings_ascent_options ascent = {};
  front_options front = {};
};

/// Exact search with savings: at every node the bound of `savings_ascent` is raised, labels whose bound is no better
/// than the best labeling known are dropped, and what is left is split in two.
template <cost_value Cost>
class savings_search {
 public:
  using lift_to_root = std::function<std::vector<strategy>(std::span<const strategy>)>;
  using cut_list = std::vector<typename savings_ascent<Cost>::cut_pointer>;
  /// Prices by what stays of a row in every part: its budget and its time.
  using row_price_list = std::map<std::pair<std::uint32_t, std::int64_t>, double>;
  /// What else may be known of the root: told of its problem and its ascent, gives a bound.
  using second_opinion = std::function<double(savings_search&, savings_ascent<Cost>&)>;

  savings_search(const savings_search_options& settings, const solve_control& how, const placement_problem<Cost>& root)
      : options(settings), control(how), limit(how), root_(root) {}

  /// \returns a lower bound on the objective
  double run(const second_opinion& ask) {
    ask_ = ask;
    std::vector<strategy> all(root_.compact().size());
    return explore(
        root_.compact(), *root_.savings(), {}, {}, {}, root_.compact().total_labels(),
        [](std::span<const strategy> labels) { return std::vector<strategy>(labels.begin(), labels.end()); });
  }

  bool offer(std::span<const strategy> of_root) {
    const Cost objective = root_.objective(of_root);
    if (is_forbidden(objective) || (has_best && !(objective < best_objective))) return false;
    if (!root_.compact().keeps_rows(of_root, budget_tolerance / 2)) return false;
    best.assign(of_root.begin(), of_root.end());
    best_objective = objective;
    has_best = true;
    found_at = limit.elapsed();
    return true;
  }

  const savings_search_options& options;
  const solve_control& control;
  deadline limit;
  std::vector<strategy> best = {};
  Cost best_objective{};
  bool has_best = false, cut_short = false;
  std::size_t explored = 0, dropped = 0, steps = 0;
  double found_at = 0, root_bound = -infinity;

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::size_t most_guesses = 5;  ///< rounds of dropping

  double explore(const compact_problem<Cost>& given, const savings_terms<Cost>& given_terms, cut_list cuts,
                 std::vector<double> chain, row_price_list row_prices, std::size_t narrow, const lift_to_root& lift) {
    const bool is_root = explored++ == 0;
    if (explored > options.nodes || explored > control.iterations || limit.expired()) {
      cut_short = true;
      return -infinity;
    }
    const compact_problem<Cost>* p = &given;
    const savings_terms<Cost>* terms = &given_terms;
    std::optional<restricted_problem<Cost>> part;
    lift_to_root to_root = lift;
    double bound = -infinity;
    for (std::size_t round = 0;; ++round) {
      if (p->size() == 0) {
        offer(to_root({}));
        return settled();
      }
      savings_ascent<Cost> ascent(*p, *terms, options.ascent, cuts);
      if (!chain.empty()) ascent.start(chain);
      ascent.start_rows(look_up(*p, row_prices));
      climb(ascent, *p, *terms, is_root && round == 0 ? options.root_steps : options.node_steps, to_root);
      if (is_root && round == 0) {
        if (has_best && !is_closed(ascent.bound())) improve_best();
        if (has_best && !is_closed(ascent.bound())) guess(*p, *terms, ascent);
        if (ask_ && !is_closed(ascent.bound()) && !limit.expired()) bound = ask_(*this, ascent);
        root_bound = std::max(bound, ascent.bound());
      }
      bound = std::max(bound, ascent.bound());
      if (is_closed(bound)) return settled();
      if (limit.expired()) {
        cut_short = true;
        return bound;
      }
      cuts = ascent.cuts();
      chain = ascent.best_chain();
      remember(*p, ascent.best_rows(), row_prices);
      const std::vector<double> least = ascent.label_bounds();
      bound = std::max(bound, ascent.bound());
      restriction<Cost> narrowed(*p);
      narrowed.with_savings(*terms);
      std::size_t gone = 0;
      for (std::size_t x = 0; x < p->size(); ++x)
        for (strategy l = 0; l < p->label_count(x); ++l)
          if (is_closed(least[p->label_start(x) + l])) {
            narrowed.forbid(x, l);
            ++gone;
          }
      dropped += gone;
      if (static_cast<double>(gone) < options.worthwhile * static_cast<double>(p->total_labels()) ||
          p->total_labels() == p->size()) {
        const double before = upper();
        bound = std::max(bound, try_fronts(*p, *terms, ascent, narrow, to_root));
        if (is_closed(bound)) return settled();
        if (!(upper() < before))
          return split(*p, *terms, ascent, least, cuts, chain, row_prices, narrow, to_root, bound);
      }
      auto rest = narrowed.build();
      if (!rest) return settled();
      auto kept = std::make_shared<const restricted_problem<Cost>>(*std::move(rest));
      to_root = [kept, to_root](std::span<const strategy> labels) { return to_root(kept->lift(labels)); };
      part = *kept;
      p = &part->problem.compact();
      terms = savings_in(*part);
      if (terms == nullptr) terms = &nothing_;
    }
  }

  static const savings_terms<Cost>* savings_in(const restricted_problem<Cost>& part) { return part.problem.savings(); }

  void climb(savings_ascent<Cost>& ascent, const compact_problem<Cost>& p, const savings_terms<Cost>& terms,
             std::size_t most, const lift_to_root& lift) {
    static_cast<void>(terms);
    for (std::size_t i = 0; i < most; ++i) {
      const bool more = ascent.step(upper());
      ++steps;
      std::vector<strategy> labels(ascent.labels().begin(), ascent.labels().end());
      if (!is_forbidden(p.cost(labels)) &&
          (p.rows().empty() || detail::repair(p, std::span<strategy>(labels), 2 * p.size() + 10, limit)))
        offer(lift(labels));
      if (control.progress)
        control.progress({.stage = "overlapped",
                          .seconds = limit.elapsed(),
                          .objective = upper(),
                          .lower_bound = explored == 1 ? ascent.bound() : root_bound});
      if (!more || is_closed(ascent.bound()) || limit.expired()) return;
    }
  }

  void improve_best() {
    std::vector<strategy> labels = best;
    if (savings_descent(root_.compact(), *root_.savings(), labels, limit)) offer(labels);
  }

  /// Looks for labelings not far above the bound: the nearer the objective that one hopes for, the fewer labels and
  /// the smaller fronts.
  void guess(const compact_problem<Cost>& given, const savings_terms<Cost>& given_terms, savings_ascent<Cost>& root) {
    const double gap = upper() - root.bound(), before = upper();
    for (const double hope : {1.0 / 32, 1.0 / 8, 1.0 / 3}) {
      if (limit.expired() || upper() < before) return;
      const double target = root.bound() + hope * gap;
      const compact_problem<Cost>* p = &given;
      const savings_terms<Cost>* terms = &given_terms;
      std::vector<restricted_problem<Cost>> parts;
      parts.reserve(most_guesses);
      std::optional<savings_ascent<Cost>> own;
      savings_ascent<Cost>* ascent = &root;
      const auto lift = [&](std::span<const strategy> of_part) {
        std::vector<strategy> labels(of_part.begin(), of_part.end());
        for (std::size_t i = parts.size(); i-- > 0;) labels = parts[i].lift(labels);
        return labels;
      };
      while (parts.size() < most_guesses) {
        const std::vector<double> least = ascent->label_bounds();
        const auto gone = std::count_if(least.begin(), least.end(), [&](double b) { return b >= target; });
        if (static_cast<double>(gone) < options.worthwhile * static_cast<double>(least.size())) break;
        auto rest = without(*p, *terms, least, target).build();
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
      const auto best_or_target = [&] { return std::min(target, settled()); };
      front_bound(*p, *terms, *ascent, options.front, 0.05, limit, best_or_target,
                  [&](std::span<const strategy> labels) { offer(lift(labels)); });
    }
  }

  static restriction<Cost> without(const compact_problem<Cost>& p, const savings_terms<Cost>& terms,
                                   const std::vector<double>& least, double target) {
    restriction<Cost> part(p);
    part.with_savings(terms);
    for (std::size_t x = 0; x < p.size(); ++x)
      for (strategy l = 0; l < p.label_count(x); ++l)
        if (least[p.label_start(x) + l] >= target) part.forbid(x, l);
    return part;
  }

  /// Coarse fronts for labelings, then one for the bound, if so few labels are left; if that is too much, not again
  /// before many more are gone.
  double try_fronts(const compact_problem<Cost>& p, const savings_terms<Cost>& terms,
                    const savings_ascent<Cost>& ascent, std::size_t& narrow, const lift_to_root& lift) {
    if (p.total_labels() > narrow || !has_best) return -infinity;
    const auto try_one = [&](double share) {
      return front_bound(
          p, terms, ascent, options.front, share, limit, [&] { return settled(); },
          [&](std::span<const strategy> labels) { offer(lift(labels)); });
    };
    if (explored == 1) {
      for (const double share : {0.05, 0.03, 0.02, 0.015, 0.01}) {
        const double before = upper();
        if (!try_one(share)) break;
        if (upper() < before) improve_best();
        if (upper() < before - 0.02 * (before - ascent.bound())) return -infinity;  // more labels can go now
      }
    }
    if (const std::optional<double> found = try_one(0)) return *found;
    narrow = p.total_labels() * 4 / 5;
    return -infinity;
  }

  /// Two halves, the one with the greater share of the mixture first.
  double split(const compact_problem<Cost>& p, const savings_terms<Cost>& terms, const savings_ascent<Cost>& ascent,
               const std::vector<double>& least, const cut_list& cuts, const std::vector<double>& chain,
               const row_price_list& row_prices, std::size_t narrow, const lift_to_root& lift, double bound) {
    const auto [x, halves] = halves_of(p, terms, ascent, least);
    double weakest = infinity;
    for (const std::vector<strategy>& half : halves) {
      restriction<Cost> part(p);
      part.with_savings(terms);
      for (std::size_t y = 0; y < p.size(); ++y)
        for (strategy l = 0; l < p.label_count(y); ++l)
          if (is_closed(least[p.label_start(y) + l])) part.forbid(y, l);
      part.keep(x, half);
      const auto rest = part.build();
      if (!rest) continue;
      const savings_terms<Cost>* left = savings_in(*rest);
      const double of_half =
          explore(rest->problem.compact(), left == nullptr ? nothing_ : *left, cuts, chain, row_prices, narrow,
                  [&rest, &lift](std::span<const strategy> labels) { return lift(rest->lift(labels)); });
      weakest = std::min(weakest, of_half);
    }
    return std::min(settled(), std::max(bound, weakest));
  }

  /// The variable on which the mixture disagrees most, counted by what its labels make of computation and
  /// communication; the label of greatest share against all others.
  std::pair<std::size_t, std::array<std::vector<strategy>, 2>> halves_of(const compact_problem<Cost>& p,
                                                                         const savings_terms<Cost>& terms,
                                                                         const savings_ascent<Cost>& ascent,
                                                                         const std::vector<double>& least) const {
    const std::vector<double> share = ascent.shares();
    const std::span<const strategy> labels = ascent.labels();
    std::vector<std::pair<strategy, strategy>> rivals(p.size());
    std::vector<double> doubt(p.size(), -1), impact(p.size());
    const double floor = *std::min_element(least.begin(), least.end());
    for (std::size_t x = 0; x < p.size(); ++x) {
      const std::size_t k = p.label_count(x);
      std::vector<strategy> order;
      for (strategy l = 0; l < k; ++l)
        if (!is_closed(least[p.label_start(x) + l])) order.push_back(l);
      if (order.size() < 2) continue;
      const double* own = share.data() + p.label_start(x);
      const double* bounds = least.data() + p.label_start(x);
      std::stable_sort(order.begin(), order.end(), [&](strategy a, strategy b) {
        return own[a] != own[b] ? own[a] > own[b] : bounds[a] < bounds[b];
      });
      rivals[x] = {order[0], order[1]};
      // where the mixture agrees, a rival that costs little more is a doubt, but a small one
      const double near = has_best && upper() > floor ? (upper() - bounds[order[1]]) / (upper() - floor) : 0.5;
      doubt[x] = std::min(own[order[1]], own[order[0]]) + 1e-4 * std::clamp(near, 0.0, 1.0);
    }
    for (const auto& t : terms.offers)
      impact[t.variable] +=
          std::abs(static_cast<double>(t.amount[rivals[t.variable].first] - t.amount[rivals[t.variable].second]));
    for (const auto& t : terms.own)
      impact[t.variable] +=
          std::abs(static_cast<double>(t.amount[rivals[t.variable].first] - t.amount[rivals[t.variable].second]));
    for (const auto& t : terms.joint) {
      const cost_table<Cost>& table = *terms.tables[t.table];
      const double count = t.count;
      impact[t.first] += count * std::abs(static_cast<double>(table(rivals[t.first].first, labels[t.second]) -
                                                              table(rivals[t.first].second, labels[t.second])));
      impact[t.second] += count * std::abs(static_cast<double>(table(labels[t.first], rivals[t.second].first) -
                                                               table(labels[t.first], rivals[t.second].second)));
    }
    // what the game is worth on either side tells how much a split gains; variables that part the labelings in the
    // same way gain the same
    std::map<std::vector<char>, double> gains;
    std::size_t chosen = p.size();
    std::pair<double, double> most{-1, -1};
    for (std::size_t x = 0; x < p.size(); ++x) {
      if (doubt[x] < 0) continue;
      std::vector<char> takes(ascent.points()), others(ascent.points());
      for (std::size_t k = 0; k < takes.size(); ++k) {
        takes[k] = ascent.label(k, x) == rivals[x].first ? 1 : 0;
        others[k] = 1 - takes[k];
      }
      const auto [known, fresh] = gains.try_emplace(takes, 0.0);
      if (fresh) {
        const double top = has_best ? upper() : floor + 0.01 * std::abs(floor) + 1;
        const auto gain = [&](const std::vector<char>& side) {
          return std::clamp((std::min(ascent.value_of(side), top) - floor) / std::max(top - floor, 1e-300), 0.0, 1.0);
        };
        const double a = gain(takes), b = gain(others);
        known->second = std::min(a, b) + 0.1 * std::max(a, b);
        // a side without labelings is unknown, not closed
        if (std::count(others.begin(), others.end(), char{1}) == 0 ||
            std::count(takes.begin(), takes.end(), char{1}) == 0)
          known->second = 0;
      }
      const std::pair<double, double> score(known->second, doubt[x] * (impact[x] + 1e-6));
      if (score > most) {
        most = score;
        chosen = x;
      }
    }
    std::array<std::vector<strategy>, 2> halves;
    if (chosen == p.size()) {  // every variable has one label left that may be better
      chosen = 0;
      for (strategy l = 0; l < p.label_count(0); ++l) halves[0].push_back(l);
      halves[1] = {};
      return {chosen, std::move(halves)};
    }
    for (strategy l = 0; l < p.label_count(chosen); ++l) halves[l == rivals[chosen].first ? 0 : 1].push_back(l);
    return {chosen, std::move(halves)};
  }

  static std::vector<double> look_up(const compact_problem<Cost>& p, const row_price_list& known) {
    if (known.empty()) return {};
    std::vector<double> prices(p.rows().size());
    for (std::size_t r = 0; r < prices.size(); ++r)
      if (const auto at = known.find({p.rows()[r].budget, p.rows()[r].time}); at != known.end()) prices[r] = at->second;
    return prices;
  }
  static void remember(const compact_problem<Cost>& p, const std::vector<double>& prices, row_price_list& known) {
    for (std::size_t r = 0; r < prices.size(); ++r) known[{p.rows()[r].budget, p.rows()[r].time}] = prices[r];
  }

  [[nodiscard]] bool is_closed(double bound) const {
    if (!has_best) return bound == infinity;
    if constexpr (std::floating_point<Cost>) {
      return bound >= settled();
    } else {
      return proves(bound, best_objective);
    }
  }
  [[nodiscard]] double settled() const {
    if constexpr (std::floating_point<Cost>) {
      return upper() - (has_best ? 0.5 * optimality_tolerance * std::max(1.0, std::abs(upper())) : 0.0);
    } else {
      return upper();
    }
  }
  [[nodiscard]] double upper() const { return has_best ? static_cast<double>(best_objective) : infinity; }

  const placement_problem<Cost>& root_;
  second_opinion ask_;
  savings_terms<Cost> nothing_{};
};

}  // namespace detail

/// Counts savings: prices on the computation that hides make every problem a plain one, whose bound is a bound with
/// savings (see `savings_ascent`). `S` gives a second bound, and assignments, on the plain problem at the best prices;
/// fixing and branching close the gap that prices leave.
///
/// Rows are priced together with the chain. Without savings it is `S`. Without a time limit it ends after `nodes`.
template <class S = trws>
class overlapped {
 public:
  static constexpr std::string_view name = "overlapped";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  S inner;
  detail::savings_search_options search = {};

  overlapped() = default;
  explicit overlapped(S inner_solver, detail::savings_search_options effort = {})
      : inner(std::move(inner_solver)), search(effort) {}

  template <cost_value Cost>
    requires solver<S, Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    if (problem.savings() == nullptr) return inner.solve(problem, control);
    detail::savings_search<Cost> s(search, control, problem);
    const double bound = s.run([&](detail::savings_search<Cost>& running, savings_ascent<Cost>& ascent) {
      return second_opinion<Cost>(running, ascent);
    });
    solve_statistics statistics{.solver = std::string(name), .seconds = s.limit.elapsed(), .iterations = s.explored};
    statistics.seconds_to_best = s.found_at;
    statistics.counters = {{"nodes", static_cast<double>(s.explored)},
                           {"labels dropped", static_cast<double>(s.dropped)},
                           {"price steps", static_cast<double>(s.steps)},
                           {"root bound", s.root_bound}};
    if (!s.has_best && !s.cut_short)
      statistics.note = "no labeling keeps all rows: every branch of the search is empty. ";
    if (s.cut_short) statistics.note = "stopped after " + std::to_string(s.explored) + " nodes. ";
    return conclude(problem, std::span<const strategy>(s.best), bound, s.cut_short, std::move(statistics),
                    bound_on::objective);
  }

 private:
  template <class Cost>
  double second_opinion(detail::savings_search<Cost>& running, savings_ascent<Cost>& ascent) const {
    if constexpr (solver<S, double>) {
      solve_control rest = running.limit.rest();
      rest.progress = {};
      const solution<double> plain = inner.solve(placement_problem<double>(ascent.at_best_prices()), rest);
      if (plain.has_assignment()) running.offer(plain.choice);
      const double slack = 1e-11 * std::abs(plain.lower_bound);
      return std::isfinite(plain.lower_bound) ? plain.lower_bound - slack : plain.lower_bound;
    } else {
      return -std::numeric_limits<double>::infinity();
    }
  }
};

template <class S>
overlapped(S) -> overlapped<S>;

/// Budgets and savings together: prices on rows and on the chain are raised as one.
template <class S>
class budgeted<overlapped<S>> {
 public:
  static constexpr std::string_view name = "budgeted";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  overlapped<S> inner;

  budgeted() = default;
  explicit budgeted(overlapped<S> inner_solver) : inner(std::move(inner_solver)) {}

  template <cost_value Cost>
    requires solver<S, Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    if (problem.savings() != nullptr) return inner.solve(problem, control);
    return budgeted<S>(inner.inner).solve(problem, control);
  }
};

}  // namespace v0
}  // namespace shardweave
