#pragma once

#include <shardweave/solve/solution.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// The best labeling that a search knows, and what need not be searched because of it.

namespace shardweave::inline v0::detail {

template <cost_value Cost>
class incumbent {
 public:
  incumbent() = default;
  /// \param gap  within which of a bound an answer is good enough: what cannot be better by more need not be searched
  explicit incumbent(double gap) : gap_(gap) {}

  [[nodiscard]] bool is_known() const { return known_; }
  /// Empty if nothing is known, or a cost alone.
  [[nodiscard]] const std::vector<strategy>& labels() const { return labels_; }
  /// Forbidden if nothing is known.
  [[nodiscard]] Cost cost() const { return cost_; }
  /// Seconds from the start of the search.
  [[nodiscard]] double found_at() const { return found_at_; }

  [[nodiscard]] bool is_beaten_by(Cost cost) const { return !is_forbidden(cost) && (!known_ || cost < cost_); }

  /// \returns whether it became the best
  bool offer(Cost cost, std::vector<strategy> labels, double seconds) {
    if (!is_beaten_by(cost)) return false;
    labels_ = std::move(labels);
    cost_ = cost;
    known_ = true;
    found_at_ = seconds;
    return true;
  }
  /// Only what costs less is wanted, though no labeling of that cost is at hand.
  void set_cutoff(Cost cost) {
    labels_.clear();
    cost_ = cost;
    known_ = !is_forbidden(cost);
  }
  /// Another labeling of the same cost.
  void replace(std::vector<strategy> labels) { labels_ = std::move(labels); }

  /// Infinite as long as nothing is known.
  [[nodiscard]] double upper() const {
    return known_ ? static_cast<double>(cost_) : std::numeric_limits<double>::infinity();
  }
  /// Whether nothing above such a bound is better, or not by more than the gap.
  [[nodiscard]] bool closes(double bound) const {
    if (!known_) return bound == std::numeric_limits<double>::infinity();
    if constexpr (std::floating_point<Cost>) {
      return bound >= settled();
    } else {
      return proves(bound, cost_) || (gap_ > 0 && bound >= within_gap());
    }
  }
  /// A bound on the labelings that were closed. Whole numbers differ by one; of others half of what counts as equal is
  /// given away, so that the bound made of it still proves the optimum.
  [[nodiscard]] double settled() const {
    if (!known_) return upper();
    double least = upper();
    if constexpr (std::floating_point<Cost>) least -= 0.5 * optimality_tolerance * std::max(1.0, std::abs(least));
    return gap_ > 0 ? std::min(least, within_gap()) : least;
  }
  /// Whether the answer is good enough by such a bound on all labelings.
  [[nodiscard]] bool is_enough(double bound) const { return known_ && is_within(gap_, bound, cost_); }

 private:
  /// The least bound by which the best is good enough; a little above it, for rounding. \pre known, a gap
  [[nodiscard]] double within_gap() const {
    const double value = upper(), gap = 0.999 * gap_;
    if (value >= 0) return value / (1 + gap);
    return gap < 1 ? value / (1 - gap) : -std::numeric_limits<double>::infinity();
  }

  std::vector<strategy> labels_ = {};
  Cost cost_ = forbidden<Cost>;
  bool known_ = false;
  double found_at_ = 0;
  double gap_ = 0;
};

}  // namespace shardweave::inline v0::detail
