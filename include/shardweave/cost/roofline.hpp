#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/device.hpp>

#include <algorithm>
#include <string>

/// \file
/// The time of an operation on one device: the slower of moving its data and doing its arithmetic.

namespace shardweave::inline v0 {

/// What one device does for one operation, counted on its own shard.
struct device_work {
  double flops = 0;  ///< 0 for operations that only move data
  bytes moved{};     ///< inputs read plus outputs written
  arithmetic kind = arithmetic::f16;
};

/// A roofline with flat efficiencies and the cost of a launch as floor. Views and graph inputs do no work at
/// all; do not ask for them.
///
/// Source of the efficiencies and the floor: the compute model of AutoParallel (BSD licence), June 2026.
struct roofline {
  device_profile device = {};
  double memory_efficiency = 0.70;  ///< share of the peak bandwidth that kernels reach
  double flops_efficiency = 0.70;   ///< share of the peak rate that matrix products reach
  double launch_us = 7;             ///< no kernel is faster

  /// Microseconds to move so many bytes through the device's memory: `launch_us` at least.
  /// \pre device.memory_bandwidth > 0
  [[nodiscard]] double memory_time(bytes moved) const {
    return std::max(static_cast<double>(moved.count()) / device.memory_bandwidth * 1e6 / memory_efficiency, launch_us);
  }

  /// Microseconds for the operation.
  /// \throws error if the device has no rate for this kind of arithmetic
  [[nodiscard]] double compute_time(const device_work& work) const {
    const double moving = memory_time(work.moved);
    if (work.flops == 0) return moving;
    const double rate = device.rate(work.kind);
    if (!(rate > 0))
      refuse(error_category::input,
             "device '" + std::string(device.name) + "' states no rate for this kind of arithmetic");
    return std::max(work.flops / rate * 1e6 / flops_efficiency, moving);
  }
};

}  // namespace shardweave::inline v0
