#pragma once

#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/detail/matrix_game.hpp>
#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/bound/row_prices.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Lagrangian bounds with savings: message passing, chain prices and prices on rows, raised together.

namespace shardweave::inline v0 {

/// Chain prices that were optimal for some labels (a minimum cut), and the savings per demand at these prices.
struct savings_cut {
  std::vector<double> price;  ///< as `chain_prices::values`
  std::vector<double> saved;  ///< per demand
};

/// Effort of a `savings_ascent`.
struct savings_ascent_options {
  std::size_t sweeps = 5;     ///< of message passing per step of the prices; fewer where many bounds are asked for
  std::size_t rounds = 300;   ///< of regret matching (CFR+) in the matrix game, per step; at least one
  std::size_t patience = 12;  ///< steps without progress after which it ends
};

/// Maximizes the Lagrangian bound over chain prices and row prices. Every bound is valid: at any prices the problem has
/// no savings, and a pass of message passing bounds it.
///
/// The best chain prices for one labeling are a minimum cut, with prices 0 or 1, and few cuts matter. So prices are
/// mixtures of cuts: of cuts that are optimal for labelings found, and for mixtures of these. A matrix game of
/// labelings against cuts, with the priced cost as payoff, determines both mixtures; message passing answers the
/// mixture of cuts with a labeling, a minimum cut answers the mixture of labelings, until neither is new (double
/// oracle). Row prices move by subgradients.
/// Source: H. McMahan, G. Gordon and A. Blum, Planning in the presence of cost functions controlled by an adversary
/// (ICML 2003).
template <cost_value Cost>
class savings_ascent {
 public:
  using cut_pointer = std::shared_ptr<const savings_cut>;

  /// \param cuts  warm start: good ones for a similar problem, whose best mixture is found first
  /// \pre `problem` and `terms` outlive this object
  savings_ascent(const compact_problem<Cost>& problem, const savings_terms<Cost>& terms,
                 const savings_ascent_options& options = {}, std::vector<cut_pointer> cuts = {})
      : p_(&problem),
        t_(&terms),
        options_(options),
        priced_(problem, terms),
        messages_(priced_.shape()),
        rows_(priced_.shape()),
        chain_(terms),
        labels_(problem.size()) {
    priced_.attach(messages_);
    for (const cut_pointer& cut : cuts) add_cut(cut);
    if (cuts_.empty())
      for (const double price : {1.0, 0.0}) add_cut(std::vector<double>(chain_.values().size(), price));
    game_.level();
  }

  /// Warm start of the prices on rows; one per row, or none.
  void start_rows(std::vector<double> prices) {
    if (prices.size() != rows_.values().size()) return;
    rows_.values() = std::move(prices);
    rows_.confine();
  }
  /// Warm start of the chain prices.
  void start(std::vector<double> prices) { next_ = std::move(prices); }

  /// One step of the prices. `target` is the incumbent's objective, or an estimate.
  /// \returns whether another step may still gain
  bool step(double target) {
    if (next_.empty()) mix();
    chain_.values() = next_;
    const double earned = reprice();
    double reached = -infinity;
    for (std::size_t i = 0; i < options_.sweeps; ++i) {
      messages_.forward();
      reached = messages_.backward() - earned;
    }
    if (reached > bound_ || best_chain_.empty()) {
      bound_ = std::max(bound_, reached);
      best_chain_ = chain_.values();
      best_rows_ = rows_.values();
      messages_.save(best_messages_);
    }
    if (bound_ > mark_ + least_gain * std::abs(bound_) || !std::isfinite(mark_)) {
      mark_ = bound_;
      stalled_ = 0;
    } else {
      ++stalled_;
    }
    messages_.decode(labels_);
    add_point();
    if (!p_->rows().empty()) move_rows(target);
    play();
    answer();
    mix();
    return stalled_ < options_.patience;
  }

