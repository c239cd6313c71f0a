#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/isotonic.hpp>
#include <shardweave/cost/size_curve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// How much of a peak is reached, as a smooth function of how much there is to do.

namespace shardweave::inline v0 {

/// A share that rises from 0 to `peak`: peak * x^power / (x^power + half^power); `half` is where half of the peak is
/// reached. With `half` 0 the share is `peak` everywhere. What x means (bytes, operations per byte) says who uses it.
struct saturation {
  double peak = 1;
  double half = 0;
  double power = 1;

  [[nodiscard]] double at(double x) const {
    if (!(half > 0)) return peak;
    if (!(x > 0)) return 0;
    return peak / (1 + std::pow(half / x, power));
  }
  friend bool operator==(const saturation&, const saturation&) = default;
};

/// A latency, and a bandwidth of which a size reaches the more the larger it is: latency + size / (bandwidth * share),
/// where the share of a size is that of `saturation` with peak 1. Bandwidth in GB/s (10^9).
struct saturated_line {
  double latency_us = 0;
  double bandwidth = 1;
  double half_size = 0;  ///< bytes
  double power = 0.5;    ///< at most 1, so that more bytes never take less time

  [[nodiscard]] double bandwidth_us(double size) const {
    if (!(size > 0)) return 0;
    const double ramp = half_size > 0 ? std::pow(half_size / size, power) : 0;
    return size / (1e3 * bandwidth) * (1 + ramp);
  }
  [[nodiscard]] double at(double size) const { return latency_us + bandwidth_us(size); }
  friend bool operator==(const saturated_line&, const saturated_line&) = default;
};

/// The line that fits measurements best in the sum of absolute relative errors, none of its terms negative. The three
/// factors of 1, size and size^(1-power) come from reweighted least squares, for powers of 0.3 to 0.9 in tenths.
/// Complexity: O(n) with a factor of some thousands.
/// \throws error if there is no measurement, or one that is not positive
[[nodiscard]] inline saturated_line fit_saturated_line(std::span<const timed_size> measured) {
  if (measured.empty()) refuse(error_category::input, "a line of times needs a measurement");
  for (const timed_size& m : measured)
    if (m.size.count() <= 0 || !(m.time_us > 0) || !std::isfinite(m.time_us))
      refuse(error_category::input, "a measurement of " + std::to_string(m.size.count()) + " bytes in " +
                                        number_text(m.time_us) + " us: both must be positive");
  using row = std::array<double, 3>;
  saturated_line best;
  double least = std::numeric_limits<double>::infinity();
  for (int tenth = 3; tenth <= 9; ++tenth) {
    const double power = tenth / 10.0;
    std::vector<row> terms;  // of the measured time: a perfect fit sums to 1
    for (const timed_size& m : measured) {
      const double s = static_cast<double>(m.size.count());
      terms.push_back({1 / m.time_us, s / m.time_us, std::pow(s, 1 - power) / m.time_us});
    }
    std::vector<double> weight(terms.size(), 1);
    row x{};
    for (int round = 0; round < 30; ++round) {
      // coordinate descent keeps every factor at 0 or above; the columns are few and the start is warm
      for (int sweep = 0; sweep < 200; ++sweep)
        for (std::size_t j = 0; j < 3; ++j) {
          double up = 0;
          double down = 0;
          for (std::size_t i = 0; i < terms.size(); ++i) {
            double rest = 1;
            for (std::size_t k = 0; k < 3; ++k)
              if (k != j) rest -= terms[i][k] * x[k];
            up += weight[i] * terms[i][j] * rest;
            down += weight[i] * terms[i][j] * terms[i][j];
          }
          x[j] = std::max(0.0, up / down);
        }
      double loss = 0;
      for (std::size_t i = 0; i < terms.size(); ++i) {
        const double error = std::abs(terms[i][0] * x[0] + terms[i][1] * x[1] + terms[i][2] * x[2] - 1);
        loss += error;
        weight[i] = 1 / std::max(error, 0.005);
      }
      if (loss < least && x[1] > 0) {
        least = loss;
        best = {x[0], 1 / (1e3 * x[1]), std::pow(x[2] / x[1], 1 / power), power};
      }
    }
  }
  if (!std::isfinite(least)) {  // times that do not grow with the size: all latency
    std::vector<double> times;
    for (const timed_size& m : measured) times.push_back(m.time_us);
    best = {detail::median_of(std::move(times)), std::numeric_limits<double>::max(), 0, 0.5};
  }
  return best;
}

/// Divides the bandwidth part of another model by the share of a size: for formulas whose bandwidth is the peak.
template <class Base = alpha_beta>
struct saturating {
  Base base = {};
  double half_size = 0;  ///< bytes at which half of the base's bandwidth is reached
  double power = 0.5;    ///< at most 1

  saturating() = default;
  /// \throws error if the half size is negative or the power not in (0, 1]
  explicit saturating(Base b, double half, double p = 0.5) : base(std::move(b)), half_size(half), power(p) {
    if (!(half >= 0) || !(p > 0) || p > 1)
      refuse(error_category::input, "a share that is half at " + number_text(half) + " bytes with power " +
                                        number_text(p) + ": expected no negative size and a power in (0, 1]");
  }

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    collective_estimate result = detail::estimate_by(base, kind, size, group);
    if (!(half_size > 0) || size.count() <= 0) return result;
    const double more = result.bandwidth_us * std::pow(half_size / static_cast<double>(size.count()), power);
    result.bandwidth_us += more;
    result.time_us += more;
    return result;
  }
};

template <class Base>
saturating(Base, double, double) -> saturating<Base>;
template <class Base>
saturating(Base, double) -> saturating<Base>;

static_assert(collective_cost_model<saturating<>>);

}  // namespace shardweave::inline v0
