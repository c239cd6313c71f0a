#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A labeling under local moves, with the price of each.

namespace shardweave::inline v0 {

/// A new label for a variable.
struct relabel {
  std::uint32_t variable = 0;
  strategy label = 0;
  friend bool operator==(const relabel&, const relabel&) = default;
};

/// The change by a move. Forbidden pairs are counted separately, so that labelings with fewer of them compare as
/// better.
template <cost_value Cost>
struct move_price {
  Cost cost{};                   ///< of allowed pairs before and after
  std::ptrdiff_t conflicts = 0;  ///< change of the number of forbidden pairs
  friend bool operator==(const move_price&, const move_price&) = default;
};

/// A labeling of a compact problem with its cost and its usage of every row. The problem must outlive it.
///
/// Floating-point costs and usages drift by rounding as moves are applied; `refresh` recomputes them. Integers (in
/// usages, below 2^53) are exact.
template <cost_value Cost>
class labeling_state {
 public:
  /// \pre one label per variable
  /// Complexity: O(variables + edges + segments + rows)
  labeling_state(const compact_problem<Cost>& problem, std::vector<strategy> labels)
      : p_(&problem), labels_(std::move(labels)) {
    refresh();
  }

  [[nodiscard]] const compact_problem<Cost>& problem() const { return *p_; }
  [[nodiscard]] std::span<const strategy> labels() const { return labels_; }
  [[nodiscard]] strategy operator[](std::size_t x) const { return labels_[x]; }
  /// The cost of the labeling, savings not subtracted; `forbidden` while there are conflicts.
  [[nodiscard]] Cost cost() const { return conflicts_ == 0 ? allowed_cost_ : forbidden<Cost>; }
  /// The number of forbidden pairs in use.
  [[nodiscard]] std::ptrdiff_t conflicts() const { return conflicts_; }
  [[nodiscard]] std::span<const double> usage() const { return usage_; }
  /// By how much a row exceeds its limits; 0 if it keeps them.
  [[nodiscard]] double excess(std::size_t row) const { return excess_of(row, usage_[row]); }
  /// Whether all rows are kept.
  [[nodiscard]] bool keeps_rows() const {
    for (std::size_t r = 0; r < usage_.size(); ++r)
      if (excess(r) > 0) return false;
    return true;
  }

  /// Recomputes everything.
  void refresh() {
    allowed_cost_ = p_->constant();
    conflicts_ = 0;
    for (std::size_t x = 0; x < p_->size(); ++x) count(p_->unary(x)[labels_[x]], allowed_cost_, conflicts_, 1);
    for (const compact_edge& e : p_->edges())
      count(p_->table(e)(labels_[e.first], labels_[e.second]), allowed_cost_, conflicts_, 1);
    usage_ = p_->usage(labels_);
  }

  /// The change by giving a variable a label.
  /// Complexity: O(degree)
  [[nodiscard]] move_price<Cost> delta(std::size_t x, strategy label) const {
    move_price<Cost> change;
    count(p_->unary(x)[label], change.cost, change.conflicts, 1);
    count(p_->unary(x)[labels_[x]], change.cost, change.conflicts, -1);
    for (const compact_link& link : p_->links(x)) {
      count(p_->link_cost(link, label, labels_[link.other]), change.cost, change.conflicts, 1);
      count(p_->link_cost(link, labels_[x], labels_[link.other]), change.cost, change.conflicts, -1);
    }
    return change;
  }

  /// The change by several moves at once.
  /// \pre no variable occurs twice
  /// Complexity: O(sum of degrees)
  [[nodiscard]] move_price<Cost> delta(std::span<const relabel> moves) {
    move_price<Cost> total;
    for (std::size_t i = 0; i < moves.size(); ++i) {  // each move is evaluated after those before it
      const move_price<Cost> one = delta(moves[i].variable, moves[i].label);
      total.cost += one.cost;
      total.conflicts += one.conflicts;
      undo_.push_back({moves[i].variable, labels_[moves[i].variable]});
      labels_[moves[i].variable] = moves[i].label;
    }
    for (const relabel& before : undo_) labels_[before.variable] = before.label;
    undo_.clear();
    return total;
  }

