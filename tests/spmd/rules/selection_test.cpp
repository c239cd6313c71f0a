#include "spmd/tried_rules.hpp"
#include <shardweave/spmd/rules/selection.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <doctest/doctest.h>

#include <string>

namespace selection_tests {
namespace {

using namespace tried_rules;
using namespace shardweave;

}  // namespace

TEST_SUITE("selection") {
  TEST_CASE("operators along a dimension keep it whole, and pass what they move or add up") {
    CHECK(check({"slice", "4x6 -> 2x6", "dims 0 index 1"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(1)->S(1)");
    CHECK(check({"split", "4x6 -> 1x6 3x6", "dims 0"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(1)->S(1)");
    CHECK(check({"cumsum", "4x6 -> 4x6", "dims 0"}, "2") == "P(avg)->P(avg) P->P R->R S(1)->S(1)");
    CHECK(check({"softmax", "4x6 -> 4x6", "dims 0"}, "2") == "R->R S(1)->S(1)");
    CHECK(check({"cat", "4x6 4x6 -> 8x6", "dims 0"}, "2") ==
          "P(avg),P(avg)->P(avg) P(max),P(max)->P(max) P(min),P(min)->P(min) P,P->P R,R->R S(1),S(1)->S(1)");
  }

  TEST_CASE("elements are picked from a cut dimension by masks") {
    CHECK(check({"gather", "4x6 4x2i -> 4x2", "dims 1 below 6 picks 0,1,1"}, "2") ==
          "P(avg),R->P(avg) P(max),R->P(max) P(min),R->P(min) P,R->P R,R->R R,S(1)->S(1) S(0),S(0)->S(0) "
          "S(1),R->P(mask)");
  }

  TEST_CASE("results of adding at places are cut by place where the rule says that pieces take what is theirs") {
    rule_table rules = standard_rules();
    const auto cut = [&](const trial& t, bool adds, bool has_base, const std::string& label) {
      rules.add(t.op, scatter_rule{.adds = adds, .has_base = has_base, .by_place = true}, {.moves_data_only = true});
      for (const std::string& mesh : meshes) {
        CAPTURE(t.op);
        CAPTURE(mesh);
        const outcome found = carry_out(t, mesh, rules);
        CHECK(joined(found.wrong) == "");
        if (mesh.find('x') == std::string::npos) CHECK(found.labels.contains(label));
      }
    };
    cut({"gather_backward", "4x2 4x2i -> 4x7", "dims 1 below 7 picks 2,1,1"}, true, false, "R,R->S(1)");
    cut({"scatter_add", "5x4 6x4i 6x4 -> 5x4", "dims 0 below 5 picks 0,0,1"}, true, true, "S(0),R,R->S(0)");
    cut({"scatter", "5x4 3x4i 3x4 -> 5x4", "dims 0 below 5 picks 0,0,1"}, false, true, "S(0),R,R->S(0)");
  }
}

}  // namespace selection_tests
