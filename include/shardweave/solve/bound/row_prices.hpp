#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

/// \file
/// Prices of usage per row (Lagrange multipliers).

namespace shardweave::inline v0 {

/// One price per row, with derived values. A price is positive for the upper limit, negative for the lower limit, and
/// zero where there is no such limit.
template <cost_value Cost>
class row_prices {
 public:
  explicit row_prices(const compact_problem<Cost>& problem) : p_(&problem), price_(problem.rows().size()) {
    for (std::size_t x = 0; x < problem.size(); ++x) {
      for (const usage_segment& s : problem.segments(x)) {
        ranges_.push_back({s.begin, s.end});
        usage_.insert(usage_.end(), s.usage.begin(), s.usage.end());
      }
      range_end_.push_back(ranges_.size());
    }
    ranges_.shrink_to_fit();
    usage_.shrink_to_fit();
  }

  [[nodiscard]] std::vector<double>& values() { return price_; }
  [[nodiscard]] const std::vector<double>& values() const { return price_; }

  /// Sets `unary` to the unary costs plus priced usage, for all labels of all variables.
  void add_to(std::span<double> unary) const {
    std::vector<double> prefix(price_.size() + 1);
    for (std::size_t r = 0; r < price_.size(); ++r) prefix[r + 1] = prefix[r] + price_[r];
    std::size_t at = 0;
    for_each_variable([&](std::size_t x, std::span<const range> ranges, const double* usage) {
      const auto costs = p_->unary(x);
      for (std::size_t l = 0; l < costs.size(); ++l) unary[at + l] = in_double(costs[l]);
      for (const range& rows : ranges) {
        const double per_unit = prefix[rows.end] - prefix[rows.begin];
        if (per_unit != 0)
          for (std::size_t l = 0; l < costs.size(); ++l) unary[at + l] += per_unit * usage[l];
        usage += costs.size();
      }
      at += costs.size();
    });
  }

  /// Prices times limits, with a margin for rounding: the Lagrangian bound is a bound on the problem with the unary
  /// costs of `add_to`, less this.
  /// \param tolerance  up to which usage counts as within a limit
  [[nodiscard]] double earned(double tolerance = budget_tolerance) const {
    double total = 0, magnitude = 0;
    for (std::size_t r = 0; r < price_.size(); ++r) {
      if (price_[r] == 0) continue;
      const usage_row& row = p_->rows()[r];
      const double amount = price_[r] * (price_[r] > 0 ? row.high + tolerance : row.low - tolerance);
      total += amount;
      magnitude += std::abs(amount);
    }
    return total + 1e-12 * magnitude;
  }

  /// Moves prices along an average of this subgradient and earlier ones, as far as would raise the bound by `distance`
  /// if it were linear (Polyak's rule).
  /// \param slope   entries may be infinite
  /// \param newest  weight of this subgradient; the rest is the direction of the previous step
  void follow(std::span<const double> slope, double newest, double distance) {
    direction_.resize(price_.size());
    double square = 0;
    for (std::size_t r = 0; r < price_.size(); ++r) {
      direction_[r] = (1 - newest) * direction_[r] + newest * slope[r];
      if (!is_held(r, direction_[r])) square += direction_[r] * direction_[r];
    }
    if (!(square > 0)) return;
    for (std::size_t r = 0; r < price_.size(); ++r) price_[r] += distance / square * direction_[r];
    confine();
  }
  /// Calls `follow` with the distance step() * max(aim - bound, |aim| / 10,000): Polyak's rule with `aim` for the
  /// optimum.
  void approach(double aim, double bound, std::span<const double> slope, double newest) {
    follow(slope, newest, step_ * std::max(aim - bound, 1e-4 * std::abs(aim)));
  }
  /// The step length of `approach`.
  [[nodiscard]] double step() const { return step_; }
  void set_step(double step) { step_ = step; }
  /// To be called where steps gain nothing more.
  void shorten_step() { step_ *= step_decay; }
  /// To be called after a step that raised the bound, and would again.
  void lengthen_step() { step_ = std::min(1.0, step_growth * step_); }
  /// Whether the direction of the last step would raise the bound further, as far as this subgradient tells.
  [[nodiscard]] bool goes_on_along(std::span<const double> slope) const {
    return std::inner_product(direction_.begin(), direction_.end(), slope.begin(), 0.0) > 0;
  }
  /// Restarts the average.
  void forget_direction() { std::fill(direction_.begin(), direction_.end(), 0.0); }
  /// Sets prices to zero whose limit does not exist.
  void confine() {
    for (std::size_t r = 0; r < price_.size(); ++r) {
      if (p_->rows()[r].high == std::numeric_limits<double>::infinity()) price_[r] = std::min(price_[r], 0.0);
      if (p_->rows()[r].low == -std::numeric_limits<double>::infinity()) price_[r] = std::max(price_[r], 0.0);
    }
  }

  /// Whether a price is zero and may not move in that direction.
  [[nodiscard]] bool is_held(std::size_t r, double direction) const {
    return price_[r] == 0 && ((direction < 0 && p_->rows()[r].low == -std::numeric_limits<double>::infinity()) ||
                              (direction > 0 && p_->rows()[r].high == std::numeric_limits<double>::infinity()));
  }

  /// The subgradient: by how much a labeling exceeds the limit of each price.
  [[nodiscard]] std::vector<double> slope(std::span<const strategy> labels) const {
    std::vector<double> g(price_.size() + 1);
    for_each_variable([&](std::size_t x, std::span<const range> ranges, const double* usage) {
      for (std::size_t i = 0, at = labels[x]; i < ranges.size(); ++i, at += p_->label_count(x)) {
        g[ranges[i].begin] += usage[at];
        g[ranges[i].end] -= usage[at];
      }
    });
    for (std::size_t r = 1; r < g.size(); ++r) g[r] += g[r - 1];
    g.pop_back();
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
  static constexpr double step_decay = 0.7;
  static constexpr double step_growth = 1.1;

  struct range {
    std::uint32_t begin, end;
  };

  /// Calls `visit` with each variable, the rows of its segments, and their usage, label by label.
  template <class Visit>
  void for_each_variable(Visit visit) const {
    const double* usage = usage_.data();
    std::size_t begin = 0;
    for (std::size_t x = 0; x < p_->size(); ++x) {
      const std::size_t end = range_end_[x];
      visit(x, std::span<const range>(ranges_).subspan(begin, end - begin), usage);
      usage += (end - begin) * p_->label_count(x);
      begin = end;
    }
  }

  const compact_problem<Cost>* p_;
  std::vector<double> price_;
  std::vector<double> direction_ = {};  ///< of the last step
  double step_ = 1;
  // segments, stored contiguously: they are many and read in every step
  std::vector<range> ranges_;
  std::vector<std::size_t> range_end_;  ///< per variable: where its ranges end
  std::vector<double> usage_;
};

}  // namespace shardweave::inline v0
