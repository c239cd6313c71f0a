#include <shardweave/core/error.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <string>

namespace recompute_block_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::refusal_of;
using sw::bytes;
using sw::nanoseconds;

}  // namespace

TEST_SUITE("memory") {
  TEST_CASE("wrong blocks are refused by the value or the step that is wrong") {
    sw::recompute_block b{.name = "mlp", .values = {{.name = "x"}, {.name = "gate", .inputs = {0}}}};
    CHECK_NOTHROW(sw::validate(b));
    b.values[0].inputs = {1};
    CHECK(refusal_of([&] { sw::validate(b); }) ==
          "block 'mlp': value 0 'x' is made of value 1, expected one that stands before it");
    b.values[0].inputs = {};
    b.values[1].size = bytes(-1);
    CHECK(refusal_of([&] { sw::validate(b); }) == "block 'mlp': value 1 'gate' has -1 bytes, expected none or more");
    b.values[1].size = bytes(1);
    b.values[1].time = nanoseconds(-2);
    CHECK(refusal_of([&] { sw::validate(b); }) == "block 'mlp': value 1 'gate' takes -2 ns, expected 0 or more");
    b.values[1].time = {};
    b.backward = {{.reads = {2}}};
    CHECK(refusal_of([&] { sw::validate(b); }) == "block 'mlp': backward step 0 reads value 2, expected one of 2");
    b.backward = {{.gradients = bytes(-3)}};
    CHECK(refusal_of([&] { sw::validate(b); }) ==
          "block 'mlp': backward step 0 holds -3 bytes of gradients, expected none or more");
    b.backward = {{.reads = {0, 1}}};
    b.values[1].may_keep = b.values[1].may_drop = false;
    CHECK(refusal_of([&] { sw::validate(b); }) ==
          "block 'mlp': value 1 'gate' may neither be kept nor dropped nor offloaded");
    b.values[1].may_offload = true;
    CHECK_NOTHROW(sw::validate(b));
    b.values[1].inputs = {1};
    CHECK(refusal_of([&] { sw::validate(b); }, sw::error_category::input) ==
          "block 'mlp': value 1 'gate' is made of value 1, expected one that stands before it");
    b.values[1].inputs = {0};
    b.values[0].made_with = {2};
    CHECK(refusal_of([&] { sw::validate(b); }, sw::error_category::input) ==
          "block 'mlp': value 0 'x' is made with value 2, expected another one of 2");
    b.values[0].made_with = {0};
    CHECK(refusal_of([&] { sw::validate(b); }) ==
          "block 'mlp': value 0 'x' is made with value 0, expected another one of 2");
    b.values[0].made_with = {1};
    CHECK(refusal_of([&] { sw::validate(b); }) ==
          "block 'mlp': value 0 'x' is made with value 1, expected that each names the other once");
    b.values[1].made_with = {0};
    CHECK_NOTHROW(sw::validate(b));
  }

  TEST_CASE("by default a value may be kept and dropped, and is not worth a copy") {
    const sw::block_value v;
    CHECK((v.may_keep && v.may_drop && !v.may_offload));
    CHECK_NOTHROW(sw::validate(sw::recompute_block{}));
  }
}

}  // namespace recompute_block_tests
