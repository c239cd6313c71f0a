#include "nccl_ranks.hpp"
#include <shardweave/engine/detail/nccl_timing.hpp>
#include <shardweave/engine/nccl_copy_work.hpp>
#include <shardweave/engine/nccl_engine.hpp>
#include <shardweave/engine/nccl_handles.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <thread>
#include <tuple>

namespace sw = shardweave;

namespace nccl_copy_work_tests {
namespace {
using ns = sw::nanoseconds;
using nccl_tests::has_devices;
using nccl_tests::nothing_left;
using nccl_tests::small_options;
}  // namespace

TEST_SUITE("nccl_copy_work, on the double") {
  TEST_CASE("copies take what was asked for, in as few pieces as the largest one allows") {
    const nothing_left after;
    sw::use_device(0, 0);
    const sw::device_stream stream = sw::make_stream();
    const sw::nccl_copy_work work(stream.get(), sw::bytes(50'001));  // 1 us for the first byte, 1 us for the others
    CHECK(work.floor() == ns(1000));
    CHECK(work.dram_bytes_per_ns() == doctest::Approx(100));
    for (const auto& [duration, copies, size] : {std::tuple{-5, 0, 0},
                                                 {0, 0, 0},
                                                 {499, 0, 0},
                                                 {500, 1, 1},
                                                 {1000, 1, 1},
                                                 {1500, 1, 25'001},
                                                 {2000, 1, 50'001},
                                                 {2001, 2, 26},
                                                 {6000, 3, 50'001}}) {
      CHECK(work.copies(ns(duration)) == copies);
      CHECK(work.size(ns(duration)) == sw::bytes(size));
    }
    const sw::device_event begin = sw::make_event(), end = sw::make_event();
    sw::detail::record(begin.get(), stream.get());
    work.enqueue(stream.get(), ns(5200));
    sw::detail::record(end.get(), stream.get());
    while (!sw::is_reached(end.get())) std::this_thread::yield();
    CHECK(std::abs(sw::elapsed(begin.get(), end.get()).count() - 5200) <= 3);  // whole nanoseconds of each
  }
}

TEST_SUITE("nccl_copy_work, on a device") {
  TEST_CASE("copies stand in for durations: longer ones take longer, none takes nothing") {
    if (!has_devices(1)) return;
    sw::nccl_engine engine(sw::meet_alone(), small_options());
    const sw::nccl_copy_work& work = engine.work();
    CHECK(work.dram_bytes_per_ns() > 0);
    CHECK(work.floor() >= ns(0));
    CHECK(work.copies(ns(0)) == 0);
    CHECK(work.copies(work.floor() * 2) >= 1);
    CHECK(work.copies(work.floor()) == 1);
    // the floor is told in whole nanoseconds
    CHECK(static_cast<double>(work.size(work.floor()).count()) <= 1 + work.dram_bytes_per_ns());
    engine.connect({});
    const auto nothing = engine.run({.duration = ns(0)});
    const auto some = engine.run({.duration = ns(1'000'000)}), more = engine.run({.duration = ns(4'000'000)});
    engine.finish();
    const double one = static_cast<double>(engine.span(some).length().count());
    CHECK(engine.span(nothing).length() < engine.span(some).length());
    CHECK(one > 0.5e6);
    CHECK(one < 3e6);
    CHECK(static_cast<double>(engine.span(more).length().count()) > 2 * one);
  }
}

}  // namespace nccl_copy_work_tests
