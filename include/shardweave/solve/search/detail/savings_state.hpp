#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/overlap/savings_tracker.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/search/detail/descent.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A labeling with its savings, under local moves.

namespace shardweave::inline v0::detail {

/// A random mixture of the best prices for less and for more communication. The best prices are all 0 or 1: where
/// communication just fits behind computation, they show only one side.
template <cost_value Cost>
[[nodiscard]] std::vector<double> mixed_prices(const savings_terms<Cost>& terms, const std::vector<Cost>& offered,
                                               const std::vector<Cost>& wanted, random_source& random) {
  const double spread = 0.3 * random.unit(), share = random.unit();
  const auto scaled = [&](double times) {
    std::vector<Cost> changed;
    for (const Cost w : wanted) changed.push_back(static_cast<Cost>(times * static_cast<double>(std::max(Cost{}, w))));
    return cut_prices(terms, offered, changed);
  };
  std::vector<double> prices = scaled(1 - spread);
  const std::vector<double> more = scaled(1 + spread);
  for (std::size_t i = 0; i < prices.size(); ++i) prices[i] = share * prices[i] + (1 - share) * more[i];
  return prices;
}

/// Maintains costs less savings of a labeling, and judges moves by their exact change.
template <cost_value Cost>
class savings_state final : public move_judge {
 public:
  /// \pre `problem` and `terms` outlive this object; the labels use no forbidden pair
  savings_state(const compact_problem<Cost>& problem, const savings_terms<Cost>& terms, std::vector<strategy> labels)
      : t_(&terms), state_(problem, std::move(labels)), tracker_(std::vector<Cost>{}, std::vector<hideable<Cost>>{}) {
    index(problem.size());
    refresh();
  }

  [[nodiscard]] std::span<const strategy> labels() const { return state_.labels(); }
  /// The best prices for the current labels.
  [[nodiscard]] std::vector<double> prices() const { return cut_prices(*t_, offered_, wanted_); }
  /// See `mixed_prices`.
  [[nodiscard]] std::vector<double> prices(random_source& random) const {
    return mixed_prices(*t_, offered_, wanted_, random);
  }
  /// Costs less savings.
  [[nodiscard]] Cost objective() const { return state_.cost() - saved_; }

  /// Recomputes sums, against drift by rounding.
  void refresh() {
    state_.refresh();
    t_->measure(state_.labels(), offered_, wanted_);
    std::vector<hideable<Cost>> demands;
    for (std::size_t d = 0; d < wanted_.size(); ++d)
      demands.push_back({t_->demands[d].where, wanted_[d], t_->demands[d].channel});
    tracker_ = savings_tracker<Cost>(offered_, demands);
    saved_ = tracker_.total();
  }

  /// Makes the moves unless they use a forbidden pair or raise costs less savings. Does not check rows.
  /// Complexity: O(terms of the variables), each O(log slots) or a sweep of its component (see `savings_tracker`)
  bool accepts(std::span<const relabel> moves) override {
    const move_price<Cost> change = state_.delta(moves);
    if (change.conflicts > 0) return false;
    before_.clear();
    undo_.clear();
    for (const relabel& move : moves) {
      undo_.push_back({move.variable, state_[move.variable]});
      turn(move);
    }
    const Cost saved = tracker_.total();
    if (!(change.cost - (saved - saved_) > Cost{})) {
      state_.apply(moves);
      saved_ = saved;
      return true;
    }
    for (std::size_t i = before_.size(); i-- > 0;) set(before_[i].is_slot, before_[i].at, before_[i].value);
    for (const relabel& back : undo_) own_labels_[back.variable] = back.label;
    static_cast<void>(tracker_.total());
    return false;
  }

 private:
  struct old_value {
    bool is_slot;
    std::uint32_t at;
    Cost value;
  };

  /// Indexes the terms by variable.
  void index(std::size_t variables) {
    const auto list = [&](const auto& terms, auto ends, std::vector<std::uint32_t>& start,
                          std::vector<std::uint32_t>& entries) {
      start.assign(variables + 1, 0);
      for (const auto& t : terms)
        for (const std::uint32_t x : ends(t)) ++start[x + 1];
      for (std::size_t x = 0; x < variables; ++x) start[x + 1] += start[x];
      entries.resize(start.back());
      std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
      for (std::uint32_t i = 0; i < terms.size(); ++i)
        for (const std::uint32_t x : ends(terms[i])) entries[next[x]++] = i;
    };
    const auto alone = [](const label_amount<Cost>& t) { return std::vector<std::uint32_t>{t.variable}; };
    list(t_->offers, alone, offers_start_, offers_);
    list(t_->own, alone, own_start_, own_);
    list(
        t_->joint,
        [](const pair_amount<Cost>& t) {
          return std::vector<std::uint32_t>{t.first, t.second};
        },
        joint_start_, joint_);
    own_labels_.assign(state_.labels().begin(), state_.labels().end());
  }
  static std::span<const std::uint32_t> of(const std::vector<std::uint32_t>& start,
                                           const std::vector<std::uint32_t>& entries, std::size_t x) {
    return std::span(entries).subspan(start[x], start[x + 1] - start[x]);
  }

  void set(bool is_slot, std::uint32_t at, Cost value) {
    (is_slot ? offered_ : wanted_)[at] = value;
    const Cost shown = std::max(Cost{}, value);  // negative by rounding only
    if (is_slot) {
      tracker_.set_computation(at, shown);
    } else {
      tracker_.set_amount(at, shown);
    }
  }
  void add(bool is_slot, std::uint32_t at, Cost change) {
    if (change == Cost{}) return;
    const Cost value = (is_slot ? offered_ : wanted_)[at];
    before_.push_back({is_slot, at, value});
    set(is_slot, at, value + change);
  }

  /// Updates savings for one move.
  void turn(const relabel& move) {
    const std::uint32_t x = move.variable;
    const strategy now = own_labels_[x], next = move.label;
    for (const std::uint32_t i : of(offers_start_, offers_, x)) {
      const auto& t = t_->offers[i];
      add(true, t.at, t.amount[next] - t.amount[now]);
    }
    for (const std::uint32_t i : of(own_start_, own_, x)) {
      const auto& t = t_->own[i];
      add(false, t.at, t.amount[next] - t.amount[now]);
    }
    for (const std::uint32_t i : of(joint_start_, joint_, x)) {
      const auto& t = t_->joint[i];
      const cost_table<Cost>& table = *t_->tables[t.table];
      const strategy a = own_labels_[t.first], b = own_labels_[t.second];
      const Cost change = t.first == x ? table(next, b) - table(now, b) : table(a, next) - table(a, now);
      add(false, t.demand, static_cast<Cost>(t.count) * change);
    }
    own_labels_[x] = next;
  }

  const savings_terms<Cost>* t_;
  labeling_state<Cost> state_;
  std::vector<strategy> own_labels_;  ///< the labels that the tracker has
  savings_tracker<Cost> tracker_;
  std::vector<Cost> offered_, wanted_;
  Cost saved_{};
  std::vector<std::uint32_t> offers_start_, offers_, own_start_, own_, joint_start_, joint_;
  std::vector<old_value> before_;
  std::vector<relabel> undo_;
};

}  // namespace shardweave::inline v0::detail
