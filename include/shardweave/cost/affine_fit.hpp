#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

/// \file
/// A latency and a scale that lead from predicted to measured times, fitted so that outliers do not pull.

namespace shardweave::inline v0 {

/// A predicted and a measured time of the same thing.
struct time_pair {
  double predicted_us = 0;
  double measured_us = 0;
};

/// measured = offset + scale * predicted.
struct affine_correction {
  double offset_us = 0;
  double scale = 1;
  [[nodiscard]] double operator()(double predicted_us) const { return offset_us + scale * predicted_us; }
};

/// The correction with the least sum of absolute relative errors, neither of its figures negative; the identity
/// without pairs. Found by least squares with weights that are renewed from the errors, 50 times: O(n).
/// Source of the method: P. Holland, R. Welsch, Robust regression using iteratively reweighted least-squares,
/// Communications in Statistics 6 (1977).
/// \pre measured times are positive, predicted ones not negative
[[nodiscard]] inline affine_correction fit_affine(std::span<const time_pair> pairs) {
  affine_correction best;
  if (pairs.empty()) return best;
  const auto loss = [&](const affine_correction& c) {
    double sum = 0;
    for (const time_pair& p : pairs) sum += std::abs(c(p.predicted_us) / p.measured_us - 1);
    return sum;
  };
  // one parameter first: with equal predictions or a single pair there is nothing more to find
  std::vector<double> ratios;
  for (const time_pair& p : pairs)
    if (p.predicted_us > 0) ratios.push_back(p.measured_us / p.predicted_us);
  if (!ratios.empty()) {
    std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
    best.scale = ratios[ratios.size() / 2];
  }
  double least = loss(best);
  affine_correction now = best;
  for (int round = 0; round < 50; ++round) {
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (const time_pair& p : pairs) {
      const double error = std::abs(now(p.predicted_us) / p.measured_us - 1);
      // below half a percent all errors weigh alike: dividing by nearly nothing would fix the line to one point
      const double weight = 1 / (p.measured_us * p.measured_us * std::max(error, 0.005));
      w += weight;
      wx += weight * p.predicted_us;
      wy += weight * p.measured_us;
      wxx += weight * p.predicted_us * p.predicted_us;
      wxy += weight * p.predicted_us * p.measured_us;
    }
    const double spread = w * wxx - wx * wx;
    if (!(spread > 1e-12 * w * wxx)) break;
    now.scale = (w * wxy - wx * wy) / spread;
    now.offset_us = (wy - now.scale * wx) / w;
    if (now.scale < 0) now = {wy / w, 0};
    if (now.offset_us < 0) now = {0, wxy / wxx};
    if (const double found = loss(now); found < least) {
      least = found;
      best = now;
    }
  }
  return best;
}

}  // namespace shardweave::inline v0