  /// Calls `visit(row, before, after)` for every row whose usage the moves change.
  /// Complexity: O(segments log segments + rows between the first and the last that they cover)
  template <class Visit>
  void for_each_row(std::span<const relabel> moves, Visit visit) const {
    steps_.clear();
    for (const relabel& move : moves)
      for (const usage_segment& s : p_->segments(move.variable)) {
        const double change = s.usage[move.label] - s.usage[labels_[move.variable]];
        if (change == 0) continue;
        steps_.push_back({s.begin, 1, change});
        steps_.push_back({s.end, -1, -change});
      }
    std::sort(steps_.begin(), steps_.end());
    double change = 0;
    int covering = 0;
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
      covering += steps_[i].opens;
      change = covering == 0 ? 0 : change + steps_[i].change;  // exactly 0 outside of all segments
      if (change != 0)
        for (std::uint32_t r = steps_[i].row; r < steps_[i + 1].row; ++r) visit(r, usage_[r], usage_[r] + change);
    }
  }

  /// Whether the moves push no row beyond its limits; a row that exceeds them already may only move towards them.
  [[nodiscard]] bool fits(std::span<const relabel> moves) const {
    bool good = true;
    for_each_row(moves, [&](std::size_t r, double before, double after) {
      const usage_row& row = p_->rows()[r];
      if (after > before ? after > row.high + slack : after < row.low - slack) good = false;
    });
    return good;
  }
  [[nodiscard]] bool fits(std::size_t x, strategy label) const {
    const relabel move{static_cast<std::uint32_t>(x), label};
    return fits(std::span(&move, 1));
  }

  /// \pre no variable occurs twice
  void apply(std::span<const relabel> moves) {
    for_each_row(moves, [&](std::size_t r, double, double after) { usage_[r] = after; });
    for (const relabel& move : moves) {
      const move_price<Cost> change = delta(move.variable, move.label);
      allowed_cost_ += change.cost;
      conflicts_ += change.conflicts;
      labels_[move.variable] = move.label;
    }
  }
  void apply(std::size_t x, strategy label) {
    const relabel move{static_cast<std::uint32_t>(x), label};
    apply(std::span(&move, 1));
  }

  /// By how much a usage would exceed the limits of a row.
  [[nodiscard]] double excess_of(std::size_t row, double used) const {
    const usage_row& limits = p_->rows()[row];
    const double over = std::max(used - limits.high, limits.low - used);
    return over > slack ? over : 0;
  }

 private:
  /// Half of the tolerance of evaluation, so that sums in another order agree that a row is kept.
  static constexpr double slack = budget_tolerance / 2;

  static void count(Cost c, Cost& sum, std::ptrdiff_t& conflicts, int sign) {
    if (is_forbidden(c)) {
      conflicts += sign;
    } else if (sign > 0) {
      sum += c;
    } else {
      sum -= c;
    }
  }

  /// Where a changed segment begins (opens = 1) or ends (-1).
  struct step {
    std::uint32_t row = 0;
    int opens = 0;
    double change = 0;
    friend bool operator<(const step& a, const step& b) {
      return a.row != b.row ? a.row < b.row : a.opens != b.opens ? a.opens < b.opens : a.change < b.change;
    }
  };

  const compact_problem<Cost>* p_;
  std::vector<strategy> labels_;
  Cost allowed_cost_{};
  std::ptrdiff_t conflicts_ = 0;
  std::vector<double> usage_;
  std::vector<relabel> undo_;
  mutable std::vector<step> steps_;  ///< scratch memory of `for_each_row`
};

}  // namespace shardweave::inline v0
