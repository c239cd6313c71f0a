#pragma once

#include <shardweave/engine/calibration.hpp>
#include <shardweave/engine/detail/calibration_sweep.hpp>
#include <shardweave/engine/nccl_engine.hpp>
#include <shardweave/engine/nccl_handles.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>
#include <string>

/// \file
/// Measures the devices that a run is on, through the engine that replays schedules.

namespace shardweave::inline v0 {

/// Every rank calls, and gets the same answer: collectives of every kind on groups of neighbours of every size that
/// divides the run and lies alike on nodes, alone and while the device copies, and copies. A run of one rank measures
/// copies alone. Values are not checked from then on.
///
/// The device's `under_load` says what a collective and what stands in for computation do to each other: copies, which
/// feel what memory-bound computation would, or what `compute_by` was given.
/// \param ranks_per_node  how many neighbours share a node; 0 = all
/// \throws error (input) for sizes that do not grow and measurements of nothing, else as the engine does
[[nodiscard]] inline machine_calibration calibrate_nccl(nccl_engine& engine, const calibration_options& sizes = {},
                                                        std::int64_t ranks_per_node = 0) {
  engine.check(false);
  const std::int64_t here = ranks_per_node > 0 ? ranks_per_node : engine.size();
  detail::calibration_sweep sweep("calibrate_nccl", engine, sizes, engine.size(), here,
                                  [&engine](double mine) { return engine.largest(mine); });
  machine_calibration found;
  sweep.measure(found.device);
  found.dram_bytes_per_ns = -engine.largest(-engine.work().dram_bytes_per_ns());  // of the slowest
  contention& load = *found.device.under_load;
  load.memory_bandwidth = found.dram_bytes_per_ns;
  int device = 0, processors = 0, major = 0, minor = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
  load.processors = processors;
  found.device.name = std::to_string(engine.size()) + " devices of compute capability " + std::to_string(major) + "." +
                      std::to_string(minor);
  int version = 0;
  check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  found.device.source = "calibrate_nccl, NCCL " + std::to_string(version);
  return found;
}

}  // namespace shardweave::inline v0
