#pragma once

#include <cstddef>
#include <utility>
#include <vector>

/// \file
/// Weights on claims from round to round.

namespace shardweave::inline v0::detail {

/// The weights of the next round: half of the way from the best so far to the game's own, as long as that teaches
/// something (P. Wentges).
class smoothed_weights {
 public:
  /// Of so many claims, those that came since without weight; all alike if nothing is known.
  [[nodiscard]] std::vector<double> best(std::size_t claims) const {
    std::vector<double> weights = best_;
    weights.resize(claims, best_.empty() ? 1.0 : 0.0);
    return weights;
  }
  void found_better(std::vector<double> weights) { best_ = std::move(weights); }
  /// The next round takes the best weights once more, if there are any.
  void stay() { stays_ = !best_.empty(); }
  [[nodiscard]] bool stays() const { return stays_; }
  void start_halfway() { halfway_ = true; }
  /// \param own  the game's: of the claims that `best` was of, then of those that came since
  [[nodiscard]] std::vector<double> next(std::vector<double> own) {
    if (best_.empty()) return own;
    best_.resize(own.size());
    if (std::exchange(stays_, false)) return best_;
    if (halfway_)
      for (std::size_t r = 0; r < own.size(); ++r) own[r] = (own[r] + best_[r]) / 2;
    return own;
  }
  /// After a round that taught something, or nothing; false if no other weights are left to try.
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
