#include "mpi_ranks.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/engine/mpi_calibration.hpp>
#include <shardweave/engine/mpi_session.hpp>

#include <doctest/doctest.h>
#include <mpi.h>

#include <cstdio>
#include <string>

namespace sw = shardweave;

namespace mpi_calibration_tests {
namespace {
using mpi_tests::check_ranks;
using mpi_tests::fail;
using mpi_tests::right;
using mpi_tests::same;
using mpi_tests::words_of;
}  // namespace

TEST_SUITE("mpi_calibration") {
  TEST_CASE("it measures every collective on pairs and on everyone, alike on all ranks") {
    check_ranks("calibration", "16 curve points");
  }

  TEST_CASE("sizes that do not grow and measurements of nothing are refused on every rank") {
    check_ranks("sizes to measure", "sizes are refused");
  }
}

TEST_SUITE("mpi rank") {
  TEST_CASE("calibration" * doctest::skip()) {
    sw::mpi_session session;
    try {
      const sw::mpi_calibration found =
          sw::calibrate_mpi(MPI_COMM_WORLD, {}, {.largest = sw::kibibytes(4), .repetitions = 3, .warm_up = 1});
      for (const sw::collective_measurement& m : found.device.collectives) {
        double least = 0, most = 0;
        MPI_Allreduce(&m.time_us, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&m.time_us, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (!(least > 0) || least != most) fail("a time is not positive, or not the same on all ranks");
        if (m.group.nodes != 1 || (m.group.ranks() != 2 && m.group.ranks() != 4)) fail("a group is wrong");
      }
      if (!(found.dram_bytes_per_ns > 0) || !found.device.under_load) fail("copies or contention are missing");
      if (session.rank() == 0) std::printf("RIGHT %zu curve points\n", found.device.collectives.size());
    } catch (const sw::error& e) {
      fail(e.what());
    }
  }

  TEST_CASE("sizes to measure" * doctest::skip()) {
    const sw::mpi_session session;
    const auto calibrated = [](const sw::mpi_calibration_options& options) {
      return words_of([&] { static_cast<void>(sw::calibrate_mpi(MPI_COMM_WORLD, {}, options)); });
    };
    const std::string rest =
        " repetitions, expected a size that is positive, a factor of 2 or more and one repetition or more";
    same(calibrated({.factor = 1}), "calibrate_mpi was given sizes from 1024 bytes by a factor of 1 and 15" + rest,
         "a factor of 1");
    same(calibrated({.smallest = sw::bytes(0)}),
         "calibrate_mpi was given sizes from 0 bytes by a factor of 4 and 15" + rest, "no size");
    same(calibrated({.repetitions = 0}), "calibrate_mpi was given sizes from 1024 bytes by a factor of 4 and 0" + rest,
         "no repetition");
    right(session, "sizes are refused");
  }
}

}  // namespace mpi_calibration_tests
