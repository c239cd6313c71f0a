#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/solve/search/detail/forest_block.hpp>
#include <shardweave/solve/search/detail/label_costs.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Local moves that make a feasible labeling cheaper.

namespace shardweave::inline v0::detail {

/// May veto the moves of a descent. It sees every move that is made, so it can maintain a labeling of its own.
class move_judge {
 public:
  virtual ~move_judge() = default;
  /// Whether the moves are accepted; if so, applies them to its own labeling.
  virtual bool accepts(std::span<const relabel> moves) = 0;
};

/// Coordinate, star and forest moves on a feasible labeling; none makes it dearer or infeasible. The state must not be
/// changed otherwise meanwhile. With a judge, a move also needs its consent.
template <cost_value Cost>
class descent {
 public:
  descent(labeling_state<Cost>& state, forest_block<Cost>& block, const deadline& limit, move_judge* judge = nullptr)
      : p_(state.problem()), state_(state), costs_(state), block_(block), limit_(limit), judge_(judge) {
    for (std::uint32_t x = 0; x < p_.size(); ++x)
      if (p_.label_count(x) > 1) free_.push_back(x);
  }

  /// Recomputes sums, against drift by rounding.
  void refresh() {
    state_.refresh();
    if constexpr (std::floating_point<Cost>) costs_.refresh(state_);
  }

  /// The number of variables with more than one label.
  [[nodiscard]] std::size_t size() const { return free_.size(); }

  /// Sets every variable in turn to its cheapest feasible label.
  /// \returns whether anything improved
  bool coordinate_sweep() {
    bool improved = false;
    for (const std::uint32_t x : free_) {
      if (limit_.expired()) break;
      improved |= respond(x);
    }
    return improved;
  }

  /// Makes the best feasible move of a single variable.
  /// \returns whether anything improved
  /// Complexity: O(labels)
  bool steepest_move() {
    std::optional<relabel> steepest;
    Cost most{};
    for (const std::uint32_t x : free_) {
      if (limit_.expired()) return false;
      price_labels(x);
      const Cost current = prices_[state_[x]];
      for (strategy k = 0; k < prices_.size(); ++k)
        if (prices_[k] < current && prices_[k] - current < most && state_.fits(x, k)) {
          most = prices_[k] - current;
          steepest = relabel{x, k};
        }
    }
    if (!steepest || !matters(most) || !consents(steepest->variable, steepest->label)) return false;
    apply(steepest->variable, steepest->label);
    return true;
  }

  /// Tries promising labels of every variable, each with best responses of the `most` neighbours with the dearest
  /// edges.
  bool star_sweep(std::size_t most) {
    bool improved = false;
    for (const std::uint32_t x : free_) {
      if (limit_.expired()) break;
      if (p_.links(x).size() >= 2) improved |= star(x, most);
    }
    return improved;
  }

  /// Sets a random variable to a random label, and another one to its best response, so that usage may move from one to
  /// the other.
  bool pair_step(random_source& random) {
    const std::uint32_t x = free_[random.below(free_.size())];
    const auto links = p_.links(x);
    const std::uint32_t y = !links.empty() && random.chance(0.5) ? links[random.below(links.size())].other
                                                                 : free_[random.below(free_.size())];
    const auto label = static_cast<strategy>(random.below(p_.label_count(x)));
    if (x == y || label == state_[x]) return false;
    moves_.assign({{x, label}, {y, state_[y]}});
    Cost least{};
    strategy best = none;
    for (strategy k = 0; k < p_.label_count(y); ++k) {
      moves_[1].label = k;
      const move_price<Cost> change = state_.delta(moves_);
      if (change.conflicts > 0 || change.cost > least || (best != none && change.cost == least)) continue;
      if (!state_.fits(moves_)) continue;
      least = change.cost;
      best = k;
    }
    if (best == none) return false;
    moves_[1].label = best;
    return consents(moves_) && (apply(moves_), matters(least));
  }

