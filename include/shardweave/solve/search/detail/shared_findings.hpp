#pragma once

#include <shardweave/solve/detail/incumbent.hpp>

#include <algorithm>
#include <limits>
#include <mutex>

/// \file
/// What the threads of one search know together.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// What the threads of one search tell each other. All members may be called by any thread.
template <cost_value Cost>
class shared_findings {
 public:
  void raise(double bound) {
    const std::scoped_lock lock(mutex_);
    bound_ = std::max(bound_, bound);
  }
  [[nodiscard]] double bound() const {
    const std::scoped_lock lock(mutex_);
    return bound_;
  }
  /// Afterwards both know the better labeling. \returns whether it is new to `mine`
  bool exchange(incumbent<Cost>& mine, double seconds) {
    const std::scoped_lock lock(mutex_);
    if (mine.is_known() && best_.is_beaten_by(mine.cost())) {
      best_ = mine;
      return false;
    }
    return mine.is_beaten_by(best_.cost()) && mine.offer(best_.cost(), best_.labels(), seconds);
  }

 private:
  mutable std::mutex mutex_;
  double bound_ = -std::numeric_limits<double>::infinity();
  incumbent<Cost> best_ = {};
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
