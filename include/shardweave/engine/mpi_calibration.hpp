#pragma once

#include <shardweave/engine/calibration.hpp>
#include <shardweave/engine/detail/calibration_sweep.hpp>
#include <shardweave/engine/mpi_engine.hpp>
#include <shardweave/engine/mpi_session.hpp>

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

/// \file
/// Measures the machine that an MPI run is on, through the engine that replays schedules.

namespace shardweave::inline v0 {

/// The options of `calibration.hpp`, by the name that this header gave them first.
using mpi_calibration_options = calibration_options;
/// The result of `calibration.hpp`, by the name that this header gave it first.
using mpi_calibration = machine_calibration;

/// How many ranks share this rank's node. Every rank calls.
[[nodiscard]] inline std::int64_t ranks_on_node(MPI_Comm world) {
  MPI_Comm made = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made), "MPI_Comm_split_type");
  return mpi_communicator(made).size();
}

namespace detail {

/// Bytes read and written by a copy in a nanosecond, both counted.
template <class Sweep>
[[nodiscard]] double copy_bytes_per_ns(Sweep& sweep) {
  constexpr std::size_t size = std::size_t{1} << 20U;
  std::vector<std::byte> from(size), to(size);
  const double us = sweep.median([&] {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    std::memcpy(to.data(), from.data(), size);
    const volatile std::byte read = to[size / 2];
    static_cast<void>(read);
    return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
  });
  return 2.0 * static_cast<double>(size) / (us * 1e3);
}

}  // namespace detail

/// Every rank of `world` calls, and gets the same answer: collectives of every kind on groups of neighbours of every
/// size that divides the run and lies alike on nodes, alone and while this rank computes, and copies.
///
/// The device's `under_load` says what computation and a collective do to each other: `compute_factor` is what a
/// piece of computation takes that is as long as the collective, with it and without it.
/// \throws error (input) for sizes that do not grow and measurements of nothing, else as the engine does
[[nodiscard]] inline mpi_calibration calibrate_mpi(MPI_Comm world = MPI_COMM_WORLD,
                                                   const mpi_engine_options& options = {},
                                                   const mpi_calibration_options& sizes = {}) {
  mpi_engine engine(world, options);
  engine.check(false);
  const MPI_Comm comm = engine.world().get();
  detail::calibration_sweep sweep(
      "calibrate_mpi", engine, sizes, engine.world().size(), ranks_on_node(world), [comm](double mine) {
        double slowest = 0;
        check_mpi(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm), "MPI_Allreduce");
        return slowest;
      });
  mpi_calibration found;
  sweep.measure(found.device);
  found.dram_bytes_per_ns = detail::copy_bytes_per_ns(sweep);
  found.device.under_load->memory_bandwidth = found.dram_bytes_per_ns;
  found.device.name = "host of " + std::to_string(engine.world().size()) + " ranks";
  found.device.source = "calibrate_mpi";
  return found;
}

}  // namespace shardweave::inline v0
