#pragma once

#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/detail/known_prices.hpp>
#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/row_prices.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Lagrangian bounds with budgets: message passing and prices on rows, raised together.

namespace shardweave::inline v0 {

/// What an ascent tells primal heuristics: prices of usage, and bounds per label; a label whose bound is far above that
/// of the problem is unlikely in a good assignment.
struct dual_guide {
  double bound = -std::numeric_limits<double>::infinity();  ///< valid for the problem, its constant included
  std::vector<double> prices = {};                          ///< per row
  std::vector<double> label_bounds = {};  ///< per label of all variables: a lower bound on labelings with it
};

/// Maximizes the Lagrangian bound over prices of rows by subgradient steps, with one sweep of message passing per step.
/// Messages and prices stay warm; every bound is valid, since a sweep gives one for any messages and prices. Without
/// rows this is message passing alone.
///
/// Source: B. Polyak, Minimization of unsmooth functionals, USSR Comp. Math. 9 (1969), for the step length. F. Barahona
/// and R. Anbil, The volume algorithm, Math. Programming 87 (2000), for the direction, an average of the subgradients
/// of many labelings: with many rows that overlap in time subgradients oscillate, and an average with a short memory
/// follows them; and for steps that get longer where one has raised the bound and more of it would. Without progress,
/// prices and messages return to the best known, steps get shorter, and the memory longer.
template <cost_value Cost>
class price_ascent {
 public:
  /// \pre `problem` outlives this object
  explicit price_ascent(const compact_problem<Cost>& problem)
      : p_(&problem),
        messages_(problem),
        prices_(problem),
        labels_(problem.size()),
        newest_(has_many_rows() ? newest / 2 : newest),
        patience_(problem.size() < 1500 ? std::min<std::size_t>(60, 15 + problem.size()) : 20) {}

  /// Warm start from prices of a similar problem: one per row, or none at all. Messages settle at them before they
  /// move, by shorter steps.
  void start(std::vector<double> prices) {
    if (prices.empty()) return;
    prices_.values() = std::move(prices);
    prices_.confine();
    best_prices_ = prices_.values();
    prices_.set_step(later_step);
    load_unary();
  }

  /// Warm start from the state of an ascent on a similar problem.
  /// \param most_work  limit on rows that become knapsack factors as they were there, see `strengthen`
  void start(const detail::ascent_memory& known, const detail::variable_origin& origin, std::size_t most_work) {
    if (known.messages.empty() && known.prices.empty()) return;
    prices_.values() = known.prices.for_rows_of(*p_);
    prices_.confine();
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      const compact_edge& edge = p_->edges()[e];
      for (const bool to_second : {false, true}) {
        const std::uint32_t from = to_second ? edge.first : edge.second, to = to_second ? edge.second : edge.first;
        known.messages.find(detail::ascent_memory::direction(origin[from].first, origin[to].first), origin[to].second,
                            [&](strategy l, double m) { messages_.set_message(e, to_second, l, m); });
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
        at->second.find(variable, labels, [&](strategy l, double c) { row.set_cost(i, member.class_of[l], c); });
      }
    }
    keep_best();
    warmed_ = warm_up;
  }

