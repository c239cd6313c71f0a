#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/detail/isotonic.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/roofline.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Operations priced by measurements of operations.

namespace shardweave::inline v0 {

/// One operation, measured.
struct kernel_measurement {
  kernel_kind kernel{};
  device_work work{};
  double time_us = 0;
};

/// Corrects a `compute_profile` by measured operations of the same kernel and arithmetic. Work that was measured takes
/// the measured time (of several the median); other work takes the profile's time, times the ratios of measured to
/// predicted times of its neighbours, each weighted by how near it is in the logarithms of operations and bytes. Far
/// from all measurements that is their mean ratio. Kernels without measurements are left to the profile.
/// Source of the weights: D. Shepard, A two-dimensional interpolation function for irregularly-spaced data (1968), with
/// power 4.
///
/// Complexity: O(n) in the measurements of that kernel and arithmetic.
class kernel_table {
 public:
  /// \throws error if a time is not positive, a count is negative, or the profile has no rate for an arithmetic
  kernel_table(compute_profile profile, std::span<const kernel_measurement> measured) : profile_(std::move(profile)) {
    std::vector<kernel_measurement> rows(measured.begin(), measured.end());
    const auto key = [](const kernel_measurement& m) {
      return std::tuple(m.kernel, m.work.kind, m.work.flops, m.work.moved.count());
    };
    for (const kernel_measurement& m : rows)
      if (!(m.time_us > 0) || !std::isfinite(m.time_us) || !(m.work.flops >= 0) || m.work.moved.count() < 0)
        refuse(error_category::input, "a kernel of " + number_text(m.work.flops) + " operations on " +
                                          std::to_string(m.work.moved.count()) + " bytes in " + number_text(m.time_us) +
                                          " us: counts and times must be positive");
    std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    for (std::size_t from = 0; from < rows.size();) {
      std::size_t to = from;
      std::vector<double> times;
      while (to < rows.size() && key(rows[to]) == key(rows[from])) times.push_back(rows[to++].time_us);
      const kernel_measurement& m = rows[from];
      const double time = detail::median_of(std::move(times));
      points_.push_back({m.kernel, m.work.kind, log_of(m.work.flops), log_of(static_cast<double>(m.work.moved.count())),
                         std::log(time / profile_.compute_time(m.work, m.kernel)), time});
      from = to;
    }
  }

  /// Microseconds for the work.
  /// \throws error if the device has no rate for this kind of arithmetic
  [[nodiscard]] double compute_time(const device_work& work, kernel_kind kernel = kernel_kind::matrix_product) const {
    const double predicted = profile_.compute_time(work, kernel);
    const double flops = log_of(work.flops);
    const double moved = log_of(static_cast<double>(work.moved.count()));
    double weights = 0;
    double sum = 0;
    for (const point& p : points_) {
      if (p.kernel != kernel || p.kind != work.kind) continue;
      const double d = (p.flops - flops) * (p.flops - flops) + (p.moved - moved) * (p.moved - moved);
      if (d == 0) return p.time_us;
      const double weight = 1 / (d * d);
      weights += weight;
      sum += weight * p.log_ratio;
    }
    return weights > 0 ? predicted * std::exp(sum / weights) : predicted;
  }

  [[nodiscard]] const compute_profile& profile() const { return profile_; }

 private:
  struct point {
    kernel_kind kernel;
    arithmetic kind;
    double flops;
    double moved;
    double log_ratio;
    double time_us;
  };
  static double log_of(double count) { return std::log(std::max(count, 1.0)); }

  compute_profile profile_;
  std::vector<point> points_;
};

}  // namespace shardweave::inline v0
