#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

using namespace shardweave;

namespace any_collectives_tests {
namespace {

static_assert(std::convertible_to<alpha_beta, any_collectives>);
static_assert(std::copyable<any_collectives>);

/// Counts how often it was copied: large tables should not be, once they are kept.
struct counted_copies {
  int* copies;
  explicit counted_copies(int& count) : copies(&count) {}
  counted_copies(const counted_copies& other) : copies(other.copies) { ++*copies; }
  counted_copies(counted_copies&&) = default;
  ~counted_copies() = default;
  counted_copies& operator=(const counted_copies&) = delete;
  counted_copies& operator=(counted_copies&&) = delete;
  collective_estimate estimate(collective, bytes size, group_shape) const {
    return {.time_us = static_cast<double>(size.count()), .channels = 7, .algorithm = "counted"};
  }
};

TEST_SUITE("any_collectives") {
  TEST_CASE("it answers what the model that it keeps answers") {
    const auto check = [](const auto& model) {
      const any_collectives kept = model;
      for (const collective kind : priced_collectives)
        for (const group_shape group : {group_shape{1, 1}, {8, 1}, {8, 4}})
          for (std::int64_t size = 1; size < (std::int64_t{1} << 34); size = size * 3 + 1) {
            const collective_estimate told = kept.estimate(kind, bytes(size), group);
            const collective_estimate meant = model.estimate(kind, bytes(size), group);
            CHECK(told.time_us == meant.time_us);
            CHECK(told.latency_us == meant.latency_us);
            CHECK(told.bandwidth_us == meant.bandwidth_us);
            CHECK(told.channels == meant.channels);
            CHECK(told.algorithm == meant.algorithm);
            CHECK(told.quality == meant.quality);
          }
    };
    check(alpha_beta(find_device("h100")));
    check(node_table<>(find_device("h100")));
  }

  TEST_CASE("copies share the model") {
    int copies = 0;
    counted_copies model(copies);
    const any_collectives kept(std::move(model));
    const any_collectives second = kept;
    any_collectives third = alpha_beta(find_device("h100"));
    third = second;
    CHECK(copies == 0);
    CHECK(third.estimate(collective::all_gather, bytes(5), {2, 1}).time_us == 5);
    CHECK(second.estimate(collective::all_gather, bytes(5), {2, 1}).channels == 7);
  }
}

}  // namespace
}  // namespace any_collectives_tests
