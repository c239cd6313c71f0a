#include "spmd/tried_rules.hpp"
#include <shardweave/spmd/rules/indexing.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

namespace indexing_tests {
namespace {

using namespace tried_rules;
using namespace shardweave;

}  // namespace

TEST_SUITE("indexing") {
  TEST_CASE("rows that numbers pick are cut by what is not named, and by the numbers") {
    CHECK(check({"index", "4x6x4 4x2i 4x1i -> 4x2x4", "dims 0,1 below 4"}, "2") ==
          "P(avg),R,R->P(avg) P(max),R,R->P(max) P(min),R,R->P(min) P,R,R->P R,R,R->R R,S(0),S(0)->S(0) "
          "R,S(1),R->S(1) S(2),R,R->S(2)");
    CHECK(check({"index_backward", "4x2x4 4x2i 4x1i -> 4x6x4", "dims 0,1 below 4"}, "2") ==
          "P(avg),R,R->P(avg) P,R,R->P R,R,R->R S(0),S(0),S(0)->P S(1),S(1),R->P S(2),R,R->S(2)");
    CHECK(check({"index_put", "4x4x6 4x4 4i 4i -> 4x4x6", "dims 0,2 below 4"}, "2") ==
          "P(avg),P(avg),R,R->P(avg) P(max),P(max),R,R->P(max) P(min),P(min),R,R->P(min) P,P,R,R->P R,R,R,R->R "
          "S(1),S(1),R,R->S(1)");
  }

  TEST_CASE("shapes that do not fit are refused by name") {
    const auto refused = [](const trial& t) {
      return shardweave_test::refusal_of([&] { return carry_out(t, "2", standard_rules()); });
    };
    CHECK(refused({"index", "5x6x3 4i -> 4x3", "dims 0,1 below 4"}) ==
          "operation 'tested': indexing 2 dimensions takes 3 tensors, at least 2, found 2");
    CHECK(refused({"index", "5x6x3 4i 3i -> 4x3", "dims 0,1 below 4"}) ==
          "operation 'tested': numbers of extents 4 and 3 cannot be spread over each other");
    CHECK(refused({"index", "5x6x3 4i -> 5x4x4", "dims 1 below 4"}) ==
          "operation 'tested': what is indexed has shape [5, 4, 3], found [5, 4, 4]");
    CHECK(refused({"index", "5x6x3 4i 4i -> 4x6", "dims 2,0 below 3"}) ==
          "operation 'tested': indexed dimensions are ascending numbers below 3, found 0");
  }
}

}  // namespace indexing_tests
