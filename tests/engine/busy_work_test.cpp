#include <shardweave/engine/busy_work.hpp>

#include <doctest/doctest.h>

#include <chrono>

namespace busy_work_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("busy_work") {
  TEST_CASE("work is done in slices, each followed by a call, and never in less than its time") {
    sw::busy_work work(sw::nanoseconds(2'000'000));
    CHECK(work.units_per_ns() > 0);
    int calls = 0;
    const auto begin = std::chrono::steady_clock::now();
    work.run(sw::nanoseconds(1'050'000), sw::nanoseconds(100'000), [&] { ++calls; });
    const auto took = std::chrono::steady_clock::now() - begin;
    CHECK(calls == 11);
    CHECK(took > std::chrono::microseconds(500));  // a core that speeds up afterwards may halve it
    work.run(sw::nanoseconds(0), sw::nanoseconds(100), [&] { ++calls; });
    CHECK(calls == 11);
  }
}

}  // namespace busy_work_tests