  /// The best lower bound on costs less savings so far, the problem's constant included.
  [[nodiscard]] double bound() const { return bound_; }
  /// The labels of the last step, nearly the cheapest at its prices; they may break rows.
  [[nodiscard]] std::span<const strategy> labels() const { return labels_; }
  [[nodiscard]] const std::vector<double>& best_chain() const { return best_chain_; }
  [[nodiscard]] const std::vector<double>& best_rows() const { return best_rows_; }

  /// The cuts with the largest weights, in descending order, 24 at most: they start a similar problem, and half and
  /// twice as many serve as well.
  [[nodiscard]] std::vector<cut_pointer> cuts() const {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t j = 0; j < cuts_.size(); ++j) order.emplace_back(-game_.weight()[j], j);
    std::sort(order.begin(), order.end());
    std::vector<cut_pointer> result;
    for (const auto& [weight, j] : order)
      if (result.size() < most_cuts) result.push_back(cuts_[j]);
    return result;
  }
  /// Per label of every variable: its share in the mixture of labelings at the bound.
  [[nodiscard]] std::vector<double> shares() const {
    std::vector<double> result(p_->total_labels());
    for (std::size_t k = 0; k < points_.size(); ++k)
      for (std::size_t x = 0; x < p_->size(); ++x)
        result[p_->label_start(x) + points_[k].labels[x]] += game_.share()[k];
    return result;
  }
  /// The labelings found so far, each with one label per variable.
  [[nodiscard]] std::size_t points() const { return points_.size(); }
  [[nodiscard]] strategy label(std::size_t k, std::size_t x) const { return points_[k].labels[x]; }
  /// The value of the game with a subset of the labelings: an estimate of the bound without the others. +infinity
  /// without labelings.
  [[nodiscard]] double value_of(const std::vector<char>& allowed) const {
    std::vector<std::size_t> rows;
    for (std::size_t k = 0; k < points_.size(); ++k)
      if (allowed[k] != 0) rows.push_back(k);
    if (rows.empty()) return infinity;
    return game_.value_of(rows, penalties(rows), options_.rounds / 2);
  }

