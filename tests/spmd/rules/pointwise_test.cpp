#include "spmd/tried_rules.hpp"
#include <shardweave/spmd/rules/pointwise.hpp>

#include <doctest/doctest.h>

namespace pointwise_tests {
namespace {

using namespace tried_rules;
using namespace shardweave;

}  // namespace

TEST_SUITE("pointwise") {
  TEST_CASE("partial results pass where the function lets them") {
    CHECK(check({"add", "4x6 4x6 -> 4x6"}, "2") ==
          "P(avg),P(avg)->P(avg) P(avg),R->P(avg) P(max),R->P(max) P(min),R->P(min) P,P->P R,P(avg)->P(avg) R,R->R "
          "S(0),S(0)->S(0) S(1),S(1)->S(1)");
    CHECK(check({"mul", "4x6 4x1 -> 4x6"}, "2") ==
          "P(avg),R->P(avg) P,R->P R,P(avg)->P(avg) R,P->P R,R->R S(0),S(0)->S(0) S(1),R->S(1)");
    CHECK(check({"neg", "4x6 -> 4x6"}, "2") ==
          "P(avg)->P(avg) P(max)->P(min) P(min)->P(max) P->P R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"rsqrt", "4x6 -> 4x6"}, "2") == "R->R S(0)->S(0) S(1)->S(1)");
    // sums and averages mix along two mesh dimensions, other kinds do not
    const auto labels = check({"conv", "4x6 -> 4x6"}, "2x2");
    CHECK(has(labels, "PP(avg)->PP(avg)"));
    CHECK(has(labels, "P(max)P(max)->P(max)P(max)"));
    CHECK_FALSE(has(labels, "P(max)P->P(max)P"));
    CHECK_FALSE(has(labels, "P(max)P(min)->P(max)P(min)"));
  }

  TEST_CASE("conversions that round or test take whole values") {
    CHECK(check({"conv", "4x2 -> 4x2"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"conv", "4x2 -> 4x2i"}, "2") == "P(max)->P(max) P(min)->P(min) R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"conv", "4x2 -> 4x2b"}, "2") == "R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"conv", "4x2b -> 4x2"}, "2") == "R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"conv", "4x2i -> 4x2", "below 5"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(0)->S(0) S(1)->S(1)");
  }
}

}  // namespace pointwise_tests
