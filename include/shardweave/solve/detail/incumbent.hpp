#pragma once

#include <shardweave/solve/solution.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// The best labeling of a search, and pruning by its cost.

namespace shardweave::inline v0::detail {

template <cost_value Cost>
class incumbent {
 public:
  incumbent() = default;
  /// \param gap  relative gap at which an answer is accepted: what may be better only by less is pruned
  explicit incumbent(double gap) : gap_(gap) {}

  [[nodiscard]] bool is_known() const { return known_; }
  /// Empty if nothing is known, or a cutoff alone.
  [[nodiscard]] const std::vector<strategy>& labels() const { return labels_; }
  /// Forbidden if nothing is known.
  [[nodiscard]] Cost cost() const { return cost_; }
  /// Seconds from the start of the search.
  [[nodiscard]] double found_at() const { return found_at_; }

  [[nodiscard]] bool is_beaten_by(Cost cost) const { return !is_forbidden(cost) && (!known_ || cost < cost_); }

  /// \returns whether it became the incumbent
  bool offer(Cost cost, std::vector<strategy> labels, double seconds) {
    if (!is_beaten_by(cost)) return false;
    labels_ = std::move(labels);
    cost_ = cost;
    known_ = true;
    found_at_ = seconds;
    return true;
  }
  /// Sets an upper cutoff on the cost, without a labeling.
  void set_cutoff(Cost cost) {
    labels_.clear();
    cost_ = cost;
    known_ = !is_forbidden(cost);
  }
  /// Replaces the labeling by another one of equal cost.
  void replace(std::vector<strategy> labels) { labels_ = std::move(labels); }

  /// Infinite if nothing is known.
  [[nodiscard]] double upper() const { return known_ ? in_double(cost_) : std::numeric_limits<double>::infinity(); }
  /// Whether a node of this bound can be pruned: nothing in it is better, or not by more than the gap.
  [[nodiscard]] bool closes(double bound) const {
    if (!known_) return bound == std::numeric_limits<double>::infinity();
    if constexpr (std::floating_point<Cost>) {
      return bound >= settled();
    } else {
      return proves(bound, cost_) || (gap_ > 0 && bound >= within_gap());
    }
  }
  /// A lower bound on all pruned labelings. Integer costs differ by at least one; otherwise half of the optimality
  /// tolerance is subtracted, so that the resulting bound still proves the optimum.
  [[nodiscard]] double settled() const {
    if (!known_) return upper();
    double least = upper();
    if constexpr (std::floating_point<Cost>) least -= 0.5 * optimality_tolerance * std::max(1.0, std::abs(least));
    return gap_ > 0 ? std::min(least, within_gap()) : least;
  }
  /// How far it is above a bound; where nothing is known, as much as the bound itself, at least 1.
  [[nodiscard]] double gap_above(double bound) const {
    return known_ ? upper() - bound : std::max(std::abs(bound), 1.0);
  }
  /// Whether this bound on all labelings proves that the incumbent is within the gap.
  [[nodiscard]] bool is_enough(double bound) const { return known_ && is_within(gap_, bound, cost_); }

 private:
  /// The least bound at which the incumbent is within the gap, with a margin for rounding. \pre known, a gap
  [[nodiscard]] double within_gap() const {
    const double value = upper(), gap = 0.999 * gap_;
    if (value >= 0) return value / (1 + gap);
    return gap < 1 ? value / (1 - gap) : std::numeric_limits<double>::lowest();
  }

  std::vector<strategy> labels_ = {};
  Cost cost_ = forbidden<Cost>;
  bool known_ = false;
  double found_at_ = 0;
  double gap_ = 0;
};

}  // namespace shardweave::inline v0::detail
