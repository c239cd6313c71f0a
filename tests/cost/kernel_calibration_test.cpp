#include <shardweave/core/error.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/kernel_calibration.hpp>
#include <shardweave/io/read_kernels.hpp>

#include <doctest/doctest.h>
#include <support/shared_data.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace kernel_calibration_tests {
namespace {

using enum sw::kernel_kind;

/// A device on which a kernel takes exactly what a profile says, products of many sizes and shapes among them.
std::vector<sw::measured_kernel> kernels_by(const sw::compute_profile& truth, sw::arithmetic type) {
  std::vector<sw::measured_kernel> all;
  for (std::int64_t rows = 64; rows <= 16384; rows *= 2)
    for (const std::int64_t inner : {512, 4096, 14336}) {
      const sw::device_work work = sw::work_of({1, rows, inner, 4096}, 2, type);
      all.push_back({matrix_product, work, truth.compute_time(work)});
    }
  return all;
}

std::vector<sw::measured_kernel> measured_on(const std::string& device) {
  return sw::read_kernels(SHARDWEAVE_SOURCE_DIR "/tests/data/measured/kernels_" + device + ".csv");
}

}  // namespace

TEST_SUITE("calibrate_kernels") {
  TEST_CASE("times by a profile give that profile back, and leave kinds that were not measured") {
    sw::compute_profile before = sw::find_preset("h100").compute();
    before.product_memory = {100, 0, 1};  // which never says how long a product takes
    sw::compute_profile truth = before;
    const auto f16 = static_cast<std::size_t>(sw::arithmetic::f16), f8 = static_cast<std::size_t>(sw::arithmetic::f8);
    truth.product[f16] = {0.65, 90, 0.8};
    truth.memory = {0.8, 4e6, 0.9};
    truth.launch_us = 5;
    truth.product_floor_us = 11;
    std::vector<sw::measured_kernel> measured = kernels_by(truth, sw::arithmetic::f16);
    for (double size = 1e3; size < 4e9; size *= 3) {
      const sw::device_work moving{0, sw::bytes(std::llround(size)), sw::arithmetic::f16};
      measured.push_back({memory_bound, moving, truth.compute_time(moving, memory_bound)});
    }
    const sw::compute_profile found = sw::calibrate_kernels(before, measured);
    CHECK(found.launch_us == 5);
    CHECK(found.product_floor_us == 11);
    CHECK(found.product[f16].peak == doctest::Approx(0.65).epsilon(0.02));
    CHECK(found.product[f16].half == doctest::Approx(90).epsilon(0.1));
    CHECK(found.memory.peak == doctest::Approx(0.8).epsilon(0.02));
    for (const sw::kernel_kind kind : {matrix_product, memory_bound})
      CHECK(sw::kernel_errors(found, measured, kind).p90 < 2);
    CHECK(found.product[f8] == before.product[f8]);
    CHECK(found.attention == before.attention);
    CHECK(found.attention_backward == before.attention_backward);

    truth.product[f8] = {0.5, 200, 1};
    const sw::compute_profile in_8_bits = sw::calibrate_kernels(before, kernels_by(truth, sw::arithmetic::f8));
    CHECK(in_8_bits.product[f8].peak == doctest::Approx(0.5).epsilon(0.02));
    CHECK(in_8_bits.product[f16] == before.product[f16]);
    CHECK(in_8_bits.memory == before.memory);
    CHECK(in_8_bits.launch_us == before.launch_us);
  }

  TEST_CASE("where only short kernels were measured, the best share of them is reached") {
    const sw::compute_profile before = sw::find_preset("h100").compute();
    const sw::device_work small = sw::work_of({1, 128, 128, 128}, 2), larger = sw::work_of({1, 512, 512, 512}, 2);
    const std::vector<sw::measured_kernel> measured{{matrix_product, small, 10}, {matrix_product, larger, 12}};
    const auto found = sw::calibrate_kernels(before, measured).product[static_cast<std::size_t>(sw::arithmetic::f16)];
    CHECK(found.at(100) == doctest::Approx(larger.flops / 12e-6 / before.device.rate(sw::arithmetic::f16)));
  }

  TEST_CASE("whatever was measured, more work never takes less time") {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> noise(0.3, 3);
    for (int round = 0; round < 20; ++round) {
      const sw::compute_profile before = sw::find_preset("h200").compute();
      std::vector<sw::measured_kernel> measured = round == 0 ? measured_on("h200") : kernels_by(before, {});
      if (round > 0) {
        measured = kernels_by(before, sw::arithmetic::f16);
        for (sw::measured_kernel& k : measured) k.time_us *= noise(random);
        for (double size = 1e4; size < 1e9; size *= 3)
          measured.push_back({memory_bound, {0, sw::bytes(std::llround(size)), {}}, size / 3e6 * noise(random)});
      }
      const sw::compute_profile found = sw::calibrate_kernels(before, measured);
      double last = 0;
      for (std::int64_t size = 1; size < std::int64_t{1} << 34; size *= 2) {
        const double now = found.memory_time(sw::bytes(size));
        CHECK(now >= last);
        last = now;
      }
      last = 0;
      for (double flops = 1e6; flops < 1e13; flops *= 2) {  // on the same bytes
        const double now = found.compute_time({flops, sw::mebibytes(64), sw::arithmetic::f16});
        CHECK(now >= last);
        last = now;
      }
    }
  }

  TEST_CASE("of attention by several kernels the fastest counts") {
    const sw::device_work work{1e12, sw::mebibytes(10), sw::arithmetic::f16};
    const std::vector<sw::measured_kernel> all{{attention, work, 50},      {attention_backward, work, 90},
                                               {matrix_product, work, 70}, {attention, work, 40},
                                               {matrix_product, work, 60}, {attention_backward, work, 95}};
    const auto kept = sw::fastest_kernels(all);
    std::vector<double> times;
    for (const sw::measured_kernel& k : kept) times.push_back(k.time_us);
    CHECK(times == std::vector<double>{40, 90, 70, 60});
  }

  TEST_CASE("kernels of PyTorch on one H100 and one H200 against published shares, and against shares that they give") {
    struct expected {
      const char* device;
      sw::kernel_kind kind;
      sw::arithmetic type;
      double published, calibrated;  // median errors in percent, at most
    };
    for (const auto& [device, kind, type, published, calibrated] :
         {expected{"h100", matrix_product, sw::arithmetic::f16, 9, 5},
          expected{"h100", attention, sw::arithmetic::f16, 9, 4},
          expected{"h100", attention_backward, sw::arithmetic::f16, 25, 3},
          expected{"h200", matrix_product, sw::arithmetic::f16, 10, 9},
          expected{"h200", matrix_product, sw::arithmetic::f8, 14, 8},
          expected{"h200", attention, sw::arithmetic::f16, 9, 4},
          expected{"h200", attention_backward, sw::arithmetic::f16, 25, 3}}) {
      CAPTURE(device);
      CAPTURE(static_cast<int>(kind));
      const std::vector<sw::measured_kernel> measured = sw::fastest_kernels(measured_on(device));
      const sw::compute_profile before = sw::find_preset(device).compute();
      const sw::compute_profile found = sw::calibrate_kernels(before, measured);
      CHECK(sw::kernel_errors(before, measured, kind, type).median < published);
      CHECK(sw::kernel_errors(found, measured, kind, type).median < calibrated);
      CHECK(sw::kernel_errors(found, measured, kind, type).count >= 7);
    }
  }

  TEST_CASE("what published shares miss on one H100: large products a little, short attention's backward part a lot") {
    const sw::compute_profile published = sw::find_preset("h100").compute();
    std::vector<sw::measured_kernel> measured = sw::fastest_kernels(measured_on("h100"));
    const auto slower = [&](const sw::measured_kernel& k) {
      return k.time_us / published.compute_time(k.work, k.kind) - 1;
    };
    double least = 1, most = 0;
    for (const sw::measured_kernel& k : measured) {
      if (k.kind != attention_backward) continue;
      least = std::min(least, slower(k));
      most = std::max(most, slower(k));
    }
    CHECK(least == doctest::Approx(0.05).epsilon(0.1));
    CHECK(most == doctest::Approx(0.56).epsilon(0.02));
    std::erase_if(measured, [](const sw::measured_kernel& k) { return k.work.flops < 5e10; });
    const sw::error_figures products = sw::kernel_errors(published, measured, matrix_product);
    CHECK(products.signed_median == doctest::Approx(-4.9).epsilon(0.02));
    CHECK(products.p90 == doctest::Approx(14.2).epsilon(0.02));
  }

  TEST_CASE("a kernel that took no time, or does what the device cannot, is refused") {
    const sw::compute_profile a100 = sw::find_preset("a100").compute();
    const std::vector<sw::measured_kernel> instant{{memory_bound, {0, sw::bytes(100), {}}, 0}};
    CHECK_THROWS_WITH_AS((void)sw::calibrate_kernels(a100, instant),
                         "a kernel took 0 us to move 100 bytes: both must be positive", sw::error);
    const std::vector<sw::measured_kernel> small{{matrix_product, {1e9, sw::bytes(100), sw::arithmetic::f8}, 9}};
    CHECK_THROWS_WITH_AS(
        (void)sw::calibrate_kernels(a100, small),
        "a kernel does 1000000000 operations, of which 'a100' states a rate of 0: both must be positive", sw::error);
    CHECK(sw::calibrate_kernels(a100, {}).product == a100.product);
  }
}

}  // namespace kernel_calibration_tests
