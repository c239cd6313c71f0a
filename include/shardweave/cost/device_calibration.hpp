#pragma once

#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/cost/residual.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What was measured on one machine, kept together.

namespace shardweave::inline v0 {

/// The content of a device file: models are made from it, so that a host measures once.
struct device_calibration {
  std::string name;    ///< of the machine
  std::string device;  ///< the preset or built-in device that it is made of
  std::string source;  ///< who measured, when, with what
  std::vector<collective_measurement> collectives;
  std::optional<compute_profile> compute = {};  ///< shares and floors; its device stays with the host
  std::optional<contention> under_load = {};

  /// A model corrected by the measured collectives.
  /// \throws error as `residual` does
  template <class Base>
  [[nodiscard]] residual<Base> correct(Base base) const {
    return residual<Base>(std::move(base), collectives);
  }

  /// The measured shares and floors with the peaks of a device; the defaults of `compute_profile` if none were
  /// measured.
  [[nodiscard]] compute_profile compute_on(const device_profile& peaks) const {
    compute_profile result = compute.value_or(compute_profile());
    result.device = peaks;
    return result;
  }
};

/// Keeps of several measurements of one size the median, and so makes a small file of a long log. The order is by
/// collective, nodes, ranks per node, size.
/// Complexity: O(n log n)
[[nodiscard]] inline std::vector<collective_measurement> condensed(std::span<const collective_measurement> measured) {
  const auto rows = detail::sorted_measurements(measured);
  std::vector<collective_measurement> result;
  for (std::size_t from = 0; from < rows.size();) {
    std::size_t to = from;
    std::vector<double> times;
    while (to < rows.size() && detail::curve_key(rows[to]) == detail::curve_key(rows[from]) &&
           rows[to].size == rows[from].size)
      times.push_back(rows[to++].time_us);
    result.push_back(rows[from]);
    result.back().time_us = detail::median_of(std::move(times));
    from = to;
  }
  return result;
}

}  // namespace shardweave::inline v0
