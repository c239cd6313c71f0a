#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/detail/repair.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/price_ascent.hpp>
#include <shardweave/solve/reduction.hpp>
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
#include <memory>
#include <numeric>
#include <optional>
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
/// split in two at the variable whose near-optimal labels differ most in priced usage.
///
/// Every bound is our own, so an optimum that it proves rests on no backend. Without a time limit it ends after
/// `nodes`. The bound reported is that of the open nodes, valid at any time. Source: reduced-cost fixing and two-way
/// splits on usage are standard in Lagrangian branch and bound; see A. Geoffrion, Lagrangean relaxation for integer
/// programming, Math. Programming Study 2 (1974).
class branch_and_bound {
 public:
  static constexpr std::string_view name = "branch_and_bound";
  static constexpr solver_abilities abilities{.budgets = true};

  std::size_t nodes = 2000;       ///< most nodes
  std::size_t root_steps = 2000;  ///< of the ascent, at the root
  std::size_t node_steps = 200;   ///< of the ascent, elsewhere, and after labels were dropped
  std::size_t decode_every = 20;  ///< steps between two attempts at an assignment
  double worthwhile = 0.02;       ///< share of labels that must go for another round of dropping
  std::size_t guess_nodes = 20;   ///< for the supposition that the root's bound is nearly the optimum
  std::size_t polish_moves = 40;  ///< of local search, per variable of the root
  local_search improve = {};      ///< on the first assignment of the root

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    search<Cost> s(*this, control);
    const double bound = s.explore(problem.compact(), {}, [](std::span<const strategy> labels) {
      return std::vector<strategy>(labels.begin(), labels.end());
    });
    solve_statistics statistics{.solver = std::string(name), .seconds = s.limit.elapsed(), .iterations = s.explored};
    statistics.seconds_to_best = s.found_at;
    statistics.counters = {{"nodes", static_cast<double>(s.explored)},
                           {"labels dropped", static_cast<double>(s.dropped)},
                           {"ascent steps", static_cast<double>(s.steps)}};
    if (!s.has_best && !s.cut_short)
      statistics.note = "no labeling keeps all rows: every branch of the search is empty. ";
    if (s.cut_short) statistics.note = "stopped after " + std::to_string(s.explored) + " nodes. ";
    return conclude(problem, std::span<const strategy>(s.best), bound, s.cut_short, std::move(statistics));
  }

 private:
  /// Prices by what stays of a row through all reductions: its budget and its time.
  using price_list = std::map<std::pair<std::uint32_t, std::int64_t>, double>;
  using lift_to_root = std::function<std::vector<strategy>(std::span<const strategy>)>;

  template <cost_value Cost>
  struct search {
    search(const branch_and_bound& settings, const solve_control& how)
        : options(settings), control(how), limit(how), most_nodes(settings.nodes) {}

    /// Searches all labelings of a problem. \returns a lower bound on those that beat the best assignment known at the
    /// end; the cost of that assignment if there are none
    double explore(const compact_problem<Cost>& given, price_list prices, const lift_to_root& lift) {
      const bool is_root = explored++ == 0;
      if (explored > most_nodes || limit.expired()) {
        cut_short = true;
        return -infinity;
      }
      std::optional<reduction<Cost>> reduced(std::in_place, given, reduction_limits{}, limit_only());
      lift_to_root to_root = lift;
      double bound = -infinity;
      for (std::size_t round = 0;; ++round) {
        if (reduced->is_infeasible()) return settled();
        auto step = std::make_shared<const reduction<Cost>>(*std::move(reduced));
        reduced.reset();
        to_root = [step, to_root](std::span<const strategy> labels) { return to_root(step->lift(labels)); };
        const compact_problem<Cost>& kernel = step->kernel();
        if (kernel.size() == 0) {  // nothing is left to decide
          offer(kernel.constant(), to_root({}));
          return settled();
        }
        price_ascent<Cost> ascent(kernel, trws{});
        ascent.start(look_up(kernel, prices));
        climb(ascent, kernel, is_root && round == 0 ? options.root_steps : options.node_steps, to_root);
        bound = std::max(bound, ascent.bound());
        if (is_closed(bound)) return settled();
        remember(kernel, ascent.prices(), prices);
        const std::vector<double> least = ascent.label_bounds();
        if (is_root && round == 0) {
          if (kernel.rows().empty()) bound = std::max(bound, guess(kernel, least, prices, to_root, bound));
          if (!is_closed(bound)) polish(kernel, to_root);
          if (is_closed(bound)) return settled();
        }
        if (!drop(kernel, least)) return split(kernel, ascent, least, prices, to_root, bound);
        const auto rest = narrowed->build();
        if (!rest) return settled();
        const bool enough = static_cast<double>(rest->problem.compact().total_labels()) <
                            (1 - options.worthwhile) * static_cast<double>(kernel.total_labels());
        to_root = [rest = *rest, to_root](std::span<const strategy> labels) { return to_root(rest.lift(labels)); };
        if (!enough) {
          price_ascent<Cost> again(rest->problem.compact(), trws{});
          again.start(look_up(rest->problem.compact(), prices));
          climb(again, rest->problem.compact(), options.decode_every, to_root);
          return split(rest->problem.compact(), again, again.label_bounds(), prices, to_root, bound);
        }
        reduced.emplace(rest->problem.compact(), reduction_limits{}, limit_only());
        if (limit.expired()) {
          cut_short = true;
          return bound;
        }
      }
    }

    /// Raises the bound and tries to make assignments of what the prices favour.
    void climb(price_ascent<Cost>& ascent, const compact_problem<Cost>& p, std::size_t most, const lift_to_root& lift) {
      std::vector<strategy> labels(p.size());
      for (std::size_t i = 0; i < most; ++i) {
        const bool more = ascent.step(has_best ? static_cast<double>(best_cost) : infinity);
        ++steps;
        if (i % options.decode_every == 0 || !more || i + 1 == most) {
          ascent.decode(labels);
          if (detail::repair(p, std::span<strategy>(labels), 2 * p.size() + 10, limit)) {
            if (offer(p.cost(labels), lift(labels))) best_of_climb = labels;
          }
          report(ascent.bound());
        }
        if (!more || is_closed(ascent.bound()) || limit.expired()) return;
      }
    }

    /// Supposes that the relaxation is nearly tight: then an optimum has only labels whose bounds are near the best
    /// one. They are searched alone, which also decides ties that decoding does not. \returns a bound on all labelings
    /// that beat the best assignment known at the end
    double guess(const compact_problem<Cost>& p, const std::vector<double>& least, const price_list& prices,
                 const lift_to_root& lift, double bound) {
      for (const double share : {1e-6, 1e-4, 1e-2}) {
        const double supposed = bound + share * std::max(std::abs(bound), 1.0);
        if (is_closed(supposed) || limit.expired()) break;
        restriction<Cost> part(p);
        std::size_t left = 0;
        for (std::size_t x = 0; x < p.size(); ++x)
          for (strategy l = 0; l < p.label_count(x); ++l)
            if (least[p.label_start(x) + l] <= supposed) {
              ++left;
            } else {
              part.forbid(x, l);
            }
        if (2 * left > p.total_labels()) break;
        const auto rest = part.build();
        double of_part = infinity;
        if (rest) {
          const std::size_t usual = std::exchange(most_nodes, std::min(most_nodes, explored + options.guess_nodes));
          of_part = explore(rest->problem.compact(), prices,
                            [&](std::span<const strategy> labels) { return lift(rest->lift(labels)); });
          most_nodes = usual;
          if (std::exchange(cut_short, false)) break;
        }
        // labelings with another label cost more than was supposed
        bound = std::max(bound, std::min(supposed, of_part));
        if (is_closed(bound)) break;
      }
      return bound;
    }

    /// Local search from the best assignment of the ascent, or from its own start.
    void polish(const compact_problem<Cost>& p, const lift_to_root& lift) {
      const placement_problem<Cost> problem(p);
      solve_control effort = limit.rest();
      effort.iterations = options.polish_moves * p.size();
      effort.progress = {};
      const bool known = best_of_climb.size() == p.size();
      const solution<Cost> found =
          known ? options.improve.improve(problem, best_of_climb, effort) : options.improve.solve(problem, effort);
      if (found.has_assignment()) offer(found.objective, lift(found.choice));
    }

    /// Notes the labels that no better assignment has. \returns whether there are any
    bool drop(const compact_problem<Cost>& p, const std::vector<double>& least) {
      narrowed.emplace(p);
      std::size_t count = 0;
      for (std::size_t x = 0; x < p.size(); ++x)
        for (strategy l = 0; l < p.label_count(x); ++l)
          if (is_closed(least[p.label_start(x) + l])) {
            narrowed->forbid(x, l);
            ++count;
          }
      dropped += count;
      return count > 0;
    }

    /// Two halves, the one with the better label first.
    double split(const compact_problem<Cost>& p, const price_ascent<Cost>& ascent, const std::vector<double>& least,
                 const price_list& prices, const lift_to_root& lift, double bound) {
      const auto [x, halves] = halves_of(p, ascent.prices(), least);
      double weakest = infinity;
      for (const std::vector<strategy>& half : halves) {
        restriction<Cost> part(p);
        part.keep(x, half);
        const auto rest = part.build();
        if (!rest) continue;
        const double of_half =
            explore(rest->problem.compact(), prices,
                    [&rest, &lift](std::span<const strategy> labels) { return lift(rest->lift(labels)); });
        weakest = std::min(weakest, of_half);
      }
      return std::min(settled(), std::max(bound, weakest));
    }

    std::pair<std::size_t, std::array<std::vector<strategy>, 2>> halves_of(const compact_problem<Cost>& p,
                                                                           const std::vector<double>& prices,
                                                                           const std::vector<double>& least) const {
      std::vector<double> prefix(p.rows().size() + 1);
      for (std::size_t r = 0; r < prices.size(); ++r) prefix[r + 1] = prefix[r] + prices[r];
      const double floor = *std::min_element(least.begin(), least.end());
      const double near = has_best ? floor + 0.5 * (static_cast<double>(best_cost) - floor) : infinity;
      std::size_t chosen = p.size();
      double widest = -1;
      std::vector<double> measure;
      for (std::size_t x = 0; x < p.size(); ++x) {
        const std::size_t k = p.label_count(x);
        if (k < 2) continue;
        std::vector<double> priced(k);
        for (const usage_segment& s : p.segments(x))
          for (std::size_t l = 0; l < k; ++l) priced[l] += (prefix[s.end] - prefix[s.begin]) * s.usage[l];
        double low = infinity, high = -infinity;
        for (std::size_t l = 0; l < k; ++l)
          if (least[p.label_start(x) + l] <= near) {
            low = std::min(low, priced[l]);
            high = std::max(high, priced[l]);
          }
        // where usage does not tell labels apart, many of them do
        const double width =
            high > low ? high - low : 1e-9 * static_cast<double>(k) / static_cast<double>(p.total_labels());
        if (width > widest) {
          widest = width;
          chosen = x;
          if (!(high > low))
            for (std::size_t l = 0; l < k; ++l) priced[l] = least[p.label_start(x) + l];
          measure = std::move(priced);
        }
      }
      std::vector<strategy> order(p.label_count(chosen));
      std::iota(order.begin(), order.end(), strategy{0});
      std::stable_sort(order.begin(), order.end(), [&](strategy a, strategy b) { return measure[a] < measure[b]; });
      std::size_t cut = 1;
      double gap = -1;
      for (std::size_t i = 1; i < order.size(); ++i)
        if (const double here = measure[order[i]] - measure[order[i - 1]]; here > gap && std::isfinite(here)) {
          gap = here;
          cut = i;
        }
      std::array<std::vector<strategy>, 2> halves{
          std::vector<strategy>(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(cut)),
          std::vector<strategy>(order.begin() + static_cast<std::ptrdiff_t>(cut), order.end())};
      const auto best_of = [&](const std::vector<strategy>& half) {
        double value = infinity;
        for (const strategy l : half) value = std::min(value, least[p.label_start(chosen) + l]);
        return value;
      };
      if (best_of(halves[1]) < best_of(halves[0])) std::swap(halves[0], halves[1]);
      return {chosen, std::move(halves)};
    }

    static std::vector<double> look_up(const compact_problem<Cost>& p, const price_list& known) {
      std::vector<double> prices(p.rows().size());
      for (std::size_t r = 0; r < prices.size(); ++r)
        if (const auto at = known.find({p.rows()[r].budget, p.rows()[r].time}); at != known.end())
          prices[r] = at->second;
      return known.empty() ? std::vector<double>() : prices;
    }
    static void remember(const compact_problem<Cost>& p, const std::vector<double>& prices, price_list& known) {
      for (std::size_t r = 0; r < prices.size(); ++r) known[{p.rows()[r].budget, p.rows()[r].time}] = prices[r];
    }

    bool offer(Cost cost, std::vector<strategy> labels) {
      if (is_forbidden(cost) || (has_best && !(cost < best_cost))) return false;
      best = std::move(labels);
      best_cost = cost;
      has_best = true;
      found_at = limit.elapsed();
      return true;
    }
    /// Nothing above such a bound is better than what we have: whole numbers differ by one, others by more than half
    /// of what counts as equal.
    [[nodiscard]] bool is_closed(double bound) const {
      if (!has_best) return false;
      if constexpr (std::floating_point<Cost>) {
        return bound >= settled();
      } else {
        return proves(bound, best_cost);
      }
    }
    /// What is known of labelings that were closed.
    [[nodiscard]] double settled() const {
      if constexpr (std::floating_point<Cost>) {
        return upper() - (has_best ? 0.5 * optimality_tolerance * std::max(1.0, std::abs(upper())) : 0.0);
      } else {
        return upper();
      }
    }
    [[nodiscard]] double upper() const { return has_best ? static_cast<double>(best_cost) : infinity; }
    [[nodiscard]] solve_control limit_only() const { return {.seconds = limit.rest().seconds, .stop = control.stop}; }

    void report(double bound) const {
      if (control.progress)
        control.progress({.stage = name,
                          .seconds = limit.elapsed(),
                          .objective = upper(),
                          .lower_bound = explored == 1 ? bound : -infinity});
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();
    const branch_and_bound& options;
    const solve_control& control;
    deadline limit;
    std::vector<strategy> best = {};
    std::vector<strategy> best_of_climb = {};  ///< labels of the problem in which the last better assignment was found
    Cost best_cost{};
    bool has_best = false, cut_short = false;
    std::optional<restriction<Cost>> narrowed = {};
    std::size_t most_nodes, explored = 0, dropped = 0, steps = 0;
    double found_at = 0;
  };
};

}  // namespace v0
}  // namespace shardweave
