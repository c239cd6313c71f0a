#include <shardweave/core/random.hpp>
#include <shardweave/cost/affine_fit.hpp>
#include <shardweave/cost/detail/group_rows.hpp>
#include <shardweave/cost/saturation.hpp>
#include <shardweave/cost/size_curve.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <vector>

using namespace shardweave;

namespace size_curve_tests {
namespace {

/// The least sum of absolute differences that a non-decreasing sequence reaches, by trying all levels that occur.
double best_isotonic_loss(const std::vector<double>& values) {
  std::vector<double> levels = values;
  std::sort(levels.begin(), levels.end());
  // cost[j]: the best so far with the last value at levels[j] or below
  std::vector<double> cost(levels.size(), 0);
  for (const double v : values) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < levels.size(); ++j) {
      least = std::min(least, cost[j]);
      cost[j] = least + std::abs(v - levels[j]);
    }
  }
  return *std::min_element(cost.begin(), cost.end());
}

std::vector<timed_size> points_of(std::initializer_list<std::pair<std::int64_t, double>> list) {
  std::vector<timed_size> points;
  for (const auto& [size, time] : list) points.push_back({bytes(size), time});
  return points;
}

}  // namespace

TEST_SUITE("isotonic_medians") {
  TEST_CASE("it is monotone and as near as any monotone sequence") {
    std::mt19937_64 random(5);
    for (int round = 0; round < 400; ++round) {
      std::vector<double> values(1 + random() % 12);
      for (double& v : values) v = static_cast<double>(random() % 20);
      const std::vector<double> level = detail::isotonic_medians(values);
      REQUIRE(level.size() == values.size());
      CHECK(std::is_sorted(level.begin(), level.end()));
      double loss = 0;
      for (std::size_t i = 0; i < values.size(); ++i) loss += std::abs(values[i] - level[i]);
      CHECK(loss == doctest::Approx(best_isotonic_loss(values)));
    }
  }
}

TEST_SUITE("sorted_sizes") {
  TEST_CASE("a size stands where a binary search finds it, however many share a doubling") {
    std::mt19937_64 random(6);
    for (int round = 0; round < 60; ++round) {
      std::vector<double> sizes;
      const auto bits = 1 + random() % 40;
      for (auto n = random() % 20; n > 0; --n)
        sizes.push_back(static_cast<double>((random() >> 1) % (std::uint64_t{2} << bits)));
      std::sort(sizes.begin(), sizes.end());
      const detail::sorted_sizes sorted(sizes);
      std::vector<double> asked{0, 1, 9.2e18};
      for (const double s : sizes) asked.insert(asked.end(), {std::max(s - 1, 0.0), s, s + 1, 2 * s});
      for (const double s : asked)
        CHECK(sorted.at_most(s) ==
              static_cast<std::size_t>(std::upper_bound(sizes.begin(), sizes.end(), s) - sizes.begin()));
    }
  }
}

TEST_SUITE("group_index") {
  TEST_CASE("it finds what a map finds, the first place of a key") {
    std::mt19937_64 random(7);
    detail::group_index index;
    CHECK(index.find(5) == detail::group_index::none);
    std::map<std::uint64_t, std::size_t> map;
    for (std::size_t i = 0; i < 500; ++i) {
      const std::uint64_t key = ((random() % 40) << 32) ^ (1 + random() % 12);
      index.add(key, i);
      map.emplace(key, i);
      const std::uint64_t other = ((random() % 40) << 32) ^ (1 + random() % 12);
      const auto found = map.find(other);
      CHECK(index.find(other) == (found == map.end() ? detail::group_index::none : found->second));
    }
    for (const auto& [key, place] : map) CHECK(index.find(key) == place);
    CHECK(index.find(0) == detail::group_index::none);
  }
}

TEST_SUITE("size_curve") {
  TEST_CASE("measured sizes get their measured times, and more data never takes less") {
    const auto points = points_of({{1 << 10, 12}, {1 << 14, 13}, {1 << 20, 20}, {1 << 26, 300}, {1 << 30, 4100}});
    const size_curve curve(points);
    for (const timed_size& p : points) CHECK(curve.at(p.size) == doctest::Approx(p.time_us));
    double last = 0;
    for (double log_size = 0; log_size < 36; log_size += 0.01) {
      const double now = curve.at(bytes(static_cast<std::int64_t>(std::exp2(log_size))));
      CHECK(now >= last);
      CHECK(now <= std::max(last, 12.0) * 1.2);  // no cliffs on a grid of 0.7 %
      last = now;
    }
  }

  TEST_CASE("a straight line in logarithms is reproduced between its points") {
    const size_curve curve(points_of({{1 << 20, 10}, {1 << 24, 40}, {1 << 28, 160}}));
    CHECK(curve.at(bytes(1 << 22)) == doctest::Approx(20));
    CHECK(curve.at(bytes(1 << 26)) == doctest::Approx(80));
  }

  TEST_CASE("outside of the points latency stays below and bandwidth above") {
    const size_curve curve(points_of({{1000, 12}, {2000, 14}, {4000, 20}}));
    CHECK(curve.at(bytes(0)) == doctest::Approx(10));  // 2 us per 1000 bytes leave 10
    CHECK(curve.latency_us() == doctest::Approx(10));
    CHECK(curve.at(bytes(500)) == doctest::Approx(11));
    CHECK(curve.at(bytes(8000)) == doctest::Approx(40));
    CHECK_FALSE(curve.covers(bytes(999)));
    CHECK(curve.covers(bytes(1000)));
    CHECK(curve.covers(bytes(4000)));
    CHECK_FALSE(curve.covers(bytes(4001)));
    // where a line would leave less than nothing the bandwidth of the first point goes on
    const size_curve steep(points_of({{1000, 10}, {2000, 40}}));
    CHECK(steep.at(bytes(500)) == doctest::Approx(5));
    CHECK(steep.at(bytes(0)) == 0);
    const size_curve single(points_of({{1000, 10}}));
    CHECK(single.at(bytes(1)) == doctest::Approx(10));
    CHECK(single.at(bytes(3000)) == doctest::Approx(30));
  }

  TEST_CASE("repetitions count by their median and falling points are levelled") {
    const size_curve curve(points_of({{1000, 130}, {1000, 10}, {1000, 11}, {2000, 9}, {4000, 20}}));
    CHECK(curve.at(bytes(1000)) == doctest::Approx(std::sqrt(11 * 9)));
    CHECK(curve.at(bytes(2000)) == doctest::Approx(std::sqrt(11 * 9)));
    CHECK(curve.points().size() == 3);
    CHECK(curve.points()[2].time_us == doctest::Approx(20));
  }

  TEST_CASE("what cannot be measured is refused") {
    CHECK_THROWS_WITH_AS(size_curve(points_of({})), "a curve of times needs a measurement", error);
    CHECK_THROWS_WITH_AS(size_curve(points_of({{0, 1}})), "a measurement of 0 bytes in 1 us: both must be positive",
                         error);
    CHECK_THROWS_AS(size_curve(points_of({{1, 0}})), error);
    CHECK_THROWS_AS(size_curve(points_of({{1, std::nan("")}})), error);
    CHECK_THROWS_AS(size_curve(points_of({{1, std::numeric_limits<double>::infinity()}})), error);
  }
}

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

}  // namespace size_curve_tests
