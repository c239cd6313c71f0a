#include <shardweave/core/random.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace sw = shardweave;

static_assert(std::uniform_random_bit_generator<sw::random_source>);
static_assert(sw::random_source(1)() == sw::random_source(1)());  // also at compile time

TEST_SUITE("random_source") {
  TEST_CASE("the values are those published for splitmix64") {
    sw::random_source random(1234567);
    for (const std::uint64_t expected : {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL,
                                         4593380528125082431ULL, 16408922859458223821ULL})
      CHECK(random() == expected);
  }

  TEST_CASE("fifths of the unit interval are hit as often as published") {
    sw::random_source random(987654321);
    std::array<int, 5> hits{};
    for (int i = 0; i < 100'000; ++i) ++hits[static_cast<std::size_t>(random.unit() * 5)];
    CHECK(hits == std::array{20027, 19892, 20073, 19978, 20030});
  }

  TEST_CASE("equal seeds give equal values, other seeds others") {
    sw::random_source a(5);
    sw::random_source b(5);
    sw::random_source c(6);
    bool differs = false;
    for (int i = 0; i < 100; ++i) {
      const auto x = a();
      CHECK(x == b());
      differs = differs || x != c();
    }
    CHECK(differs);
  }

  TEST_CASE("a number below n is below n, and every one comes") {
    sw::random_source random(3);
    for (const std::size_t n : std::array<std::size_t, 4>{1, 2, 7, 64}) {
      std::set<std::size_t> seen;
      for (std::size_t i = 0; i < n * 100; ++i) {
        const std::size_t value = random.below(n);
        REQUIRE(value < n);
        seen.insert(value);
      }
      CHECK(seen.size() == n);
    }
  }

  TEST_CASE("unit stays in [0, 1)") {
    sw::random_source random(11);
    double sum = 0;
    for (int i = 0; i < 10'000; ++i) {
      const double value = random.unit();
      REQUIRE(value >= 0);
      REQUIRE(value < 1);
      sum += value;
    }
    CHECK(std::abs(sum / 10'000 - 0.5) < 0.02);
  }

  TEST_CASE("chance never happens at 0 and always at 1") {
    sw::random_source random(12);
    int hits = 0;
    for (int i = 0; i < 1000; ++i) {
      CHECK_FALSE(random.chance(0));
      CHECK(random.chance(1));
      hits += random.chance(0.25) ? 1 : 0;
    }
    CHECK(hits > 200);
    CHECK(hits < 300);
  }
}