  /// For every label of every variable, a valid lower bound on all labelings that use it, at the best prices.
  [[nodiscard]] std::vector<double> label_bounds() {
    if (!best_chain_.empty()) {
      chain_.values() = best_chain_;
      rows_.values() = best_rows_;
      messages_.restore(best_messages_);
    }
    const double earned = reprice();
    return messages_.label_bounds(earned, bound_);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double least_gain = 1e-5;  ///< relative rise of the bound that counts as progress
  /// Weight of the best prices in the next ones: without it, and with twice as much, proofs take a tenth longer, and
  /// some that come from gradients do not end.
  static constexpr double caution = 0.3;
  static constexpr std::size_t most_cuts = 24;

  /// A labeling as a row of the game.
  struct point {
    std::vector<strategy> labels;
    double cost = 0;
    std::vector<double> usage;
    std::vector<double> offered, wanted;
  };

  double reprice() {
    chain_.update();
    rows_.add_to(messages_.unary());
    const double saved = priced_.reprice(chain_, messages_.unary());
    if (most_ < 0) most_ = static_cast<double>(t_->most());
    return rows_.earned() + saved + 1e-12 * (std::abs(saved) + most_);  // against rounding
  }

  [[nodiscard]] static double payoff(const point& x, const savings_cut& cut) {
    double value = x.cost;
    for (std::size_t i = 0; i < cut.price.size(); ++i) value -= cut.price[i] * x.offered[i % x.offered.size()];
    for (std::size_t d = 0; d < cut.saved.size(); ++d) value -= cut.saved[d] * x.wanted[d];
    return value;
  }

  void add_cut(std::vector<double> price) {
    if (known_cuts_.contains(price)) return;
    chain_.values() = price;
    chain_.update();
    add_cut(std::make_shared<const savings_cut>(savings_cut{std::move(price), chain_.saved()}));
  }
  void add_cut(cut_pointer cut) {
    if (!known_cuts_.insert(cut->price).second) return;
    game_.add_column([&](std::size_t k) { return payoff(points_[k], *cut); });
    cuts_.push_back(std::move(cut));
  }

  void add_point() {
    const Cost cost = p_->cost(labels_);
    if (is_forbidden(cost) || !known_points_.insert(labels_).second) return;
    t_->measure(labels_, offered_, wanted_);
    points_.push_back({labels_,
                       static_cast<double>(cost),
                       p_->rows().empty() ? std::vector<double>{} : p_->usage(labels_),
                       {offered_.begin(), offered_.end()},
                       {wanted_.begin(), wanted_.end()}});
    const point& x = points_.back();
    std::vector<double> payoffs;
    for (const cut_pointer& cut : cuts_) payoffs.push_back(payoff(x, *cut));
    game_.add_row(std::move(payoffs));
    add_cut(detail::cut_prices(*t_, x.offered, x.wanted));
  }

  void answer() {
    if (points_.empty()) return;
    std::vector<double> offered(t_->slots()), wanted(t_->demands.size());
    for (std::size_t k = 0; k < points_.size(); ++k) {
      if (game_.share()[k] < 1e-3) continue;
      for (std::size_t q = 0; q < offered.size(); ++q) offered[q] += game_.share()[k] * points_[k].offered[q];
      for (std::size_t d = 0; d < wanted.size(); ++d) wanted[d] += game_.share()[k] * points_[k].wanted[d];
    }
    add_cut(detail::cut_prices(*t_, offered, wanted));
  }

  void play() {
    if (points_.empty()) return game_.level();
    std::vector<std::size_t> all(points_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    game_.play(penalties(all), options_.rounds);
  }

  /// The term of the row prices in each labeling's cost.
  [[nodiscard]] std::vector<double> penalties(const std::vector<std::size_t>& rows) const {
    std::vector<double> result(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t r = 0; r < points_[rows[i]].usage.size(); ++r) {
        const double price = rows_.values()[r];
        if (price != 0)
          result[i] += price * (points_[rows[i]].usage[r] - (price > 0 ? p_->rows()[r].high : p_->rows()[r].low));
      }
    return result;
  }

  /// Sets the next prices to the mixture of cuts, damped by the best prices.
  void mix() {
    next_.assign(chain_.values().size(), 0.0);
    for (std::size_t j = 0; j < cuts_.size(); ++j)
      if (const double weight = game_.weight()[j]; weight > 0)
        for (std::size_t i = 0; i < next_.size(); ++i) next_[i] += weight * cuts_[j]->price[i];
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (!best_chain_.empty()) next_[i] = (1 - caution) * next_[i] + caution * best_chain_[i];
      next_[i] = std::clamp(next_[i], 0.0, 1.0);
    }
  }

  void move_rows(double target) {
    const std::vector<double> slope = rows_.slope(labels_);
    if (stalled_ > 0 && stalled_ % 4 == 0) {
      rows_.shorten_step();
      rows_.values() = best_rows_;
    }
    const double aim = std::isfinite(target) ? target : bound_ + 0.1 * std::max(std::abs(bound_), 1.0);
    rows_.approach(aim, bound_, slope, 0.5);
  }

  const compact_problem<Cost>* p_;
  const savings_terms<Cost>* t_;
  savings_ascent_options options_;
  priced_problem<Cost> priced_;
  dual_ascent<double> messages_;
  row_prices<double> rows_;
  chain_prices<Cost> chain_;
  std::vector<strategy> labels_;
  std::vector<cut_pointer> cuts_;
  std::vector<point> points_;
  std::set<std::vector<double>> known_cuts_;
  std::set<std::vector<strategy>> known_points_;
  detail::matrix_game game_;  ///< rows: points; columns: cuts
  std::vector<double> next_, best_chain_, best_rows_, best_messages_;
  std::vector<Cost> offered_, wanted_;
  double most_ = -1;
  double bound_ = -infinity, mark_ = -infinity;
  std::size_t stalled_ = 0;
};

#ifdef SHARDWEAVE_COMPILED
extern template class savings_ascent<double>;
extern template class savings_ascent<std::int64_t>;
#endif

}  // namespace shardweave::inline v0
