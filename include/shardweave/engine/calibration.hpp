#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/device_calibration.hpp>

#include <cstddef>
#include <cstdint>

/// \file
/// What the calibration of a machine asks for and finds, whatever its ranks communicate by.

namespace shardweave::inline v0 {

/// Which sizes a calibration measures, and how often each.
struct calibration_options {
  bytes smallest = kibibytes(1);  ///< of the larger buffer of a rank
  bytes largest = mebibytes(4);
  std::int64_t factor = 4;       ///< from one size to the next
  std::size_t repetitions = 15;  ///< of each size; the median is kept
  std::size_t warm_up = 3;
};

/// What was measured: the content of a device file, and the speed of copies, which task graphs carry themselves.
struct machine_calibration {
  device_calibration device = {};
  double dram_bytes_per_ns = 0;  ///< bytes read and written by a copy, both counted, as `copy_time` counts them
};

}  // namespace shardweave::inline v0
