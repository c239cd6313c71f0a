#pragma once

#include <shardweave/solve/detail/repair.hpp>
#include <shardweave/solve/dual_ascent.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Prices on budgets.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// One price per row and what follows from it. A price is positive where more usage than the upper limit is
/// to be discouraged, negative where less than the lower limit is; it is zero where there is no such limit.
template <cost_value Cost>
class row_prices {
 public:
  explicit row_prices(const compact_problem<Cost>& problem) : p_(&problem), price_(problem.rows().size()) {}

  std::vector<double>& values() { return price_; }

  /// Unary costs with usage priced, for all labels of all variables.
  void add_to(std::span<double> unary) const {
    std::vector<double> prefix(price_.size() + 1);
    for (std::size_t r = 0; r < price_.size(); ++r) prefix[r + 1] = prefix[r] + price_[r];
    std::size_t at = 0;
    for (std::size_t x = 0; x < p_->size(); ++x) {
      const auto costs = p_->unary(x);
      for (std::size_t l = 0; l < costs.size(); ++l) unary[at + l] = static_cast<double>(costs[l]);
      for (const usage_segment& s : p_->segments(x)) {
        const double per_unit = prefix[s.end] - prefix[s.begin];
        if (per_unit != 0)
          for (std::size_t l = 0; l < costs.size(); ++l) unary[at + l] += per_unit * s.usage[l];
      }
      at += costs.size();
    }
  }

  /// What the prices would earn if every row were used up to its limit, and a margin for rounding.
  [[nodiscard]] double earned() const {
    double total = 0, magnitude = 0;
    for (std::size_t r = 0; r < price_.size(); ++r) {
      if (price_[r] == 0) continue;
      const double amount = price_[r] * (price_[r] > 0 ? p_->rows()[r].high : p_->rows()[r].low);
      total += amount;
      magnitude += std::abs(amount);
    }
    return total + 1e-12 * magnitude;
  }

  /// Moves prices along a direction, and back to where a limit exists.
  void move(std::span<const double> direction, double step) {
    for (std::size_t r = 0; r < price_.size(); ++r) {
      price_[r] += step * direction[r];
      if (p_->rows()[r].high == std::numeric_limits<double>::infinity()) price_[r] = std::min(price_[r], 0.0);
      if (p_->rows()[r].low == -std::numeric_limits<double>::infinity()) price_[r] = std::max(price_[r], 0.0);
    }
  }

  /// By how much a labeling is beyond the limit that each price stands for.
  [[nodiscard]] std::vector<double> slope(std::span<const strategy> labels) const {
    std::vector<double> g = p_->usage(labels);
    for (std::size_t r = 0; r < g.size(); ++r) {
      const usage_row& row = p_->rows()[r];
      if (g[r] > row.high || (price_[r] > 0 && row.high < std::numeric_limits<double>::infinity())) {
        g[r] -= row.high;
      } else if (g[r] < row.low || price_[r] < 0) {
        g[r] -= row.low;
      } else {
        g[r] = 0;
      }
    }
    return g;
  }

 private:
  const compact_problem<Cost>* p_;
  std::vector<double> price_;
};

}  // namespace detail

/// A solver that can lend its message passing to a combinator.
template <class S, class Cost>
concept ascending_solver = solver<S, Cost> && requires(const S& s, const compact_problem<Cost>& p) {
  { s.ascent(p) } -> std::same_as<dual_ascent<Cost>>;
};

/// Relaxes rows at a price and raises bound and prices together: one sweep of `S`'s message passing per step
/// of the prices, which stay warm, since the bound of a pass is valid for any messages and any prices.
/// Assignments are decoded at the current prices and repaired until they keep all rows.
///
/// Without rows it is `S`. The bound comes close to that of the linear relaxation with budgets; a gap that is
/// left is one of relaxation, not of effort, when `steps` does not end the work.
/// Source: B. Polyak, Minimization of unsmooth functionals, 1969; facts on message passing under `trws`.
template <class S = trws>
class budgeted {
 public:
  static constexpr std::string_view name = "budgeted";
  static constexpr solver_abilities abilities{.budgets = true};

  S inner;
  std::size_t steps = 3000;
  std::size_t warm_up = 30;         ///< sweeps before the prices move
  std::size_t decode_every = 20;    ///< steps between two attempts at an assignment
  std::size_t repair_changes = 2000;

  budgeted() = default;
  explicit budgeted(S inner_solver) : inner(std::move(inner_solver)) {}

