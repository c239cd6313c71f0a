#include <shardweave/core/random.hpp>
#include <shardweave/cost/detail/group_rows.hpp>
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

}  // namespace size_curve_tests
