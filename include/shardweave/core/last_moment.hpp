#pragma once

#include <shardweave/core/control.hpp>

#include <algorithm>
#include <optional>

/// \file
/// What is still done once a stop has come.

namespace shardweave::inline v0 {

/// What is all but done when a stop comes, or the time is up, goes on for a moment, so that it need not be given up.
/// One at a time; `limit` outlives it.
class last_moment {
 public:
  /// \param seconds  that the moment lasts: less than a third of what a stop may take
  explicit last_moment(const deadline& limit, double seconds = 0.03) : limit_(&limit), seconds_(seconds) {}

  /// A stop was asked for, or the time is up, and a moment has passed since this was asked first.
  [[nodiscard]] bool is_over() { return limit_->expired() && left() <= 0; }
  /// Seconds that the moment still lasts, which begins with the first question.
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
