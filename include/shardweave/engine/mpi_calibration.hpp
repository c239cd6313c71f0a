#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/mpi_engine.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/tasks/task.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

/// \file
/// Measures the machine that an MPI run is on, through the engine that replays schedules.

namespace shardweave {
inline namespace v0 {

struct mpi_calibration_options {
  bytes smallest = kibibytes(1);  ///< of the larger buffer of a rank
  bytes largest = mebibytes(4);
  std::int64_t factor = 4;       ///< from one size to the next
  std::size_t repetitions = 15;  ///< of each size; the median is kept
  std::size_t warm_up = 3;
};

/// What was measured: the content of a device file, and the speed of copies, which task graphs carry themselves.
struct mpi_calibration {
  device_calibration device = {};
  double dram_bytes_per_ns = 0;  ///< bytes read and written by a copy, both counted, as `copy_time` counts them
};

/// How many ranks share this rank's node. Every rank calls.
[[nodiscard]] inline std::int64_t ranks_on_node(MPI_Comm world) {
  MPI_Comm made = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made), "MPI_Comm_split_type");
  return mpi_communicator(made).size();
}

namespace detail {

/// The middle value; of an even number the upper one.
/// \pre there is one
[[nodiscard]] inline double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Measures on one engine, whose ranks all call alike.
class mpi_sweep {
 public:
  mpi_sweep(MPI_Comm world, const mpi_engine_options& engine, const mpi_calibration_options& options)
      : options_(options), engine_(world, engine), ranks_per_node_(ranks_on_node(world)) {
    engine_.check(false);
  }
  [[nodiscard]] int world_size() const { return engine_.world().size(); }

  void connect(std::int64_t ranks) {
    const process_group group{.id = 0, .name = "calibration", .size = ranks, .stride = 1};
    engine_.connect(std::span(&group, 1));
  }
  /// How a group of neighbours lies on nodes.
  [[nodiscard]] group_shape shape(std::int64_t ranks) const {
    const std::int64_t here = std::min(ranks, ranks_per_node_);
    return {.ranks_per_node = here, .nodes = std::max<std::int64_t>(ranks / here, 1)};
  }
  /// The median of what the slowest rank takes from its launch to its end, in microseconds.
  [[nodiscard]] double collective_us(collective kind, bytes size, std::int64_t ranks) {
    return median([&] { return together(kind, size, ranks, nanoseconds(0)).collective; });
  }
  struct pair_of_times {
    double collective = 0;
    double computation = 0;
  };
  /// A collective, work of some duration, and a wait.
  pair_of_times together(collective kind, bytes size, std::int64_t ranks, nanoseconds work) {
    check_mpi(MPI_Barrier(engine_.world().get()), "MPI_Barrier");
    const bytes in = kind == collective::all_gather ? size / ranks : size;
    const collective_call call{0, 0, name_of(kind), "f32", "sum", in, size, {}, {}};
    const std::size_t launched = engine_.start(call);
    const std::size_t worked = engine_.run({0, work, compute_work::task, nullptr});
    engine_.wait(launched);
    engine_.finish();
    return {to_microseconds(engine_.span(launched).length()), to_microseconds(engine_.span(worked).length())};
  }
  /// Of the slowest rank, the median of many.
  template <class Measure>
  [[nodiscard]] double median(Measure measure) {
    std::vector<double> times;
    for (std::size_t i = 0; i < options_.warm_up + options_.repetitions; ++i) {
      const double mine = measure();
      double slowest = 0;
      check_mpi(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, engine_.world().get()), "MPI_Allreduce");
      if (i >= options_.warm_up) times.push_back(slowest);
    }
    return middle_of(std::move(times));
  }
  [[nodiscard]] double copy_bytes_per_ns() {
    constexpr std::size_t size = std::size_t{1} << 20U;
    std::vector<std::byte> from(size), to(size);
    const double us = median([&] {
      using clock = std::chrono::steady_clock;
      const auto begin = clock::now();
      std::memcpy(to.data(), from.data(), size);
      const volatile std::byte read = to[size / 2];
      static_cast<void>(read);
      return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
    });
    return 2.0 * static_cast<double>(size) / (us * 1e3);
  }

 private:
  mpi_calibration_options options_;
  mpi_engine engine_;
  std::int64_t ranks_per_node_;
};

}  // namespace detail

/// Every rank of `world` calls, and gets the same answer: collectives of every kind on groups of neighbours of every
/// size that divides the run, alone and while this rank computes, and copies.
///
/// The device's `under_load` says what computation and a collective do to each other: `compute_factor` is what a
/// piece of computation takes that is as long as the collective, with it and without it.
/// \throws error (input) for sizes that do not grow and measurements of nothing, else as the engine does
[[nodiscard]] inline mpi_calibration calibrate_mpi(MPI_Comm world = MPI_COMM_WORLD,
                                                   const mpi_engine_options& engine = {},
                                                   const mpi_calibration_options& options = {}) {
  if (options.smallest < bytes(1) || options.factor < 2 || options.repetitions < 1)
    refuse(error_category::input,
           "calibrate_mpi was given sizes from " + std::to_string(options.smallest.count()) + " bytes by a factor of " +
               std::to_string(options.factor) + " and " + std::to_string(options.repetitions) +
               " repetitions, expected a size that is positive, a factor of 2 or more and one repetition or more");
  detail::mpi_sweep sweep(world, engine, options);
  mpi_calibration found;
  std::vector<double> slower_work, slower_collective;
  for (std::int64_t ranks = 2; ranks <= sweep.world_size(); ++ranks) {
    if (sweep.world_size() % ranks != 0) continue;
    sweep.connect(ranks);
    for (const collective kind :
         {collective::all_gather, collective::reduce_scatter, collective::all_reduce, collective::all_to_all})
      for (bytes size = options.smallest; size <= options.largest; size *= options.factor) {
        const double alone = sweep.collective_us(kind, size, ranks);
        found.device.collectives.push_back({kind, sweep.shape(ranks), size, std::max(alone, 1e-3)});
        if (size < kibibytes(64) || ranks != sweep.world_size()) continue;
        const nanoseconds work = from_microseconds(2 * alone);
        const double busy = sweep.median([&] { return sweep.together(kind, size, ranks, work).collective; });
        const double with = sweep.median([&] { return sweep.together(kind, size, ranks, work).computation; });
        slower_collective.push_back(busy / alone);
        slower_work.push_back(1 + std::max(0.0, with - to_microseconds(work)) / alone);
      }
  }
  contention load;
  load.counts_processors = load.counts_memory = false;
  if (!slower_work.empty()) {
    load.compute_factor = std::max(1.0, detail::middle_of(slower_work));
    load.collective_factor = std::max(1.0, detail::middle_of(slower_collective));
  }
  found.dram_bytes_per_ns = sweep.copy_bytes_per_ns();
  load.memory_bandwidth = found.dram_bytes_per_ns;
  found.device.under_load = load;
  found.device.name = "host of " + std::to_string(sweep.world_size()) + " ranks";
  found.device.source = "calibrate_mpi";
  return found;
}

}  // namespace v0
}  // namespace shardweave
