#include "nccl_ranks.hpp"
#include <shardweave/engine/nccl_calibration.hpp>
#include <shardweave/engine/nccl_engine.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace nccl_calibration_tests {
namespace {
using nccl_tests::has_devices;
using nccl_tests::nothing_left;
using nccl_tests::on_ranks;
using nccl_tests::small_options;
}  // namespace

TEST_SUITE("nccl_calibration, on the double") {
  TEST_CASE("it finds what the double takes: curves of every kind on pairs and on everyone, and copies") {
    const nothing_left after({.copy_ns = 100});
    std::vector<sw::machine_calibration> found(4);
    const auto words = on_ranks(4, small_options(), [&](sw::nccl_engine& engine) {
      found[static_cast<std::size_t>(engine.rank())] =
          sw::calibrate_nccl(engine, {.largest = sw::kibibytes(64), .factor = 8, .repetitions = 1, .warm_up = 0}, 2);
    });
    CHECK(words == std::vector<std::string>(4));
    for (const sw::machine_calibration& one : found) {
      CHECK(one.device.collectives == found[0].device.collectives);
      CHECK(one.dram_bytes_per_ns == doctest::Approx(100).epsilon(1e-4));  // the double counts whole nanoseconds
      CHECK(one.device.collectives.size() == 24);                          // 4 kinds, 3 sizes, 2 groups
      for (const sw::collective_measurement& m : one.device.collectives) {
        CHECK(m.group.ranks_per_node == 2);
        CHECK(m.group.nodes == m.group.ranks() / 2);
        CHECK(m.time_us == doctest::Approx(10 + static_cast<double>(m.size.count()) / 1e5).epsilon(1e-3));
      }
      // the double's copies and collectives do not disturb each other
      CHECK(one.device.under_load->compute_factor == doctest::Approx(1).epsilon(1e-3));
      CHECK(one.device.under_load->collective_factor == doctest::Approx(1).epsilon(1e-3));
    }
    CHECK(found[0].device.name == "4 devices of compute capability 9.0");
  }
}

TEST_SUITE("nccl_calibration, on a device") {
  TEST_CASE("a calibration of one rank measures copies, and knows the device") {
    if (!has_devices(1)) return;
    sw::nccl_engine engine(sw::meet_alone(), small_options());
    const sw::machine_calibration found = sw::calibrate_nccl(engine);
    CHECK(found.device.collectives.empty());
    CHECK(found.dram_bytes_per_ns == engine.work().dram_bytes_per_ns());
    REQUIRE(found.device.under_load);
    CHECK(found.device.under_load->memory_bandwidth == found.dram_bytes_per_ns);
    CHECK(found.device.under_load->processors > 0);
    CHECK(found.device.name.starts_with("1 devices of compute capability "));
    CHECK_THROWS_WITH_AS(
        sw::calibrate_nccl(engine, {.factor = 1}),
        "calibrate_nccl was given sizes from 1024 bytes by a factor of 1 and 15 repetitions, expected a size that is "
        "positive, a factor of 2 or more and one repetition or more",
        sw::error);
  }
}

}  // namespace nccl_calibration_tests
