#include "spmd/tried_rules.hpp"
#include <shardweave/spmd/rules/convolution.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <vector>

namespace convolution_tests {
namespace {

using namespace tried_rules;
using namespace shardweave;

}  // namespace

TEST_SUITE("convolution") {
  TEST_CASE("pictures are cut by themselves, by channels that come in or go out, and by groups that stay together") {
    CHECK(check({"convolution", "4x4x5 6x4x3 -> 4x6x3"}, "2") == "R,R->R R,S(0)->S(1) S(0),R->S(0) S(1),S(1)->P");
    CHECK(check({"convolution_backward", "4x6x3 4x4x5 6x4x3 -> 4x4x5 6x4x3"}, "2") ==
          "R,R,R->R R,S(1),S(1)->S(1) S(0),S(0),R->S(0) S(1),R,S(0)->P");
    CHECK(check({"transposed_convolution", "4x6x3 6x4x3 -> 4x4x5"}, "2") ==
          "R,R->R R,S(1)->S(1) S(0),R->S(0) S(1),S(0)->P");
    // 2 groups on 2 devices, and on 3, which cannot keep them together; 5 channels each for itself are cut unevenly
    CHECK(check({"convolution", "6x4x4 6x2x2 -> 6x6x3"}, "2") == "R,R->R S(0),R->S(0) S(1),S(0)->S(1)");
    CHECK(check({"convolution", "6x4x4 6x2x2 -> 6x6x3"}, "3") == "R,R->R S(0),R->S(0)");
    CHECK(has(check({"convolution", "3x5x4 5x1x2 -> 3x5x3"}, "3"), "S(1),S(0)->S(1)"));
    // a device that holds one group has no more groups to keep together
    CHECK(has(check({"convolution", "6x4x4 6x2x2 -> 6x6x3"}, "2x2"), "S(1)S(1),S(0)S(1)->S(1)P"));
  }

  TEST_CASE("a convolution takes two operations for every product of its windows") {
    for (const char* text :
         {"4x3x5 6x3x3 -> 4x6x3", "3x4x4x3 6x4x2x2 -> 3x6x3x2", "4x4x4 6x2x2 -> 4x6x3", "3x5x4 5x1x2 -> 3x5x3"}) {
      const trial forward("convolution", text);
      const tensor &x = forward.inputs[0], &weight = forward.inputs[1], &y = forward.outputs[0];
      double products = 0;
      interpreter::each_product(interpreter::zeros(x.shape), interpreter::zeros(y.shape),
                                interpreter::zeros(weight.shape), [&](auto, auto, auto) { ++products; });
      const auto counted = [&](convolution_results results, bool is_transposed, std::vector<tensor> in,
                               std::vector<tensor> out) {
        const operation op{"tested", "convolution", phase::forward, role::none, {}, out, {}};
        return convolution_flops{results, is_transposed}(operation_view{op, in, in, out});
      };
      CHECK(counted(convolution_results::forward, false, {x, weight}, {y}) == 2 * products);
      CHECK(counted(convolution_results::forward, true, {y, weight}, {x}) == 2 * products);
      CHECK(counted(convolution_results::both_gradients, false, {y, x, weight}, {x, weight}) == 4 * products);
      CHECK(counted(convolution_results::weight_gradient, false, {y, x, weight}, {weight}) == 2 * products);
      CHECK(counted(convolution_results::input_gradient, true, {x, y, weight}, {y}) == 2 * products);
    }
  }

  TEST_CASE("shapes that do not fit are refused by name") {
    const auto refused = [](const trial& t) {
      return shardweave_test::refusal_of([&] { return carry_out(t, "2", standard_rules()); });
    };
    CHECK(refused({"convolution", "4x4x5 6x3x3 -> 4x6x3"}) ==
          "operation 'tested': a weight of [6, 3, ...] does not fit 4 channels in and 6 out");
    CHECK(refused({"convolution", "4x4x5 6x4 -> 4x6x3"}) ==
          "operation 'tested': tensors of a convolution have one rank of at least 3, found 3 and 2");
    CHECK(refused({"convolution_backward", "4x6x3 4x4x5 6x4x3 -> 4x4x5"}) ==
          "operation 'tested': a convolution gives 2 tensors here, found 1");
    CHECK(refused({"convolution", "4x6x5 6x6x3 6 -> 4x6x3"}) ==
          "operation 'tested': a convolution takes 2 tensors here, found 3");
    CHECK(refused({"convolution", "3x6x4 4x2x2 -> 3x4x3"}) ==
          "operation 'tested': 4 channels are not divided among 3 groups");
  }
}

}  // namespace convolution_tests
