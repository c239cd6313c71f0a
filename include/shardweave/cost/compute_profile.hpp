#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/detail/isotonic.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/cost/saturation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// \file
/// The time of an operation on one device, with shares of the peak that depend on its shape.

namespace shardweave::inline v0 {

/// What kind of kernel does the work: each reaches another share of the peak.
enum class kernel_kind : std::uint8_t { memory_bound, matrix_product, attention, attention_backward };

/// The counts of a batched matrix product: batch times (rows x inner) * (inner x columns).
struct product_shape {
  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t columns = 0;
};

/// The work of a product: two operations per multiplication, every operand and the result moved once.
[[nodiscard]] constexpr device_work work_of(const product_shape& p, std::int64_t element_bytes,
                                            arithmetic kind = arithmetic::f16) {
  const double batch = static_cast<double>(p.batch);
  const double flops =
      2 * batch * static_cast<double>(p.rows) * static_cast<double>(p.inner) * static_cast<double>(p.columns);
  const std::int64_t elements = p.rows * p.inner + p.inner * p.columns + p.rows * p.columns;
  return {flops, bytes(p.batch * elements * element_bytes), kind};
}

namespace detail {

inline constexpr by_arithmetic<saturation> flat_shares{saturation{0.70, 0, 1}, saturation{0.70, 0, 1},
                                                       saturation{0.70, 0, 1}, saturation{0.70, 0, 1},
                                                       saturation{0.70, 0, 1}};

}  // namespace detail

/// A roofline whose shares depend on the work.
///
/// Moving data reaches `memory` of the bandwidth, by bytes; products and attention reach a share of the peak rate by
/// their arithmetic intensity (operations per byte moved), one curve per kind of arithmetic. The time is the longer of
/// both, and no kernel is shorter than its floor.
struct compute_profile {
  device_profile device = {};
  saturation memory = {0.70, 0, 1};
  saturation product_memory = memory;  ///< the same for products and attention, as their curves were fitted beside it
  by_arithmetic<saturation> product = detail::flat_shares;
  by_arithmetic<saturation> attention = detail::flat_shares;
  by_arithmetic<saturation> attention_backward = attention;
  double launch_us = 7;         ///< floor of kernels that move data
  double product_floor_us = 9;  ///< floor of products and attention

  compute_profile() = default;
  explicit compute_profile(const device_profile& d) : device(d) {}
  /// Every share flat, as in a roofline: gives exactly its times, so that a roofline stands wherever a profile is asked
  /// for.
  compute_profile(const roofline& flat)
      : device(flat.device),
        memory{flat.memory_efficiency, 0, 1},
        product_memory(memory),
        launch_us(flat.launch_us),
        product_floor_us(flat.launch_us) {
    product.fill({flat.flops_efficiency, 0, 1});
    attention.fill({flat.flops_efficiency, 0, 1});
    attention_backward = attention;
  }

  /// Microseconds to move so many bytes through the device's memory: `launch_us` at least.
  /// \pre device.memory_bandwidth > 0
  [[nodiscard]] double memory_time(bytes moved) const { return std::max(moving_time(moved, memory), launch_us); }

  /// Microseconds for the work, done by such a kernel.
  /// \throws error if the device has no rate for this kind of arithmetic
  [[nodiscard]] double compute_time(const device_work& work, kernel_kind kernel = kernel_kind::matrix_product) const {
    if (work.flops == 0 || kernel == kernel_kind::memory_bound) return memory_time(work.moved);
    const double rate = device.rate(work.kind);
    if (!(rate > 0))
      refuse(error_category::input,
             "device '" + std::string(device.name) + "' states no rate for this kind of arithmetic");
    const double moved = std::max(static_cast<double>(work.moved.count()), 1.0);
    const double share = shares_of(kernel)[static_cast<std::size_t>(work.kind)].at(work.flops / moved);
    return std::max({work.flops / rate * 1e6 / share, moving_time(work.moved, product_memory), product_floor_us});
  }

 private:
  [[nodiscard]] const by_arithmetic<saturation>& shares_of(kernel_kind kernel) const {
    if (kernel == kernel_kind::attention) return attention;
    return kernel == kernel_kind::attention_backward ? attention_backward : product;
  }
  [[nodiscard]] double moving_time(bytes moved, const saturation& share) const {
    const double amount = static_cast<double>(moved.count());
    if (!(amount > 0)) return 0;
    return amount / device.memory_bandwidth * 1e6 / share.at(amount);
  }
};

/// A measured share of a peak: at x (bytes, or operations per byte) so much was reached.
struct reached_share {
  double x = 0;
  double share = 0;
};

/// The saturation with the least sum of absolute relative errors, by search over half and power; the peak is the median
/// that fits. Made for tens to thousands of points: O(n) with a factor of some thousands.
/// \param steepest  the largest power; with 1 what takes x / share never takes less for more x
/// \throws error if there is no point, or one that is not positive
[[nodiscard]] inline saturation fit_saturation(std::span<const reached_share> measured, double steepest = 3) {
  if (measured.empty()) refuse(error_category::input, "a curve of shares needs a measurement");
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const reached_share& m : measured) {
    if (!(m.x > 0) || !(m.share > 0) || !std::isfinite(m.x) || !std::isfinite(m.share))
      refuse(error_category::input,
             "a share of " + number_text(m.share) + " at " + number_text(m.x) + ": both must be positive");
    low = std::min(low, m.x);
    high = std::max(high, m.x);
  }
  saturation best;
  double least = std::numeric_limits<double>::infinity();
  const auto offer = [&](double half, double power) {
    saturation s{1, half, power};
    std::vector<double> peaks;
    for (const reached_share& m : measured) peaks.push_back(m.share / s.at(m.x));
    s.peak = detail::median_of(std::move(peaks));
    double loss = 0;
    for (const reached_share& m : measured) loss += std::abs(s.at(m.x) / m.share - 1);
    if (loss < least) {
      least = loss;
      best = s;
    }
  };
  offer(0, 1);
  // a coarse grid over the points and a decade beyond them, then finer ones around the best, slowly: half and power
  // make up for each other
  double log_from = std::log(low / 10), log_to = std::log(high * 10), power_from = 0.3, power_to = steepest;
  for (int round = 0; round < 8; ++round) {
    constexpr int steps = 16;
    for (int i = 0; i <= steps; ++i)
      for (int j = 0; j <= steps; ++j)
        offer(std::exp(log_from + (log_to - log_from) * i / steps), power_from + (power_to - power_from) * j / steps);
    if (!(best.half > 0)) break;
    const double width = (log_to - log_from) / 4;
    const double around = (power_to - power_from) / 4;
    log_from = std::log(best.half) - width, log_to = std::log(best.half) + width;
    power_from = std::max(best.power - around, 0.05), power_to = std::min(best.power + around, steepest);
  }
  return best;
}

}  // namespace shardweave::inline v0
