#pragma once

#include <shardweave/core/control.hpp>

#include <algorithm>
#include <optional>

/// \file
/// What is still done once a stop has come.

namespace shardweave::inline v0 {

/// A short grace period for work that is nearly done when a stop is requested or the time is up. For one thread at a
/// time; `limit` outlives it.
class last_moment {
 public:
  /// \param seconds  length of the period: less than a third of the time within which a stop is to be obeyed
  explicit last_moment(const deadline& limit, double seconds = 0.03) : limit_(&limit), seconds_(seconds) {}

  /// Whether a stop was requested or the time is up, and the period is over, too. It begins with the first call that
  /// finds a stop requested or the time up, unless `left` has begun it before.
  [[nodiscard]] bool is_over() { return limit_->expired() && left() <= 0; }
  /// Seconds left of the period; begins it if it has not begun.
  [[nodiscard]] double left() {
    if (!begin_) begin_ = limit_->elapsed();
    return std::max(0.0, *begin_ + seconds_ - limit_->elapsed());
  }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  const deadline* limit_;
  double seconds_;
  std::optional<double> begin_ = std::nullopt;
};

}  // namespace shardweave::inline v0
