#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/isotonic.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/cost/residual.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

/// \file
/// How far a model is from measurements, by size.

namespace shardweave::inline v0 {

/// Relative errors |predicted - measured| / measured, in percent. Of nothing all figures are 0.
struct error_figures {
  std::size_t count = 0;
  double mean = 0;
  double median = 0;
  double p90 = 0;            ///< nine of ten are at most this
  double signed_median = 0;  ///< negative where the model is too fast

  /// \param signed_percent  (predicted - measured) / measured of each, in percent
  [[nodiscard]] static error_figures of(std::vector<double> signed_percent) {
    error_figures f;
    if (signed_percent.empty()) return f;
    f.count = signed_percent.size();
    f.signed_median = detail::median_of(signed_percent);
    for (double& e : signed_percent) {
      e = std::abs(e);
      f.mean += e / static_cast<double>(f.count);
    }
    std::sort(signed_percent.begin(), signed_percent.end());
    f.median = detail::median_of(signed_percent);
    f.p90 = signed_percent[(f.count * 9 + 9) / 10 - 1];
    return f;
  }
};

/// Sizes from `from` to below `to`.
struct size_band {
  std::string_view name;
  bytes from{};
  bytes to{};
  [[nodiscard]] constexpr bool holds(bytes size) const { return size >= from && size < to; }
};

/// The bands by which errors are reported.
inline constexpr std::array size_bands{
    size_band{"below 64 KiB", bytes(0), kibibytes(64)}, size_band{"64 KiB to 1 MiB", kibibytes(64), mebibytes(1)},
    size_band{"1 to 32 MiB", mebibytes(1), mebibytes(32)}, size_band{"32 to 512 MiB", mebibytes(32), mebibytes(512)},
    size_band{"from 512 MiB", mebibytes(512), bytes(std::numeric_limits<std::int64_t>::max())}};

/// (predicted - measured) / measured of those measurements whose size lies in the band, in percent.
/// Complexity: an estimate per measurement in the band
template <class Model>
[[nodiscard]] std::vector<double> signed_errors(const Model& model, std::span<const collective_measurement> measured,
                                                const size_band& band) {
  std::vector<double> result;
  for (const collective_measurement& m : measured)
    if (band.holds(m.size))
      result.push_back((detail::estimate_by(model, m.kind, m.size, m.group).time_us / m.time_us - 1) * 100);
  return result;
}

/// One row per band of `size_bands`.
using accuracy_report = std::array<error_figures, size_bands.size()>;

/// The errors of a model on measurements. Repetitions count each.
template <class Model>
[[nodiscard]] accuracy_report accuracy(const Model& model, std::span<const collective_measurement> measured) {
  accuracy_report report;
  for (std::size_t i = 0; i < report.size(); ++i)
    report[i] = error_figures::of(signed_errors(model, measured, size_bands[i]));
  return report;
}

/// A corrected model and how good the correction is on sizes that it did not see.
template <class Base>
struct calibration {
  residual<Base> model;      ///< fitted to everything
  accuracy_report held_out;  ///< of a twin fitted to every second size, on the others
  accuracy_report before;    ///< of the base alone, on the same others
};

/// Corrects a model by measurements and tells how far to trust the result.
/// \throws error as `residual` does
template <class Base>
[[nodiscard]] calibration<Base> calibrate(const Base& base, std::span<const collective_measurement> measured) {
  const struct held_out parts = every_second_size(measured);
  return {residual<Base>(base, measured), accuracy(residual<Base>(base, parts.seen), parts.unseen),
          accuracy(base, parts.unseen)};
}

}  // namespace shardweave::inline v0
