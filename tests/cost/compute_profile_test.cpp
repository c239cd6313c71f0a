#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device_presets.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace shardweave;

namespace compute_profile_tests {
TEST_SUITE("compute_profile") {
  TEST_CASE("flat shares give the times of the roofline") {
    const roofline flat{find_device("h100")};
    const compute_profile same(flat);
    for (std::int64_t n = 1; n < 1 << 15; n *= 2)
      for (const arithmetic kind : {arithmetic::f64, arithmetic::f32, arithmetic::f16, arithmetic::i8}) {
        const device_work work = work_of({1, n, 4096, n}, 2, kind);
        for (const kernel_kind kernel :
             {kernel_kind::matrix_product, kernel_kind::attention, kernel_kind::attention_backward})
          CHECK(same.compute_time(work, kernel) == doctest::Approx(flat.compute_time(work)));
        CHECK(same.compute_time(work, kernel_kind::memory_bound) == doctest::Approx(flat.memory_time(work.moved)));
        CHECK(same.memory_time(work.moved) == doctest::Approx(flat.memory_time(work.moved)));
      }
  }

  TEST_CASE("the published curve of matrix products is met") {
    // share = 0.742 a^1.47 / (a^1.47 + 150^1.47), a operations per byte
    const compute_profile h100 = find_preset("h100").compute();
    const device_work work = work_of({1, 8192, 8192, 8192}, 2);
    const double intensity = work.flops / static_cast<double>(work.moved.count());
    CHECK(intensity == doctest::Approx(8192.0 / 3));
    const double raised = std::pow(intensity, 1.47);
    const double share = 0.742 * raised / (raised + std::pow(150, 1.47));
    CHECK(h100.compute_time(work) == doctest::Approx(work.flops / (989e12 * share) * 1e6));
    CHECK(find_preset("h100").shares.product.at(150) == doctest::Approx(0.371));
    CHECK(h100.compute_time(work_of({1, 64, 64, 64}, 2)) == 9);  // no product is shorter than its floor
  }

  TEST_CASE("more rows never take less time") {
    const compute_profile h100 = find_preset("h100").compute();
    for (const std::int64_t inner : {512, 4096, 16384}) {
      double last = 0;
      for (std::int64_t rows = 64; rows <= 1 << 17; rows += rows / 4) {
        const double now = h100.compute_time(work_of({1, rows, inner, 4096}, 2));
        CHECK(now >= last * (1 - 1e-12));
        last = now;
      }
    }
  }

  TEST_CASE("arithmetic without a rate is refused") {
    compute_profile blank;
    blank.device.name = "blank";
    blank.device.memory_bandwidth = 1e12;
    CHECK(blank.compute_time({0, bytes(8), arithmetic::i8}) == 7);
    CHECK_THROWS_WITH_AS(blank.compute_time({1, bytes(8), arithmetic::i8}),
                         "device 'blank' states no rate for this kind of arithmetic", error);
  }
}

TEST_SUITE("fit_saturation") {
  TEST_CASE("a curve is found again from its points, in spite of outliers") {
    const saturation truth{0.742, 150, 1.47};
    std::vector<reached_share> points;
    for (double x = 5; x < 5000; x *= 1.3) points.push_back({x, truth.at(x)});
    points[3].share *= 4;
    const saturation found = fit_saturation(points);
    for (double x = 10; x < 5000; x *= 1.7) CHECK(found.at(x) == doctest::Approx(truth.at(x)).epsilon(0.03));
  }

  TEST_CASE("flat shares stay flat, and wrong points are refused") {
    const std::vector<reached_share> flat{{1, 0.7}, {10, 0.7}, {100, 0.7}};
    CHECK(fit_saturation(flat).at(1) == doctest::Approx(0.7).epsilon(0.01));
    CHECK(fit_saturation(flat).at(1e6) == doctest::Approx(0.7).epsilon(0.01));
    CHECK_THROWS_WITH_AS(fit_saturation({}), "a curve of shares needs a measurement", error);
    const std::vector<reached_share> wrong{{1, -0.5}};
    CHECK_THROWS_AS(fit_saturation(wrong), error);
    CHECK(saturation{}.at(7) == 1);
    CHECK(saturation{1, 10, 1}.at(0) == 0);
  }
}

}  // namespace compute_profile_tests
