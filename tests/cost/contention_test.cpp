#include <shardweave/cost/contention.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace contention_tests {
namespace {

using namespace shardweave;

}  // namespace

TEST_SUITE("contention") {
  TEST_CASE("published slowdowns are of the model's order") {
    const contention h100;
    // a product of exactly one wave under 24 channels needs two: 80 to 47 % of peak is 1.7
    CHECK(h100.slowdown({.blocks = 132}, {.channels = 24}) == doctest::Approx(2));
    // large products lose their share of the multiprocessors: 132 / 108
    CHECK(h100.slowdown({}, {.channels = 24}) == doctest::Approx(132.0 / 108));
    CHECK(h100.slowdown({.blocks = 13200}, {.channels = 24}) == doctest::Approx(1.23));  // 123 waves for 100
    CHECK(h100.slowdown({}, {.channels = 2}) < 1.02);
    // copy engines leave a product alone, and a memory-bound kernel loses what the wire takes
    CHECK(h100.slowdown({}, {.channels = 0, .wire_bandwidth = 360}) == 1);
    CHECK(h100.slowdown({.memory_share = 1}, {.channels = 0, .wire_bandwidth = 360}) ==
          doctest::Approx(1 / (1 - 2.5 * 360 / 3350)));
  }

  TEST_CASE("a factor is at least 1, grows with channels, and terms can be switched off") {
    contention c;
    for (const std::int64_t blocks : {0, 1, 131, 132, 133, 500, 10000}) {
      double last = 1;
      for (int channels = 0; channels <= 140; ++channels) {
        const double now = c.slowdown({.blocks = blocks}, {.channels = static_cast<double>(channels)});
        CHECK(now >= last);
        last = now;
      }
    }
    c.counts_processors = false;
    CHECK(c.slowdown({.blocks = 132}, {.channels = 24}) == 1);
    c.compute_factor = 1.2;
    CHECK(c.slowdown({}, {.channels = 24}) == doctest::Approx(1.2));
    c.counts_memory = false;
    CHECK(c.slowdown({.memory_share = 1}, {.wire_bandwidth = 1e9}) == doctest::Approx(1.2));
    CHECK(c.collective_slowdown() == doctest::Approx(1.1));
  }

  TEST_CASE("waves are whole: as many blocks as fit on what the collective leaves") {
    const contention c{.processors = 100};
    for (const double per_processor : {.5, 1.0, 2.0})
      for (std::int64_t blocks = 1; blocks <= 400; blocks += 7)
        for (const double channels : {1.0, 16.0, 50.0, 99.0, 150.0}) {
          const double left = channels < 99 ? 100 - channels : 1;
          const double with = std::ceil(static_cast<double>(blocks) / (per_processor * left));
          const double without = std::ceil(static_cast<double>(blocks) / (per_processor * 100));
          CHECK(c.slowdown({.blocks = blocks, .blocks_per_processor = per_processor}, {.channels = channels}) ==
                doctest::Approx(with / without));
        }
    // memory: the wire takes at most 95 % of it, and only the share of the kernel that needs it
    CHECK(c.slowdown({.memory_share = 1}, {.wire_bandwidth = 1e9}) == doctest::Approx(20));
    CHECK(c.slowdown({.memory_share = .5}, {.wire_bandwidth = 1e9}) == doctest::Approx(1 + .5 * 19));
    CHECK(c.slowdown({.memory_share = 7}, {.wire_bandwidth = 1e9}) == doctest::Approx(20));
    CHECK(contention{.compute_factor = .5}.slowdown({}, {}) == 1);
    CHECK(contention{.collective_factor = .5}.collective_slowdown() == 1);
  }
}

}  // namespace contention_tests
