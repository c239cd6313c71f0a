#pragma once

#include <shardweave/solve/dual_ascent.hpp>
#include <shardweave/solve/row_prices.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A bound that sees budgets: message passing and prices on rows, raised together.

namespace shardweave {
inline namespace v0 {

/// How hard to try.
struct price_ascent_options {
  std::size_t warm_up = 30;  ///< sweeps before the prices move
  double least_gain = 1e-6;  ///< relative rise of the bound that counts as progress
  double step_decay = 0.7;   ///< of the step length, after a while without progress
  double least_step = 1e-6;  ///< the ascent has converged when the step is shorter
};

/// Maximises the Lagrangian bound over row prices, one sweep of message passing per step of the prices. Messages and
/// prices stay warm; every bound is valid, since a pass is a bound for any messages and any prices. Without rows it is
/// message passing alone.
///
/// Source: B. Polyak, Minimization of unsmooth functionals, USSR Comp. Math. 9 (1969), for the steps; momentum on the
/// direction; prices and messages fall back to the best known when nothing is gained.
template <cost_value Cost>
class price_ascent {
 public:
  /// \param lender  whose message passing is used: a solver with a member `ascent`
  /// \pre `problem` outlives this object
  template <class S>
  price_ascent(const compact_problem<Cost>& problem, const S& lender, const price_ascent_options& options = {})
      : p_(&problem),
        options_(options),
        messages_(lender.ascent(problem)),
        prices_(problem),
        direction_(problem.rows().size()),
        labels_(problem.size()),
        patience_(problem.size() < 1500 ? 60 : 20) {}

  /// Starts from prices that were good for a similar problem: one per row, or none at all.
  void start(std::vector<double> prices) {
    if (prices.empty()) return;
    prices_.values() = std::move(prices);
    prices_.confine();
    best_prices_ = prices_.values();
    warmed_ = options_.warm_up;  // prices that are known need no ascent without them
  }

  /// One sweep, and one step of the prices towards `target`, the cost of the best assignment known (or what one might
  /// cost).
  /// \returns whether another step may still gain
  bool step(double target) {
    if (warmed_ < options_.warm_up) {
      ++warmed_;
      messages_.forward();
      raise(messages_.backward());
      if (warmed_ == options_.warm_up) keep_best();
      return !p_->rows().empty() || messages_.last_change() > 0;
    }
    if (p_->rows().empty()) {
      const double before = bound_;
      messages_.forward();
      raise(messages_.backward());
      stalled_ = bound_ > before + 1e-9 * std::abs(bound_) ? 0 : stalled_ + 1;
      return messages_.last_change() > 0 && stalled_ < patience_;
    }
    prices_.add_to(messages_.unary());
    messages_.forward();
    const double reached = messages_.backward() - prices_.earned();
    if (reached > bound_ + options_.least_gain * std::abs(bound_)) {
      stalled_ = 0;
    } else if (++stalled_ >= patience_) {
      stalled_ = 0;
      step_ *= options_.step_decay;
      fall_back();
      return step_ > options_.least_step;
    }
    if (raise(reached)) keep_best();
    messages_.choose(labels_);
    move(prices_.slope(labels_), std::isfinite(target) ? std::min(target, bound_ + 0.15 * std::abs(bound_) + 1)
                                                       : bound_ + 0.5 * std::max(std::abs(bound_), 1.0));
    return step_ > options_.least_step;
  }

  /// The best bound so far, the problem's constant included.
  [[nodiscard]] double bound() const { return bound_; }
  /// The prices that gave it.
  [[nodiscard]] const std::vector<double>& prices() const { return best_prices_; }
  /// Labels by the present messages and prices; rows may be broken.
  void decode(std::span<strategy> labels) { messages_.decode(labels); }

  /// For every label of every variable, a valid lower bound on all labelings that use it, at the best prices: the
  /// bound of one pass plus what the label costs more than the best one of its variable when the next pass comes by.
  /// That difference counts in full only if both directions of messages belong to the unary costs in force, so two
  /// passes go before.
  [[nodiscard]] std::vector<double> label_bounds() {
    if (!best_prices_.empty()) fall_back();
    prices_.add_to(messages_.unary());
    const double earned = prices_.earned();
    messages_.forward();
    double reached = messages_.backward() - earned;
    std::vector<double> excess(p_->total_labels()), result(p_->total_labels(), reached);
    for (const bool ascending : {true, false}) {
      const double next = (ascending ? messages_.forward(excess) : messages_.backward(excess)) - earned;
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], reached + excess[i]);
      raise(reached);
      reached = next;
    }
    raise(reached);
    return result;
  }

 private:
  bool raise(double reached) {
    if (!(reached > bound_)) return false;
    bound_ = reached;
    return true;
  }
  void keep_best() {
    best_prices_ = prices_.values();
    best_messages_ = messages_.messages();
  }
  void fall_back() {
    std::fill(direction_.begin(), direction_.end(), 0.0);
    if (!best_prices_.empty()) prices_.values() = best_prices_;
    if (!best_messages_.empty()) messages_.restore(best_messages_);
  }
  void move(const std::vector<double>& slope, double target) {
    double length = 0;
    for (std::size_t r = 0; r < slope.size(); ++r) {
      direction_[r] = 0.7 * direction_[r] + 0.3 * slope[r];
      if (!prices_.is_held(r, direction_[r])) length += direction_[r] * direction_[r];
    }
    if (length > 0) prices_.move(direction_, step_ * std::max(target - bound_, 1e-4 * std::abs(target)) / length);
  }

  const compact_problem<Cost>* p_;
  price_ascent_options options_;
  dual_ascent<Cost> messages_;
  row_prices<Cost> prices_;
  std::vector<double> direction_;
  std::vector<strategy> labels_;
  std::vector<double> best_prices_ = {};
  std::vector<double> best_messages_ = {};
  double bound_ = -std::numeric_limits<double>::infinity();
  double step_ = 1;
  std::size_t patience_;
  std::size_t stalled_ = 0;
  std::size_t warmed_ = 0;
};

}  // namespace v0
}  // namespace shardweave
