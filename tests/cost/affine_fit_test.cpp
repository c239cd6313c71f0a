#include <shardweave/cost/affine_fit.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace affine_fit_tests {
namespace {

using namespace shardweave;

}  // namespace

TEST_SUITE("fit_affine") {
  TEST_CASE("latency and scale are found in spite of outliers") {
    std::vector<time_pair> pairs;
    for (int i = 0; i < 20; ++i) {
      const double predicted = std::exp2(i);
      pairs.push_back({predicted, 15 + 1.25 * predicted});
    }
    pairs[0].measured_us *= 10;  // a first call
    pairs[11].measured_us *= 3;
    const affine_correction c = fit_affine(pairs);
    CHECK(c.offset_us == doctest::Approx(15).epsilon(1e-3));
    CHECK(c.scale == doctest::Approx(1.25).epsilon(1e-3));
  }

  TEST_CASE("neither figure is negative, and few pairs are enough") {
    const std::vector<time_pair> faster_than_through_zero{{10, 2}, {20, 12}, {40, 32}, {80, 72}};
    const affine_correction c = fit_affine(faster_than_through_zero);
    CHECK(c.offset_us >= 0);
    CHECK(c.scale > 0);
    const std::vector<time_pair> falling{{10, 30}, {20, 20}, {40, 10}};
    CHECK(fit_affine(falling).scale >= 0);
    CHECK(fit_affine({})(7) == 7);
    const std::vector<time_pair> one{{10, 25}};
    CHECK(fit_affine(one)(10) == doctest::Approx(25));
    const std::vector<time_pair> zero{{0, 25}};
    CHECK(fit_affine(zero).offset_us >= 0);
  }
}

}  // namespace affine_fit_tests
