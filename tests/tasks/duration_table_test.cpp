#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace duration_table_tests {
namespace {

sw::duration_table table(std::vector<std::int64_t> x, std::vector<std::int64_t> y) {
  std::vector<sw::bytes> sizes;
  std::vector<sw::nanoseconds> times;
  for (const auto v : x) sizes.emplace_back(v);
  for (const auto v : y) times.emplace_back(v);
  return sw::duration_table(sw::collective::all_gather, 2, sizes, times);
}
std::int64_t at(const sw::duration_table& t, std::int64_t size) { return t(sw::bytes(size)).count(); }

}  // namespace

TEST_SUITE("duration_table") {
  TEST_CASE("it is constant below the first point, straight between points, and keeps the last slope") {
    const auto t = table({10, 20, 40}, {100, 200, 210});
    CHECK(at(t, 0) == 100);
    CHECK(at(t, 10) == 100);
    CHECK(at(t, 15) == 150);
    CHECK(at(t, 20) == 200);
    CHECK(at(t, 30) == 205);
    CHECK(at(t, 40) == 210);
    CHECK(at(t, 60) == 220);
  }
  TEST_CASE("halves go to the even nanosecond") {
    const auto t = table({0, 2}, {0, 1});
    CHECK(at(t, 1) == 0);                      // 0.5
    CHECK(at(t, 3) == 2);                      // 1.5
    CHECK(at(t, 5) == 2);                      // 2.5
    CHECK(at(table({0, 2}, {3, 0}), 1) == 2);  // 1.5, falling
    CHECK(at(table({0, 2}, {5, 0}), 1) == 2);  // 2.5, falling
  }
  TEST_CASE("a falling last segment leads to 0 and not below it") {
    CHECK(at(table({0, 2}, {2, 1}), 3) == 0);  // 0.5
    CHECK(at(table({0, 2}, {2, 1}), 4) == 0);
    CHECK(at(table({0, 2}, {1, 0}), 5) == 0);             // -1.5
    CHECK(at(table({100, 200}, {1000, 10}), 1000) == 0);  // -7910
    CHECK(at(table({0, 1}, {1, 0}), std::int64_t{1} << 60) == 0);
  }
  TEST_CASE("a single point is a constant") {
    CHECK(at(table({7}, {9}), 0) == 9);
    CHECK(at(table({7}, {9}), 1'000'000'000'000) == 9);
  }
  TEST_CASE("products beyond 64 bits do not overflow") {
    const auto t = table({0, 4'000'000'000'000}, {0, 8'000'000'000'000});
    CHECK(at(t, 3'000'000'000'001) == 6'000'000'000'002);
  }
  TEST_CASE("random tables agree with floating point to within its precision") {
    sw::random_source random(5);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::int64_t> x{static_cast<std::int64_t>(random.below(50))}, y;
      for (int i = 0; i < 5; ++i) x.push_back(x.back() + 1 + static_cast<std::int64_t>(random.below(1000)));
      for (int i = 0; i < 6; ++i) y.push_back(static_cast<std::int64_t>(random.below(100000)));
      const auto t = table(x, y);
      const auto size = static_cast<std::int64_t>(random.below(6000));
      std::size_t i = 0;
      while (i + 2 < x.size() && x[i + 1] <= size) ++i;
      const double slope = static_cast<double>(y[i + 1] - y[i]) / static_cast<double>(x[i + 1] - x[i]);
      const double line = static_cast<double>(y[i]) + slope * static_cast<double>(size - x[i]);
      const double value = size <= x[0] ? static_cast<double>(y[0]) : std::max(line, 0.0);
      CHECK(std::abs(static_cast<double>(at(t, size)) - value) <= 0.5 + 1e-6);
    }
  }
  TEST_CASE("wrong points are refused") {
    CHECK_THROWS_WITH_AS(
        table({}, {}),
        "duration table of all_gather on group 2 has 0 sizes and 0 times, expected as many and at least one",
        sw::error);
    CHECK_THROWS_WITH_AS(
        table({1, 2}, {1}),
        "duration table of all_gather on group 2 has 2 sizes and 1 time, expected as many and at least one", sw::error);
    CHECK_THROWS_WITH_AS(table({1, 3, 3}, {1, 2, 3}),
                         "duration table of all_gather on group 2: size 2 is 3, expected more than 3", sw::error);
    CHECK_THROWS_WITH_AS(table({1, 3}, {1, -1}),
                         "duration table of all_gather on group 2: time 1 is -1 ns, expected none below 0", sw::error);
  }
}

TEST_SUITE("copy_time") {
  TEST_CASE("it reads and writes each byte once, rounded to even") {
    CHECK(sw::copy_time(sw::bytes(3350), 3350) == sw::nanoseconds(2));
    CHECK(sw::copy_time(sw::bytes(1), 4) == sw::nanoseconds(0));  // 0.5
    CHECK(sw::copy_time(sw::bytes(3), 4) == sw::nanoseconds(2));  // 1.5
    CHECK(sw::copy_time(sw::bytes(5), 4) == sw::nanoseconds(2));  // 2.5
    CHECK(sw::copy_time(sw::bytes(5), 0) == sw::nanoseconds(0));
  }

  TEST_CASE("sizes below 0 are refused") {
    CHECK_THROWS_WITH_AS(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(-1), sw::bytes(1)},
                                            {sw::nanoseconds(0), sw::nanoseconds(10)}),
                         doctest::Contains("size 0 is -1 bytes, expected none below 0"), sw::error);
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 4});
    b.add_table({});
    CHECK_THROWS_WITH_AS(std::move(b).build(), doctest::Contains("has no times, expected one at least"), sw::error);
  }

  TEST_CASE("times beyond what 64 bits hold are the greatest that they do") {
    const sw::duration_table t(sw::collective::all_gather, 0, {sw::bytes(0), sw::bytes(1)},
                               {sw::nanoseconds(0), sw::nanoseconds(std::int64_t{1} << 40)});
    CHECK(t(sw::bytes(1 << 20)) == sw::nanoseconds(std::int64_t{1} << 60));
    constexpr sw::nanoseconds most(std::numeric_limits<std::int64_t>::max());
    CHECK(t(sw::bytes(1 << 23)) == most);
    CHECK(t(sw::bytes(std::int64_t{1} << 40)) == most);
  }
}

}  // namespace duration_table_tests
