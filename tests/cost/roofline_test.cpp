#include <shardweave/core/error.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/roofline.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace roofline_tests {
namespace {

using namespace shardweave;

}  // namespace

TEST_SUITE("roofline") {
  const roofline h100{find_device("h100")};

  TEST_CASE("published anchors of a matrix product and of moving data are met") {
    const auto product = [](std::int64_t rows, std::int64_t inner, std::int64_t columns) {
      return device_work{2.0 * static_cast<double>(rows * inner) * static_cast<double>(columns),
                         bytes(2 * (rows * inner + inner * columns + rows * columns)), arithmetic::f16};
    };
    CHECK(h100.compute_time(product(16L * 8192, 4096, 14336)) == doctest::Approx(22234.8155).epsilon(1e-7));
    CHECK(h100.compute_time(product(2L * 8192, 4096, 14336)) == doctest::Approx(2779.3519).epsilon(1e-7));
    CHECK(h100.compute_time(product(2L * 8192, 4096, 14336L / 8)) == doctest::Approx(347.4190).epsilon(1e-6));
    CHECK(h100.compute_time(product(2L * 8192, 4096L / 8, 14336)) == doctest::Approx(347.4190).epsilon(1e-6));
    const std::int64_t shard = 16LL * 8192 * 4096 / 64;
    CHECK(h100.compute_time({0, bytes(6 * shard), arithmetic::f16}) == doctest::Approx(19.5208).epsilon(1e-5));
    CHECK(h100.compute_time({0, bytes(48 * shard), arithmetic::f16}) == doctest::Approx(156.1667).epsilon(1e-6));
  }

  TEST_CASE("nothing is faster than a launch") {
    CHECK(h100.memory_time(bytes(0)) == 7);
    CHECK(h100.memory_time(bytes(1)) == 7);
    CHECK(h100.compute_time({1, bytes(8), arithmetic::f16}) == 7);
    roofline quick = h100;
    quick.launch_us = 0;
    CHECK(quick.memory_time(bytes(0)) == 0);
    CHECK(quick.memory_time(bytes(1000)) > 0);
  }

  TEST_CASE("time grows with size and work") {
    for (std::int64_t n = 1 << 20; n < 1LL << 36; n *= 2) {
      CHECK(h100.memory_time(bytes(2 * n)) >= h100.memory_time(bytes(n)));
      const device_work work{static_cast<double>(n) * 1e3, bytes(n), arithmetic::f32};
      CHECK(h100.compute_time(work) >= h100.memory_time(bytes(n)));
    }
  }

  TEST_CASE("arithmetic without a rate is refused") {
    roofline blank;
    blank.device.name = "blank";
    blank.device.memory_bandwidth = 1e12;
    CHECK(blank.compute_time({0, bytes(8), arithmetic::i8}) == 7);
    CHECK_THROWS_WITH_AS(blank.compute_time({1, bytes(8), arithmetic::i8}),
                         "device 'blank' states no rate for this kind of arithmetic", error);
  }
}

}  // namespace roofline_tests