  /// Optimizes a random forest of up to `largest` variables. Rows that the result would break get prices, which are
  /// raised until it does not or does not pay.
  bool forest_step(std::size_t largest, random_source& random) {
    const double log_size = random.unit() * std::log(static_cast<double>(largest) + 1);
    const auto most = static_cast<std::size_t>(std::exp(log_size));
    roots_.clear();
    do {
      roots_.push_back(free_[random.below(free_.size())]);
    } while (roots_.size() < 4 && random.chance(0.25));
    block_.grow(roots_, most, random);
    block_.price(state_, costs_);
    block_terms& terms = terms_;
    terms.rows.clear();
    double price = 1;
    for (int attempt = 0; attempt < 7; ++attempt, price *= 2) {
      block_.best_moves(state_, terms, moves_);
      if (moves_.empty()) return false;
      const move_price<Cost> change = state_.delta(moves_);
      if (change.conflicts > 0 || change.cost > Cost{}) return false;
      if (price_broken_rows(std::abs(static_cast<double>(change.cost)) * price)) continue;
      return consents(moves_) && (apply(moves_), matters(change.cost));
    }
    return false;
  }

  /// A coordinate sweep, then `effort` random moves per variable, three of four of them forest moves, the rest pairs.
  void polish(double effort, std::size_t largest, random_source& random) {
    coordinate_sweep();
    constexpr double enough = 1e15;  // caps an infinite `effort`
    const double moves = effort * static_cast<double>(size());
    const auto most = static_cast<std::size_t>(moves > 0 ? std::min(moves, enough) : 0);
    for (std::size_t i = 0; i < most && !limit_.expired(); ++i) random_step(i, largest, random);
    state_.refresh();
  }
  /// \pre size() > 0
  bool random_step(std::size_t number, std::size_t largest, random_source& random) {
    return number % 4 == 3 ? pair_step(random) : forest_step(largest, random);
  }

 private:
  static constexpr strategy none = ~strategy{0};

  /// Whether a change is an improvement beyond rounding.
  [[nodiscard]] bool matters(Cost change) const {
    if constexpr (std::floating_point<Cost>) {
      return change < -1e-12 * std::max(Cost{1}, std::abs(state_.cost()));
    } else {
      return change < 0;
    }
  }

  bool price_broken_rows(double scale) {
    broken_.clear();
    double worst = 0;
    state_.for_each_row(moves_, [&](std::size_t r, double before, double after) {
      const double is = state_.excess_of(r, after);
      if (is <= state_.excess_of(r, before)) return;
      broken_.emplace_back(static_cast<std::uint32_t>(r), after > before ? is : -is);
      worst = std::max(worst, is);
    });
    if (broken_.empty()) return false;
    const double each = std::max(scale, 1e-9) / worst / (1 + 0.1 * static_cast<double>(broken_.size()));
    for (const auto& [r, excess] : broken_) terms_.rows.add(r, each * excess / worst);
    terms_.rows.finish();
    return true;
  }

  /// The cost of each label of a variable while all others stay.
  void price_labels(std::uint32_t x) {
    const auto allowed = costs_.allowed(x);
    const auto conflicts = costs_.conflicts(x);
    prices_.resize(allowed.size());
    for (std::size_t k = 0; k < prices_.size(); ++k) prices_[k] = conflicts[k] > 0 ? forbidden<Cost> : allowed[k];
  }

  [[nodiscard]] bool consents(std::span<const relabel> moves) { return judge_ == nullptr || judge_->accepts(moves); }
  [[nodiscard]] bool consents(std::uint32_t x, strategy label) {
    const relabel move{x, label};
    return consents(std::span(&move, 1));
  }
  void apply(std::span<const relabel> moves) {
    costs_.change(state_, moves);
    state_.apply(moves);
  }
  void apply(std::uint32_t x, strategy label) {
    const relabel move{x, label};
    apply(std::span(&move, 1));
  }

