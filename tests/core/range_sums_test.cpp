#include <shardweave/core/random.hpp>
#include <shardweave/core/range_sums.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("range_sums") {
  TEST_CASE("every place has the sum of the ranges over it, large amounts beside small ones") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      const std::size_t places = 1 + random.below(12);
      std::vector<long double> expected(places);
      sw::range_sums sums(places);
      for (std::size_t count = random.below(30); count-- > 0;) {
        const std::size_t begin = random.below(places), end = begin + 1 + random.below(places - begin);
        const double amount = std::ldexp(random.unit(), static_cast<int>(random.below(60)) - 20);
        sums.add(begin, end, amount);
        for (std::size_t i = begin; i < end; ++i) expected[i] += amount;
      }
      const std::vector<double> found = sums.values();
      REQUIRE(found.size() == places);
      for (std::size_t i = 0; i < places; ++i)
        CHECK(std::abs(found[i] - static_cast<double>(expected[i])) <= 1e-15 * static_cast<double>(expected[i]));
    }
  }
  TEST_CASE("nothing is left of what is taken off again") {
    sw::exact_sum sum;
    for (const double amount : {0.1, 8e15, 0.2, -8e15, 1e-9}) sum.add(amount);
    CHECK(std::abs(sum.value() - 0.300000001) < 1e-16);
    sw::exact_sum other;
    for (const double amount : {-0.2, -1e-9, -0.1}) other.add(amount);
    sum.add(other);
    CHECK(std::abs(sum.value()) < 1e-16);
  }
  TEST_CASE("whole numbers are added exactly, and no places are none") {
    sw::range_sums sums(3);
    sums.add(0, 3, 5);
    sums.add(1, 2, -7);
    CHECK(sums.values() == std::vector<double>{5, -2, 5});
    CHECK(sw::range_sums(0).values().empty());
  }
}
