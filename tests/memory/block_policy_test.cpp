#include <shardweave/core/units.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstdint>
#include <vector>

namespace block_policy_tests {
namespace {

namespace sw = shardweave;
using enum sw::retention;
using shardweave_test::refusal_of;
using sw::bytes;
using sw::nanoseconds;
using sw::retention;
using choice = std::vector<retention>;

/// x of 10 bytes; y = f(x) of 20, in 3 ns; z = g(x, y) of 40, in 5 ns. The backward part reads z, then x.
sw::recompute_block three_values() {
  return {.name = "three",
          .values = {{.name = "x", .size = bytes(10), .may_offload = true},
                     {.name = "y", .size = bytes(20), .time = nanoseconds(3), .inputs = {0}},
                     {.name = "z", .size = bytes(40), .time = nanoseconds(5), .inputs = {0, 1}, .may_offload = true}},
          .backward = {{.reads = {2}, .gradients = bytes(100)}, {.reads = {0}, .gradients = bytes(7)}}};
}

}  // namespace

TEST_SUITE("memory") {
  TEST_CASE("what is kept is there from the start, and is freed after its last use") {
    const auto p = sw::price_policy(three_values(), choice{keep, keep, keep});
    CHECK(p.time == nanoseconds(0));
    CHECK(p.kept == bytes(70));
    // y is read by nothing: gone at once; so the first step holds 20 less than what was kept, beside its gradients
    CHECK(p.transient == bytes(100 - 20));
    CHECK(p.values == choice{keep, keep, keep});
  }

  TEST_CASE("what is dropped is made just before its first read, with what it needs, once") {
    const auto z = sw::price_policy(three_values(), choice{keep, keep, recompute});
    CHECK(z.time == nanoseconds(5));
    CHECK(z.kept == bytes(30));
    CHECK(z.transient == bytes(100 + 40));  // with x and y still there; then y and z go
    const auto both = sw::price_policy(three_values(), choice{keep, recompute, recompute});
    CHECK(both.time == nanoseconds(3 + 5));
    CHECK(both.kept == bytes(10));
    CHECK(both.transient == bytes(100 + 20 + 40));
    const auto unread = sw::price_policy(three_values(), choice{keep, recompute, keep});
    CHECK(unread.time == nanoseconds(0));  // nothing asks for y
    CHECK(unread.transient == bytes(100));
  }

  TEST_CASE("what waits with the host is back for the backward part, and takes its share of the bandwidth") {
    // each byte is read once and written once: 2 * 50 bytes at 20 bytes per second
    const auto p = sw::price_policy(three_values(), choice{offload, keep, offload}, {.memory_bandwidth = 20e9});
    CHECK(p.offloaded == bytes(50));
    CHECK(p.kept == bytes(20));
    CHECK(p.time == nanoseconds(5));
    CHECK(p.transient == bytes(100 + 50 - 20));
    CHECK(sw::price_policy(three_values(), choice{offload, keep, offload}).time == nanoseconds(0));
  }

  TEST_CASE("without a backward part nothing is transient; choices that are not allowed are refused by name") {
    CHECK(sw::price_policy({.values = {{.size = bytes(9)}}}, choice{keep}).transient == bytes(0));
    sw::recompute_block b{.name = "mlp", .values = {{.name = "x"}, {.name = "gate", .inputs = {0}}}};
    const std::vector<retention> offloads = {retention::keep, retention::offload}, short_one = {retention::keep};
    CHECK(refusal_of([&] { static_cast<void>(sw::price_policy(b, offloads)); }) ==
          "block 'mlp': value 'gate' may not be offloaded");
    b.values[1].may_keep = false;
    CHECK(refusal_of([&] { static_cast<void>(sw::price_policy(b, std::vector(2, retention::keep))); }) ==
          "block 'mlp': value 'gate' may not be kept");
    b.values[1].may_keep = true;
    CHECK(refusal_of([&] { static_cast<void>(sw::price_policy(b, short_one)); }) ==
          "block 'mlp' has 2 values, the policy says what becomes of 1");
    b.values[0].may_drop = false;
    CHECK(refusal_of([&] {
            static_cast<void>(sw::price_policy(b, choice{recompute, keep}));
          }) == "block 'mlp': value 'x' may not be dropped");
  }

  TEST_CASE("chains of dropped values may be long") {
    constexpr std::uint32_t length = 1'000'000;
    sw::recompute_block block{.name = "b"};
    for (std::uint32_t v = 0; v < length; ++v) {
      sw::block_value& value = block.values.emplace_back();
      value.size = sw::bytes(1);
      value.time = sw::nanoseconds(1);
      if (v > 0) value.inputs = {v - 1};
    }
    block.backward.push_back({.reads = {length - 1}});
    std::vector<sw::retention> choice(length, sw::retention::recompute);
    choice[0] = sw::retention::keep;
    CHECK(sw::price_policy(block, choice).time == sw::nanoseconds(length - 1));
  }
}

}  // namespace block_policy_tests
