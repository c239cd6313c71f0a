#pragma once

#include <cstddef>
#include <utility>
#include <vector>

/// \file
/// Wentges smoothing of the weights of claims.

namespace shardweave::inline v0::detail {

/// The weights of the next round: half way from the best so far to those of the game, while rounds make progress, and
/// after one that made none those of the game (P. Wentges).
class smoothed_weights {
 public:
  /// The best weights so far, with 0 for claims that came since; all 1 if there are none.
  [[nodiscard]] std::vector<double> best(std::size_t claims) const {
    std::vector<double> weights = best_;
    weights.resize(claims, best_.empty() ? 1.0 : 0.0);
    return weights;
  }
  void found_better(std::vector<double> weights) { best_ = std::move(weights); }
  /// Makes the next round evaluate the best weights once more, if there are any.
  void stay() { stays_ = !best_.empty(); }
  [[nodiscard]] bool stays() const { return stays_; }
  void start_halfway() { halfway_ = true; }
  /// \param own  weights of the game; claims that are newer than the best weights come last
  [[nodiscard]] std::vector<double> next(std::vector<double> own) {
    if (best_.empty()) return own;
    best_.resize(own.size());
    if (std::exchange(stays_, false)) return best_;
    if (halfway_)
      for (std::size_t r = 0; r < own.size(); ++r) own[r] = (own[r] + best_[r]) / 2;
    return own;
  }
  /// To be called after a round, with whether it raised the bound or found a placement. \returns false if neither
  /// smoothed weights nor those of the game made progress
  [[nodiscard]] bool may_go_on(bool learned) {
    const bool was_halfway = std::exchange(halfway_, learned);
    return learned || (was_halfway && !best_.empty());
  }

 private:
  std::vector<double> best_;
  bool halfway_ = true;
  bool stays_ = false;
};

}  // namespace shardweave::inline v0::detail
