#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/saturation.hpp>
#include <shardweave/cost/size_curve.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace saturation_tests {
namespace {

using namespace shardweave;
using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("saturation") {
  TEST_CASE("wrong figures are refused in words") {
    CHECK(refusal_of([] { return saturating<>(alpha_beta(), -1.0); }) ==
          "a share that is half at -1 bytes with power 0.5: expected no negative size and a power in (0, 1]");
    CHECK(refusal_of([] { return saturating<>(alpha_beta(), 1.0, 0.0); }).find("with power 0") != std::string::npos);
    CHECK(refusal_of([] { return saturating<>(alpha_beta(), 1.0, 1.5); }).find("with power 1.5") != std::string::npos);
    CHECK(refusal_of([] { return saturating<>(alpha_beta(), 0.0, 1.0); }).empty());
    for (const timed_size& wrong : {timed_size{bytes(0), 1},
                                    {bytes(-1), 1},
                                    {bytes(8), 0},
                                    {bytes(8), -1},
                                    {bytes(8), std::numeric_limits<double>::infinity()}})
      CHECK(
          refusal_of([&] { return fit_saturated_line(std::span(&wrong, 1)); }).ends_with(" us: both must be positive"));
    const std::vector<timed_size> quick{{bytes(1000), .25}, {bytes(1'000'000), .5}};  // less than a microsecond is well
    CHECK(fit_saturated_line(quick).at(1000) == doctest::Approx(.25).epsilon(.01));
  }

  TEST_CASE("half of the peak is reached at the half, whatever the power, and more with more") {
    for (const double power : {.3, 1.0, 1.47, 3.0}) {
      const saturation s{.8, 1000, power};
      CHECK(s.at(1000) == doctest::Approx(.4));
      CHECK(s.at(0) == 0);
      CHECK(s.at(-5) == 0);
      CHECK(s.at(2000) == doctest::Approx(.8 * std::pow(2, power) / (std::pow(2, power) + 1)));
      CHECK(s.at(1e30) == doctest::Approx(.8));
    }
  }
}

TEST_SUITE("saturated_line") {
  TEST_CASE("figures that made the points are found again") {
    for (const double power : {0.3, 0.5, 0.8}) {
      const saturated_line truth{20, 400, 8e6, power};
      std::vector<timed_size> points;
      for (int i = 10; i <= 32; ++i) points.push_back({bytes(std::int64_t{1} << i), truth.at(std::exp2(i))});
      const saturated_line found = fit_saturated_line(points);
      CHECK(found.power == doctest::Approx(power));
      CHECK(found.latency_us == doctest::Approx(20).epsilon(0.01));
      CHECK(found.bandwidth == doctest::Approx(400).epsilon(0.01));
      CHECK(found.half_size == doctest::Approx(8e6).epsilon(0.05));
    }
  }

  TEST_CASE("a line grows with the size, and times that do not grow are latency") {
    const saturated_line line{5, 100, 1e7, 0.9};
    for (double s = 1; s < 1e12; s *= 1.1) CHECK(line.at(s * 1.1) >= line.at(s));
    CHECK(line.at(0) == 5);
    const std::vector<timed_size> flat{{bytes(1000), 9}, {bytes(2000), 9}};
    CHECK(fit_saturated_line(flat).at(1500) == doctest::Approx(9).epsilon(0.05));
    CHECK_THROWS_WITH_AS(fit_saturated_line({}), "a line of times needs a measurement", error);
  }

  TEST_CASE("a policy keeps the latency of its base and reaches half of its bandwidth at the half size") {
    const alpha_beta base(find_device("h100"));
    const saturating model(base, 32e6);
    const auto plain = base.estimate(collective::all_reduce, bytes(32'000'000), {8, 1});
    const auto slow = model.estimate(collective::all_reduce, bytes(32'000'000), {8, 1});
    CHECK(slow.latency_us == plain.latency_us);
    CHECK(slow.bandwidth_us == doctest::Approx(2 * plain.bandwidth_us));
    CHECK(slow.time_us == doctest::Approx(slow.latency_us + slow.bandwidth_us));
    CHECK(model.estimate(collective::all_reduce, bytes(0), {8, 1}).time_us == plain.latency_us);
    CHECK(model.estimate(collective::all_reduce, bytes(8), {1, 1}).time_us == 0);
    double last = 0;
    for (double s = 1; s < 1e12; s *= 1.3) {
      const double now = model.estimate(collective::all_gather, bytes(static_cast<std::int64_t>(s)), {8, 4}).time_us;
      CHECK(now >= last);
      last = now;
    }
    CHECK_THROWS_AS(saturating(base, 1e6, 1.5), error);
    CHECK_THROWS_AS(saturating(base, -1.0), error);
  }
}

}  // namespace saturation_tests