  template <cost_value Cost>
    requires ascending_solver<S, Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    if (problem.compact().rows().empty()) return inner.solve(problem, control);
    climb<Cost> c(*this, problem.compact(), control);
    const bool stopped = c.run();
    solve_statistics statistics{.solver = std::string(name), .seconds = c.limit.elapsed()};
    statistics.seconds_to_best = c.found_at;
    statistics.iterations = c.step;
    statistics.counters = {{"priced rows", static_cast<double>(std::count_if(
                               c.best_prices.begin(), c.best_prices.end(), [](double v) { return v != 0; }))}};
    if (stopped) statistics.note = "stopped after " + std::to_string(c.step) + " steps of the prices. ";
    return conclude(problem, std::span<const strategy>(c.best), c.bound, stopped, std::move(statistics));
  }

 private:
  template <cost_value Cost>
  struct climb {
    climb(const budgeted& settings, const compact_problem<Cost>& problem, const solve_control& how)
        : options(settings), p(problem), control(how), limit(how), ascent(settings.inner.ascent(problem)), prices(problem) {}

    bool run() {
      for (std::size_t i = 0; i < options.warm_up; ++i) {
        if (limit.expired()) return true;
        ascent.forward();
        bound = std::max(bound, ascent.backward());
      }
      const std::size_t patience = p.size() < 1500 ? 60 : 20;
      std::vector<double> direction(p.rows().size()), best_messages = ascent.messages();
      best_prices = prices.values();
      std::vector<strategy> labels(p.size());
      double scale = 1;
      std::size_t fails = 0;
      const std::size_t most = std::min(options.steps, control.iterations);
      for (step = 0; step < most && scale > 1e-6; ++step) {
        if (limit.expired()) return true;
        prices.add_to(ascent.unary());
        ascent.forward();
        const double reached = ascent.backward() - prices.earned();
        if (reached > bound + 1e-6 * std::abs(bound)) {
          fails = 0;
        } else if (++fails >= patience) {
          scale *= 0.7;
          fails = 0;
          std::fill(direction.begin(), direction.end(), 0.0);
          prices.values() = best_prices;
          ascent.restore(best_messages);
        }
        if (reached > bound) {
          bound = reached;
          best_prices = prices.values();
          best_messages = ascent.messages();
        }
        if (step % options.decode_every == 0 && attempt(labels)) return false;
        report();
        if (fails == 0 && scale < 1 && prices.values() == best_prices && reached < bound) continue;  // just restored
        ascent.choose(labels);
        move(prices.slope(labels), direction, scale);
      }
      attempt(labels);
      return step == most && most < options.steps;
    }

    /// \returns whether the best assignment is proven
    bool attempt(std::vector<strategy>& labels) {
      ascent.decode(labels);
      if (detail::repair(p, std::span<strategy>(labels), options.repair_changes, limit)) {
        const Cost cost = p.cost(labels);
        if (cost < best_cost) {
          best = labels;
          best_cost = cost;
          found_at = limit.elapsed();
        }
      }
      return !is_forbidden(best_cost) && proves(bound, best_cost);
    }

    void move(const std::vector<double>& slope, std::vector<double>& direction, double scale) {
      double length = 0;
      for (std::size_t r = 0; r < slope.size(); ++r) {
        direction[r] = 0.7 * direction[r] + 0.3 * slope[r];
        const bool held = prices.values()[r] == 0 && ((direction[r] < 0 && p.rows()[r].low == -infinity) ||
                                                      (direction[r] > 0 && p.rows()[r].high == infinity));
        if (!held) length += direction[r] * direction[r];
      }
      if (length == 0) return;
      const double target = is_forbidden(best_cost) ? bound + 0.5 * std::max(std::abs(bound), 1.0)
                                                    : std::min(static_cast<double>(best_cost), bound + 0.15 * std::abs(bound) + 1);
      prices.move(direction, scale * std::max(target - bound, 1e-4 * std::abs(target)) / length);
    }

    void report() const {
      if (control.progress)
        control.progress({.stage = name,
                          .seconds = limit.elapsed(),
                          .objective = is_forbidden(best_cost) ? infinity : static_cast<double>(best_cost),
                          .lower_bound = bound,
                          .done = static_cast<double>(step) / static_cast<double>(options.steps)});
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();
    const budgeted& options;
    const compact_problem<Cost>& p;
    const solve_control& control;
    deadline limit;
    dual_ascent<Cost> ascent;
    detail::row_prices<Cost> prices;
    std::vector<double> best_prices = {};
    double bound = -infinity;
    std::vector<strategy> best = {};
    Cost best_cost = forbidden<Cost>;
    std::size_t step = 0;
    double found_at = 0;
  };
};

template <class S>
budgeted(S) -> budgeted<S>;

}  // namespace v0
}  // namespace shardweave
