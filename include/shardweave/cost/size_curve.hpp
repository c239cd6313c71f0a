#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/detail/isotonic.hpp>
#include <shardweave/cost/detail/sorted_sizes.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A time as a function of a size, made of measurements.

namespace shardweave::inline v0 {

/// One measurement: so many bytes took so long.
struct timed_size {
  bytes size{};
  double time_us = 0;
  friend bool operator==(const timed_size&, const timed_size&) = default;
};

/// Time over size through measured points, never falling.
///
/// Several measurements of one size count by their median, and points that fall with growing size are levelled
/// (`isotonic_medians`), so that noise does not make more data cheaper. Between points the logarithm of the time
/// is a cubic of the logarithm of the size whose slopes keep it monotone; below the first point the straight line
/// through the first two goes on, as long as it leaves a latency; beyond the last point the bandwidth is that
/// of the last point.
/// Source of the slopes: F. Fritsch, J. Butland, A method for constructing local monotone piecewise cubic
/// interpolants, SIAM J. Sci. Stat. Comput. 5 (1984).
class size_curve {
 public:
  /// \throws error if there is no point, or a size or time that is not positive
  explicit size_curve(std::span<const timed_size> points) {
    std::map<std::int64_t, std::vector<double>> by_size;
    for (const timed_size& p : points) {
      if (p.size.count() <= 0 || !(p.time_us > 0) || !std::isfinite(p.time_us))
        refuse(error_category::input, "a measurement of " + std::to_string(p.size.count()) + " bytes in " +
                                          number_text(p.time_us) + " us: both must be positive");
      by_size[p.size.count()].push_back(std::log(p.time_us));
    }
    if (by_size.empty()) refuse(error_category::input, "a curve of times needs a measurement");
    std::vector<double> sizes;
    std::vector<double> levels;
    for (auto& [size, times] : by_size) {
      sizes.push_back(static_cast<double>(size));
      levels.push_back(detail::median_of(std::move(times)));
    }
    sizes_ = detail::sorted_sizes(std::move(sizes));
    levels = detail::isotonic_medians(levels);
    for (std::size_t i = 0; i < sizes_.size(); ++i) knots_.push_back({std::log(sizes_[i]), levels[i], 0});
    set_slopes();
    first_us_ = std::exp(knots_.front().time);
    last_us_ = std::exp(knots_.back().time);
    if (sizes_.size() > 1) {
      const double per_byte = (std::exp(knots_[1].time) - first_us_) / (sizes_[1] - sizes_[0]);
      // a line that would leave nothing or less at size 0 gives way to the bandwidth of the first point
      if (const double latency = first_us_ - per_byte * sizes_[0]; latency > 0) {
        start_us_ = latency;
        start_slope_ = per_byte;
        return;
      }
      start_slope_ = first_us_ / sizes_[0];
    } else {
      start_us_ = first_us_;
    }
  }

  /// Microseconds for a size; O(log n) in the number of points.
  [[nodiscard]] double at(bytes size) const {
    const double s = static_cast<double>(size.count());
    if (s <= sizes_.front()) return start_us_ + start_slope_ * std::max(s, 0.0);
    if (s >= sizes_.back()) return last_us_ * (s / sizes_.back());
    const std::size_t i = sizes_.at_most(s) - 1;
    const knot& a = knots_[i];
    const knot& b = knots_[i + 1];
    const double h = b.size - a.size;
    const double t = (std::log(s) - a.size) / h;
    const double u = 1 - t;
    // Hermite's form; clamped because rounding may leave the interval by the last bit
    const double y =
        u * u * ((1 + 2 * t) * a.time + t * h * a.slope) + t * t * ((3 - 2 * t) * b.time - u * h * b.slope);
    return std::exp(std::clamp(y, a.time, b.time));
  }

  /// Whether the size lies between measured ones; outside of them `at` extrapolates.
  [[nodiscard]] bool covers(bytes size) const {
    const double s = static_cast<double>(size.count());
    return s >= sizes_.front() && s <= sizes_.back();
  }

  /// Microseconds that size 0 would take: what the curve holds for latency.
  [[nodiscard]] double latency_us() const { return start_us_; }

  /// The measured sizes in bytes, in order.
  [[nodiscard]] const std::vector<double>& sizes() const { return sizes_.all(); }
  /// The smoothed points, by size.
  [[nodiscard]] std::vector<timed_size> points() const {
    std::vector<timed_size> result;
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      result.push_back({bytes(static_cast<std::int64_t>(sizes_[i])), std::exp(knots_[i].time)});
    return result;
  }

 private:
  struct knot {
    double size;  ///< logarithms of both
    double time;
    double slope;
  };

  void set_slopes() {
    const auto rise = [&](std::size_t i) {
      return (knots_[i + 1].time - knots_[i].time) / (knots_[i + 1].size - knots_[i].size);
    };
    const std::size_t n = knots_.size();
    if (n == 1) return;
    knots_.front().slope = rise(0);
    knots_.back().slope = rise(n - 2);
    for (std::size_t i = 1; i + 1 < n; ++i) {
      const double before = rise(i - 1);
      const double after = rise(i);
      if (!(before > 0 && after > 0)) continue;  // at a level stretch the slope is 0
      const double left = knots_[i].size - knots_[i - 1].size;
      const double right = knots_[i + 1].size - knots_[i].size;
      knots_[i].slope = 3 * (left + right) / ((2 * right + left) / before + (right + 2 * left) / after);
    }
  }

  detail::sorted_sizes sizes_;
  std::vector<knot> knots_;
  double first_us_ = 0;
  double last_us_ = 0;
  double start_us_ = 0;
  double start_slope_ = 0;
};

}  // namespace shardweave::inline v0
