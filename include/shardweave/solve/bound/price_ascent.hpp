#pragma once

#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/bound/row_prices.hpp>

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
  std::size_t warm_up = 30;      ///< sweeps before the prices move
  double least_gain = 1e-6;      ///< relative rise of the bound that counts as progress
  double step_decay = 0.7;       ///< of the step length, after a while without progress
  double newest = 0.3;           ///< weight of the newest slope in the direction, the rest is the direction before
  std::size_t many_rows = 50;    ///< from so many on the weight begins at half of that
  double newest_decay = 0.8;     ///< and falls by this factor after a while without progress
  double least_newest = 0.03;    ///< but no lower
  double least_step = 1e-6;      ///< the ascent has converged when the step is shorter
  double later_step = 0.1;       ///< length of steps after `strengthen`
  std::size_t row_cells = 1024;  ///< of a row that takes part as a knapsack (see `strengthen`)
};

/// Maximises the Lagrangian bound over row prices, one sweep of message passing per step of the prices. Messages and
/// prices stay warm; every bound is valid, since a pass is a bound for any messages and any prices. Without rows it is
/// message passing alone.
///
/// Source: B. Polyak, Minimization of unsmooth functionals, USSR Comp. Math. 9 (1969), for the steps. F. Barahona and
/// R. Anbil, The volume algorithm, Math. Programming 87 (2000), for the direction, a mean over what many labelings use:
/// many rows that overlap in time pull back and forth, and a short memory follows them. Prices and messages fall back
/// to the best known when nothing is gained; then the memory grows longer.
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
        newest_(has_many_rows() ? options.newest / 2 : options.newest),
        patience_(problem.size() < 1500 ? std::min<std::size_t>(60, 15 + problem.size()) : 20) {}

  /// Starts from prices that were good for a similar problem: one per row, or none at all.
  void start(std::vector<double> prices) {
    if (prices.empty()) return;
    prices_.values() = std::move(prices);
    prices_.confine();
    best_prices_ = prices_.values();
    warmed_ = options_.warm_up;  // prices that are known need no ascent without them
  }

  /// Starts where an ascent on a similar problem ended.
  /// \param most_work  of rows that took part as knapsacks there, see `strengthen`
  void start(const detail::ascent_memory& known, const detail::variable_origin& origin, std::size_t most_work) {
    if (known.messages.empty() && known.prices.empty()) return;
    for (std::size_t r = 0; r < prices_.values().size(); ++r)
      if (const auto at = known.prices.find({p_->rows()[r].budget, p_->rows()[r].time}); at != known.prices.end())
        prices_.values()[r] = at->second;
    prices_.confine();
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      const compact_edge& edge = p_->edges()[e];
      for (const bool to_second : {false, true}) {
        const std::uint32_t from = to_second ? edge.first : edge.second, to = to_second ? edge.second : edge.first;
        const auto at = known.messages.find({origin[from].first, origin[to].first});
        if (at == known.messages.end()) continue;
        for (strategy l = 0; l < p_->label_count(to); ++l)
          if (const auto m = at->second.find(origin[to].second[l]); m != at->second.end())
            messages_.set_message(e, to_second, l, m->second);
      }
    }
    taken_over_.resize(prices_.values().size());
    for (std::uint32_t r = 0; r < prices_.values().size(); ++r) {
      const auto at = known.row_costs.find({p_->rows()[r].budget, p_->rows()[r].time});
      if (at == known.row_costs.end() || !take_over(r, prices_.values()[r], most_work)) continue;
      prices_.values()[r] = 0;
      auto& row = messages_.knapsacks().back();
      for (std::size_t i = 0; i < row.members().size(); ++i) {
        const auto& member = row.members()[i];
        const auto& [variable, labels] = origin[member.variable];
        const auto costs = at->second.find(variable);
        if (costs == at->second.end()) continue;
        for (std::size_t l = 0; l < labels.size(); ++l)
          if (const auto c = costs->second.find(labels[l]); c != costs->second.end())
            row.set_cost(i, member.class_of[l], c->second);
      }
    }
    keep_best();
    warmed_ = options_.warm_up;
  }

  /// What `start` takes, in the words of a problem before reductions.
  [[nodiscard]] detail::ascent_memory memory(const detail::variable_origin& origin) {
    detail::ascent_memory known;
    const std::vector<double> all = prices();
    for (std::size_t r = 0; r < all.size(); ++r)
      if (all[r] != 0) known.prices[{p_->rows()[r].budget, p_->rows()[r].time}] = all[r];
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      const compact_edge& edge = p_->edges()[e];
      for (const bool to_second : {false, true}) {
        const std::uint32_t from = to_second ? edge.first : edge.second, to = to_second ? edge.second : edge.first;
        auto& of = known.messages[{origin[from].first, origin[to].first}];
        of.reserve(p_->label_count(to));
        for (strategy l = 0; l < p_->label_count(to); ++l)
          of.insert_or_assign(of.end(), origin[to].second[l], messages_.message(e, to_second, l));
      }
    }
    for (const auto& row : messages_.knapsacks()) {
      auto& of_row = known.row_costs[{p_->rows()[row.row()].budget, p_->rows()[row.row()].time}];
      for (const auto& member : row.members()) {
        const auto& [variable, labels] = origin[member.variable];
        for (std::size_t l = 0; l < labels.size(); ++l) of_row[variable][labels[l]] = member.cost[member.class_of[l]];
      }
    }
    return known;
  }

  /// Where it is best, to be gone on from later.
  [[nodiscard]] detail::ascent_position position() const {
    const std::vector<double> messages = best_prices_.empty() ? messages_.messages() : best_messages_;
    return {best_prices_, {messages.begin(), messages.end()}, step_, newest_};
  }
  /// Goes on from a position on this problem, with some labels dearer than they are: then what it bounds is all
  /// labelings without them. `bound` begins anew.
  /// \param avoided  positions among all labels
  void go_to(const detail::ascent_position& at, std::vector<std::size_t> avoided, double dearer) {
    best_prices_ = at.prices;
    best_messages_.assign(at.messages.begin(), at.messages.end());
    step_ = at.step;
    newest_ = at.newest;
    avoided_ = std::move(avoided);
    dearer_ = dearer;
    bound_ = -std::numeric_limits<double>::infinity();
    stalled_ = 0;
    warmed_ = options_.warm_up;
    fall_back();
    load_unary();
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
    load_unary();
    messages_.forward();
    const double reached = messages_.backward() - prices_.earned();
    if (reached > bound_ + options_.least_gain * std::abs(bound_)) {
      stalled_ = 0;
    } else if (++stalled_ >= patience_) {
      stalled_ = 0;
      step_ *= options_.step_decay;
      if (has_many_rows()) newest_ = std::max(options_.least_newest, newest_ * options_.newest_decay);
      fall_back();
      return step_ > options_.least_step;
    }
    if (raise(reached)) keep_best();
    messages_.choose(labels_);
    move(prices_.slope(labels_), std::isfinite(target) ? std::min(target, bound_ + 0.15 * std::abs(bound_) + 1)
                                                       : bound_ + 0.5 * std::max(std::abs(bound_), 1.0));
    return step_ > options_.least_step;
  }

  /// Lets rows take part as knapsacks of their own in place of prices, those first whose prices earn most: what the
  /// prices cannot see, that usage comes in lumps, counts from now on: the bound is that of the row's integer hull, up
  /// to rounding of usage to cells. Call it when steps gain nothing more; then they may gain again.
  /// Source: M. Guignard and S. Kim, Lagrangean decomposition, Math. Programming 39 (1987), for a problem and a
  /// constraint that are solved apart and share their variables' costs.
  /// \param most_work  cells, times usage classes, times variables, of all rows together
  /// \returns whether there is a new one
  bool strengthen(std::size_t most_work) {
    if (best_prices_.empty()) return false;
    fall_back();
    std::vector<std::pair<double, std::uint32_t>> order;
    for (std::uint32_t r = 0; r < best_prices_.size(); ++r)
      if (best_prices_[r] > 0 && p_->rows()[r].low == -std::numeric_limits<double>::infinity())
        order.emplace_back(-best_prices_[r] * p_->rows()[r].high, r);
    std::sort(order.begin(), order.end());
    taken_over_.resize(best_prices_.size());
    bool any = false;
    for (const auto& [earns, r] : order) {
      if (-earns < 1e-3 * std::abs(bound_)) break;
      if (!take_over(r, best_prices_[r], most_work)) continue;
      best_prices_[r] = 0;
      any = true;
    }
    if (!any) return false;
    prices_.values() = best_prices_;
    messages_.save(best_messages_);
    stalled_ = 0;
    step_ = options_.later_step;
    return true;
  }

  /// The best bound so far, the problem's constant included.
  [[nodiscard]] double bound() const { return bound_; }
  /// The prices that gave it.
  [[nodiscard]] std::vector<double> prices() const {
    std::vector<double> all = best_prices_;
    for (std::size_t r = 0; r < taken_over_.size(); ++r) all[r] += taken_over_[r];
    return all;
  }
  /// The message passing after a pass forward at the best prices, which are in its unary costs.
  [[nodiscard]] const dual_ascent<Cost>& at_best() {
    if (!best_prices_.empty()) fall_back();
    load_unary();
    messages_.forward();
    return messages_;
  }
  /// Labels by the present messages and prices; rows may be broken.
  void decode(std::span<strategy> labels) { messages_.decode(labels); }

  /// For every label of every variable, a valid lower bound on all labelings that use it, at the best prices: the
  /// bound of one pass plus what the label costs more than the best one of its variable when the next pass comes by.
  /// That difference counts in full only if both directions of messages belong to the unary costs in force, so two
  /// passes go before.
  [[nodiscard]] std::vector<double> label_bounds() {
    if (!best_prices_.empty()) fall_back();
    load_unary();
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

  /// The label of least belief of every variable, each for itself.
  void choose(std::span<strategy> labels) { messages_.choose(labels); }

 private:
  void load_unary() {
    prices_.add_to(messages_.unary());
    for (const std::size_t label : avoided_) messages_.unary()[label] += dearer_;
  }
  [[nodiscard]] bool has_many_rows() const { return p_->rows().size() >= options_.many_rows; }
  bool raise(double reached) {
    if (!(reached > bound_)) return false;
    bound_ = reached;
    return true;
  }
  bool take_over(std::uint32_t r, double price, std::size_t most_work) {
    for (std::size_t cells = options_.row_cells; cells >= 256; cells /= 2) {
      const std::size_t work = messages_.work_of_row(r, cells);
      if (row_work_ + work > most_work) continue;
      row_work_ += work;
      messages_.add_row(r, price, cells);
      taken_over_[r] = price;
      is_taken_.resize(taken_over_.size());
      is_taken_[r] = 1;
      return true;
    }
    return false;
  }
  void keep_best() {
    best_prices_ = prices_.values();
    messages_.save(best_messages_);
  }
  void fall_back() {
    std::fill(direction_.begin(), direction_.end(), 0.0);
    if (!best_prices_.empty()) prices_.values() = best_prices_;
    if (!best_messages_.empty()) messages_.restore(best_messages_);
  }
  void move(const std::vector<double>& slope, double target) {
    double length = 0;
    for (std::size_t r = 0; r < slope.size(); ++r) {
      if (!is_taken_.empty() && is_taken_[r] != 0) continue;
      direction_[r] = (1 - newest_) * direction_[r] + newest_ * slope[r];  // which may be infinite
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
  std::vector<double> taken_over_ = {};  ///< prices of rows that take part as knapsacks
  std::vector<char> is_taken_ = {};
  std::vector<std::size_t> avoided_ = {};
  double dearer_ = 0;
  std::size_t row_work_ = 0;
  double bound_ = -std::numeric_limits<double>::infinity();
  double step_ = 1, newest_;
  std::size_t patience_;
  std::size_t stalled_ = 0;
  std::size_t warmed_ = 0;
};

}  // namespace v0
}  // namespace shardweave
