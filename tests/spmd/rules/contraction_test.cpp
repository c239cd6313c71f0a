#include "spmd/tried_rules.hpp"
#include <shardweave/spmd/rules/contraction.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace contraction_tests {
namespace {

using namespace tried_rules;
using namespace shardweave;
using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("contraction") {
  TEST_CASE("a contraction is cut by any of its letters") {
    CHECK(check({"einsum", "4x6x5 5x4 -> 4x6x4", "einsum bsk,kn->bsn"}, "2") ==
          "R,R->R R,S(1)->S(2) S(0),R->S(0) S(1),R->S(1) S(2),S(0)->P");
    CHECK(check({"einsum", "4x6 6x5 -> 4x5", "einsum mk,kn->mn"}, "2") ==
          "R,R->R R,S(1)->S(1) S(0),R->S(0) S(1),S(0)->P");
  }

  TEST_CASE("two operations are counted for every combination of the letters") {
    const auto counted = [](const std::string& equation, const std::vector<tensor>& in, const tensor& out) {
      const operation op{"tested", "einsum", phase::forward, role::none, {}, {out}, {.equation = equation}};
      const std::vector<tensor> results{out};
      return einsum_flops{}(operation_view{op, in, in, results});
    };
    CHECK(counted("mk,kn->mn", {{{4, 6}}, {{6, 5}}}, {{4, 5}}) == 2 * 4 * 6 * 5);
    CHECK(counted("bsk,kn->bsn", {{{2, 3, 6}}, {{6, 5}}}, {{2, 3, 5}}) == 2 * 2 * 3 * 6 * 5);
    CHECK(counted("ab->", {{{4, 6}}}, {std::vector<std::int64_t>{}}) == 2 * 4 * 6);
  }

  TEST_CASE("an equation that does not fit its tensors is refused by the operation's name") {
    const auto refused = [](const char* shapes, const char* equation) {
      return shardweave_test::refusal_of([&] {
        return carry_out({"einsum", shapes, std::string("einsum ") + equation}, "2", standard_rules());
      });
    };
    CHECK(refused("4x6 6x5 -> 4x5", "mk,kn->mn").empty());
    CHECK(refused("4x6 7x5 -> 4x5", "mk,kn->mn") ==
          "operation 'tested': einsum 'mk,kn->mn' has letter 'k' with extents 6 and 7");
    CHECK(refused("4x6 6x5 -> 4x3", "mk,kn->mn") ==
          "operation 'tested': einsum 'mk,kn->mn' has letter 'n' with extents 5 and 3");
    CHECK(refused("4x6 6x5 -> 4x5x1", "mk,kn->mn") ==
          "operation 'tested': einsum 'mk,kn->mn' gives the result 2 dimensions, found 3");
  }
}

}  // namespace contraction_tests
