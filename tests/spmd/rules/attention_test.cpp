#include "spmd/tried_rules.hpp"
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace attention_tests {
namespace {

using namespace tried_rules;
using namespace shardweave;

}  // namespace

TEST_SUITE("attention") {
  TEST_CASE("an embedding is cut by rows, by width and by indices") {
    CHECK(check({"embedding", "8x4 4x6i -> 4x6x4", "below 8 picks 0,0,1"}, "2") ==
          "R,R->R R,S(0)->S(0) R,S(1)->S(1) S(0),R->P(mask) S(1),R->S(2)");
    CHECK(check({"embedding_backward", "4x6x4 4x6i -> 8x4", "below 8"}, "2") ==
          "P,R->P R,R->R S(0),S(0)->P S(1),S(1)->P S(2),R->S(1)");
  }

  TEST_CASE("attention by heads needs whole groups of query heads") {
    const std::string by_heads = "S(1),S(1),S(1)->S(1)";
    for (const std::string heads : {"8", "4", "2"}) {
      const std::string key = "4x" + heads + "x3x2 ";
      const trial t("sdpa", "4x8x3x2 " + key + key + "-> 4x8x3x2 4x8x3 2 s");
      CHECK(has(check(t, "3"), by_heads) == (heads == "8"));
      CHECK(has(check(t, "2"), by_heads));
    }
  }

  TEST_CASE("attention is cut by positions of queries beside whole keys and values, and so is what masks them") {
    const rule_table rules = standard_rules({.attention_by_positions = true});
    const std::vector<std::pair<std::string, std::string>> masks = {
        {"4x8x4x4", "S(2)"}, {"4x1x4x4", "S(2)"}, {"1x8x4x4", "S(2)"}, {"4x4", "S(0)"}, {"4x1x1x4", "R"}, {"1x4", "R"}};
    for (const auto& [mask, lies] : masks)
      for (const std::string& mesh : meshes) {
        CAPTURE(mask);
        CAPTURE(mesh);
        const outcome forward =
            carry_out({"sdpa", "4x8x4x2 4x4x4x2 4x4x4x3 " + mask + " -> 4x8x4x3 4x8x4 2 s"}, mesh, rules);
        CHECK(joined(forward.wrong) == "");
        const outcome backward = carry_out({"sdpa_backward", "4x8x4x3 4x8x4x2 4x4x4x2 4x4x4x3 4x8x4x3 4x8x4 2 s " +
                                                                 mask + " -> 4x8x4x2 4x4x4x2 4x4x4x3"},
                                           mesh, rules);
        CHECK(joined(backward.wrong) == "");
        if (mesh.find('x') != std::string::npos) continue;
        CHECK(forward.labels.contains("S(2),R,R," + lies + "->S(2)"));
        CHECK(backward.labels.contains("S(2),S(2),R,R,S(2),S(2),R,R," + lies + "->S(2)"));
      }
  }

  TEST_CASE("two products forward and five backward are counted, each on the pieces that a device has") {
    // 2 sequences, 8 heads of 4 positions for 6 keys, width 3, values of width 5
    const tensor q{{2, 8, 4, 3}}, k{{2, 4, 6, 3}}, v{{2, 4, 6, 5}}, y{{2, 8, 4, 5}};
    const operation op{"tested", "sdpa", phase::forward, role::none, {}, {y}, {}};
    const std::vector<tensor> in{q, k, v}, out{y};
    const operation_view view{op, in, in, out};
    const double scores = 2 * 8 * 4 * 6;  // of every query and every key
    CHECK(attention_flops{}(view) == 2 * scores * (3 + 5));
    const std::vector<tensor> backward{y, q, k, v};
    const operation_view back{op, backward, backward, out};
    CHECK(attention_flops{.query = 1, .with_keys = 3, .with_values = 2}(back) == 2 * scores * (3 * 3 + 2 * 5));
  }

  TEST_CASE("what goes round are keys and values, and backward their gradients") {
    CHECK(attention_rule{}.ring() == ring_arguments{.first = 1, .count = 2, .dim = 2, .first_sum = 0, .sums = 0});
    CHECK(attention_rule{.query = 1}.ring() ==
          ring_arguments{.first = 2, .count = 2, .dim = 2, .first_sum = 1, .sums = 2});
  }
}

}  // namespace attention_tests