  /// \param judged  whether the judge is asked
  bool respond(std::uint32_t x, bool judged = true) {
    price_labels(x);
    const Cost current = prices_[state_[x]];
    better_.clear();
    for (strategy k = 0; k < prices_.size(); ++k)
      if (prices_[k] < current) better_.emplace_back(prices_[k], k);
    std::sort(better_.begin(), better_.end());
    for (const auto& [price, k] : better_)
      if (state_.fits(x, k) && (!judged || consents(x, k))) {
        const bool gained = is_forbidden(current) || matters(price - current);
        apply(x, k);
        return gained;
      }
    return false;
  }

  bool star(std::uint32_t x, std::size_t most) {
    leaves_.clear();
    for (const compact_link& link : p_.links(x))
      if (p_.label_count(link.other) > 1)
        leaves_.emplace_back(-static_cast<double>(p_.link_cost(link, state_[x], state_[link.other])), link.other);
    if (leaves_.empty()) return false;
    const std::size_t count = std::min(most, leaves_.size());
    std::partial_sort(leaves_.begin(), leaves_.begin() + static_cast<std::ptrdiff_t>(count), leaves_.end());
    const Cost before = state_.cost();
    const strategy own = state_[x];
    order_by_promise(x);
    for (const auto& [promise, k] : promising_) {
      if (k == own || !state_.fits(x, k)) continue;
      if (limit_.expired()) break;
      back_.assign(1, {x, own});
      for (std::size_t i = 0; i < count; ++i) back_.push_back({leaves_[i].second, state_[leaves_[i].second]});
      apply(x, k);
      for (std::size_t i = 0; i < count; ++i) respond(leaves_[i].second, false);
      if (state_.conflicts() == 0 && matters(state_.cost() - before) && consents_to_all_since()) return true;
      apply(back_);
    }
    return false;
  }

  /// Asks the judge about all differences from the labels in `back_`.
  bool consents_to_all_since() {
    if (judge_ == nullptr) return true;
    moves_.clear();
    for (const relabel& old : back_)
      if (state_[old.variable] != old.label) moves_.push_back({old.variable, state_[old.variable]});
    return judge_->accepts(moves_);
  }

  /// The labels of least cost if every neighbour chose its best label for them.
  void order_by_promise(std::uint32_t x) {
    promising_.clear();
    for (strategy k = 0; k < p_.label_count(x); ++k) promising_.emplace_back(static_cast<double>(p_.unary(x)[k]), k);
    for (const compact_link& link : p_.links(x)) {
      const cost_table<Cost>& t = p_.table(p_.edges()[link.edge]);
      const auto own_class = link.is_first ? t.row_class() : t.column_class();
      least_.assign(link.is_first ? t.row_classes() : t.column_classes(), std::numeric_limits<double>::infinity());
      for (std::size_t i = 0; i < t.row_classes(); ++i)
        for (std::size_t j = 0; j < t.column_classes(); ++j)
          if (!is_forbidden(t.class_cost(i, j))) {
            double& least = least_[link.is_first ? i : j];
            least = std::min(least, static_cast<double>(t.class_cost(i, j)));
          }
      for (auto& [promise, k] : promising_) promise += least_[own_class[k]];
    }
    const std::size_t kept = std::min(promising_.size(), star_labels);
    std::partial_sort(promising_.begin(), promising_.begin() + static_cast<std::ptrdiff_t>(kept), promising_.end());
    promising_.resize(kept);
  }

  static constexpr std::size_t star_labels = 16;  ///< tried per centre

  const compact_problem<Cost>& p_;
  labeling_state<Cost>& state_;
  label_costs<Cost> costs_;
  forest_block<Cost>& block_;
  const deadline& limit_;
  move_judge* judge_;
  block_terms terms_;
  std::vector<std::uint32_t> free_, roots_;
  std::vector<relabel> moves_, back_;
  std::vector<std::pair<std::uint32_t, double>> broken_;
  std::vector<Cost> prices_;
  std::vector<std::pair<Cost, strategy>> better_;
  std::vector<std::pair<double, std::uint32_t>> leaves_;
  std::vector<std::pair<double, strategy>> promising_;
  std::vector<double> least_;
};

}  // namespace shardweave::inline v0::detail
