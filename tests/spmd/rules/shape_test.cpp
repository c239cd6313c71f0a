#include "spmd/tried_rules.hpp"
#include <shardweave/spmd/rules/shape.hpp>

#include <doctest/doctest.h>

namespace shape_tests {
namespace {

using namespace tried_rules;
using namespace shardweave;

}  // namespace

TEST_SUITE("shape") {
  TEST_CASE("a view keeps the cut of the leading dimension of a group") {
    CHECK(check({"view", "4x6x12 -> 4x6x6x2"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(0)->S(0) S(1)->S(1) S(2)->S(2)");
    // the inner of two merged dimensions cannot stay cut, nor a dimension whose pieces would be uneven
    CHECK_FALSE(has(check({"view", "4x6 -> 24"}, "2"), "S(1)->S(0)"));
    CHECK_FALSE(has(check({"view", "4x6 -> 24"}, "3"), "S(0)->S(0)"));
    CHECK(has(check({"view", "5x8 -> 5x2x4"}, "3"), "S(0)->S(0)"));
  }

  TEST_CASE("an average or an extreme of pieces needs even pieces, or at least some element in each") {
    // an average of uneven pieces would not be the average: 5 on 2 devices
    CHECK_FALSE(has(check({"mean", "5x4 -> 4", "dims 0"}, "2"), "S(0)->P(avg)"));
    CHECK(has(check({"mean", "6x4 -> 4", "dims 0"}, "2"), "S(0)->P(avg)"));
    CHECK(has(check({"sum", "5x4 -> 4", "dims 0"}, "2"), "S(0)->P"));
    // 5 on 2 devices are 3 and 2; 4 on 3 would be 2, 2 and none
    CHECK(has(check({"amax", "5x4 -> 4", "dims 0"}, "2"), "S(0)->P(max)"));
    CHECK_FALSE(has(check({"amax", "4x5 -> 5", "dims 0"}, "3"), "S(0)->P(max)"));
    CHECK(has(check({"sum", "4x5 -> 5", "dims 0"}, "3"), "S(0)->P"));
    // 3 on 2x2 devices would be 1, 1, 1 and none
    CHECK_FALSE(has(check({"amax", "3x4 -> 4", "dims 0"}, "2x2"), "S(0)S(0)->P(max)P(max)"));
    CHECK(has(check({"amax", "4x3 -> 3", "dims 0"}, "2x2"), "S(0)S(0)->P(max)P(max)"));
  }

  TEST_CASE("sums along two mesh dimensions are independent") {
    const auto labels = check({"sum", "4x6x4 -> 4", "dims 0,1"}, "2x2");
    for (const char* label : {"S(0)S(1)->PP", "S(2)S(2)->S(0)S(0)", "S(0)S(2)->PS(0)", "PS(2)->PS(0)"})
      CHECK_MESSAGE(has(labels, label), label);
    CHECK(has(check({"mean", "4x8x4 -> 4", "dims 0,1"}, "2x2"), "S(0)S(1)->P(avg)P(avg)"));
  }
}

}  // namespace shape_tests