  /// The state for `start`, in terms of the original problem.
  [[nodiscard]] detail::ascent_memory memory(const detail::variable_origin& origin) {
    detail::ascent_memory known{.prices = detail::known_prices(*p_, prices())};
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      const compact_edge& edge = p_->edges()[e];
      for (const bool to_second : {false, true}) {
        const std::uint32_t from = to_second ? edge.first : edge.second, to = to_second ? edge.second : edge.first;
        known.messages.add(detail::ascent_memory::direction(origin[from].first, origin[to].first), origin[to].second,
                           [&](std::size_t l) { return messages_.message(e, to_second, static_cast<strategy>(l)); });
      }
    }
    known.messages.sort();
    for (const auto& row : messages_.knapsacks()) {
      auto& of_row = known.row_costs[{p_->rows()[row.row()].budget, p_->rows()[row.row()].time}];
      for (const auto& member : row.members()) {
        const auto& [variable, labels] = origin[member.variable];
        of_row.add(variable, labels, [&](std::size_t l) { return member.cost[member.class_of[l]]; });
      }
      of_row.sort();
    }
    return known;
  }

  /// The best state, to be continued by `go_to`.
  [[nodiscard]] detail::ascent_position position() const {
    const std::vector<double> messages = best_prices_.empty() ? messages_.messages() : best_messages_;
    return {best_prices_, {messages.begin(), messages.end()}, prices_.step(), newest_};
  }
  /// Continues from a state on this problem, with the cost of some labels raised by `dearer`: then the bound is valid
  /// for all labelings without these. `bound` starts anew.
  /// \param avoided  positions among all labels
  void go_to(const detail::ascent_position& at, std::vector<std::size_t> avoided, double dearer) {
    best_prices_ = at.prices;
    best_messages_.assign(at.messages.begin(), at.messages.end());
    prices_.set_step(at.step);
    newest_ = at.newest;
    avoided_ = std::move(avoided);
    dearer_ = dearer;
    bound_ = -std::numeric_limits<double>::infinity();
    stalled_ = 0;
    warmed_ = warm_up;
    fall_back();
    load_unary();
  }

  /// One sweep, and one step of the prices.
  /// \param target  the incumbent's cost, or an estimate, for Polyak's step length
  /// \returns whether another step may still gain
  /// Complexity: two passes of message passing, and O(rows + usage amounts)
  bool step(double target) {
    if (warmed_ < warm_up) {
      ++warmed_;
      messages_.forward();
      raise(messages_.backward() - prices_.earned());
      if (warmed_ == warm_up) keep_best();
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
    if (reached > bound_ + least_gain * std::abs(bound_)) {
      stalled_ = 0;
    } else if (++stalled_ >= patience_) {
      stalled_ = 0;
      prices_.shorten_step();
      if (has_many_rows()) newest_ = std::max(least_newest, newest_ * newest_decay);
      fall_back();
      return prices_.step() > least_step;
    }
    const bool rises = reached > bound_ + least_rise * std::abs(bound_);
    if (raise(reached)) keep_best();
    messages_.choose(labels_);
    std::vector<double> slope = prices_.slope(labels_);
    for (std::size_t r = 0; r < is_taken_.size(); ++r)
      if (is_taken_[r] != 0) slope[r] = 0;
    const bool is_aimed = std::isfinite(target);  // what is aimed at otherwise is a guess
    if (is_aimed && rises && prices_.goes_on_along(slope)) prices_.lengthen_step();
    const double aim = is_aimed ? std::min(target, bound_ + 0.15 * std::abs(bound_) + 1)
                                : bound_ + 0.5 * std::max(std::abs(bound_), 1.0);
    prices_.approach(aim, bound_, slope, newest_);
    return prices_.step() > least_step;
  }

  /// Makes rows knapsack factors instead of prices, those first whose prices earn most. The bound is then that of their
  /// integer hull, up to rounding of usage to cells, and no longer that of the linear relaxation. To be called when
  /// steps gain nothing more. If a row was converted, `bound` starts anew; by the rounding it may be lower at first.
  /// Source: M. Guignard and S. Kim, Lagrangean decomposition, Math. Programming 39 (1987), for a problem and a
  /// constraint that are solved apart and share their variables' costs.
  /// \param most_work  limit on cells times usage classes, over all variables and rows
  /// \param least      what a row's price must earn, times its limit, in the unit of costs
  /// \returns whether a row was converted
  bool strengthen(std::size_t most_work, double least) {
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
      if (-earns < least) break;
      if (!take_over(r, best_prices_[r], most_work)) continue;
      best_prices_[r] = 0;
      any = true;
    }
    if (!any) return false;
    prices_.values() = best_prices_;
    messages_.save(best_messages_);
    bound_ = -std::numeric_limits<double>::infinity();
    stalled_ = 0;
    prices_.set_step(later_step);
    return true;
  }
  /// The same, of rows that earn at least a thousandth of the bound. \pre a step was made since it started anew
  bool strengthen(std::size_t most_work) { return strengthen(most_work, 1e-3 * std::abs(bound_)); }

  /// The best bound so far, the problem's constant included; since the last `go_to`, or `strengthen` that converted
  /// rows.
  [[nodiscard]] double bound() const { return bound_; }
  /// The prices of the best bound.
  [[nodiscard]] std::vector<double> prices() const {
    std::vector<double> all = best_prices_;
    for (std::size_t r = 0; r < taken_over_.size(); ++r) all[r] += taken_over_[r];
    return all;
  }
  /// Labels decoded from the present messages and prices; they may break rows.
  void decode(std::span<strategy> labels) { messages_.decode(labels); }

  /// For every label of every variable, a valid lower bound on all labelings that use it, at the best prices.
  [[nodiscard]] std::vector<double> label_bounds() {
    if (!best_prices_.empty()) fall_back();
    load_unary();
    return messages_.label_bounds(prices_.earned(), bound_);
  }

  /// The best bound as multipliers of the local polytope, which can be checked independently (`dual_bound`); after
  /// `strengthen`, together with `amounts`.
  [[nodiscard]] dual_values multipliers() {
    if (!best_prices_.empty()) fall_back();
    load_unary();
    messages_.settle();
    return {messages_.multipliers(), prices_.values()};
  }
  /// What variables have put into rows that became knapsack factors; empty if there are none.
  /// \pre no step was made since `multipliers`
  [[nodiscard]] std::vector<row_amounts> amounts() const { return messages_.amounts(); }
  /// Complexity: four passes of message passing
  [[nodiscard]] dual_guide guide() {
    std::vector<double> of_labels = label_bounds();
    return {bound_, prices(), std::move(of_labels)};
  }

  /// The label of least belief of each variable, independently.
  void choose(std::span<strategy> labels) { messages_.choose(labels); }

 private:
  void load_unary() {
    prices_.add_to(messages_.unary());
    for (const std::size_t label : avoided_) messages_.unary()[label] += dearer_;
  }
  [[nodiscard]] bool has_many_rows() const { return p_->rows().size() >= many_rows; }
  bool raise(double reached) {
    if (!(reached > bound_)) return false;
    bound_ = reached;
    return true;
  }
  bool take_over(std::uint32_t r, double price, std::size_t most_work) {
    for (std::size_t cells = row_cells; cells >= 256; cells /= 2) {
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
    prices_.forget_direction();
    if (!best_prices_.empty()) prices_.values() = best_prices_;
    if (!best_messages_.empty()) messages_.restore(best_messages_);
  }

  static constexpr std::size_t warm_up = 30;    ///< sweeps before the prices move
  static constexpr double least_gain = 1e-6;    ///< relative rise of the bound that counts as progress
  static constexpr double least_rise = 1e-7;    ///< of the bound, relative, by which it must: smaller ones never end
  static constexpr double newest = 0.3;         ///< weight of the newest subgradient in the direction
  static constexpr std::size_t many_rows = 50;  ///< from so many rows on that weight starts at half of `newest`
  static constexpr double newest_decay = 0.8;   ///< and is multiplied by this after `patience_` steps without progress
  static constexpr double least_newest = 0.03;  ///< but not below this
  static constexpr double least_step = 1e-6;    ///< the ascent has converged when the step is shorter
  static constexpr double later_step = 0.1;     ///< initial step length after a warm start
  static constexpr std::size_t row_cells = 1024;  ///< cells of a knapsack factor, at most; see `strengthen`

  const compact_problem<Cost>* p_;
  dual_ascent<Cost> messages_;
  row_prices<Cost> prices_;
  std::vector<strategy> labels_;
  std::vector<double> best_prices_ = {};
  std::vector<double> best_messages_ = {};
  std::vector<double> taken_over_ = {};  ///< prices of rows that became knapsack factors
  std::vector<char> is_taken_ = {};
  std::vector<std::size_t> avoided_ = {};
  double dearer_ = 0;
  std::size_t row_work_ = 0;
  double bound_ = -std::numeric_limits<double>::infinity();
  double newest_;  ///< weight of the newest subgradient
  std::size_t patience_;
  std::size_t stalled_ = 0;
  std::size_t warmed_ = 0;
};

}  // namespace shardweave::inline v0
