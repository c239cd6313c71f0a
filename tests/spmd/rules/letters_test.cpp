#include "spmd/one_operation.hpp"
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/letters.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace letters_tests {
namespace {

using namespace one_operations;
using namespace shardweave;

}  // namespace

TEST_SUITE("letter_rule") {
  TEST_CASE("every letter that may be cut is cut wherever it stands") {
    rule_table rules;
    rules.add("input", any_placement_rule{});
    rules.add("op", letter_rule{"ab,bc->ac,b", "c"}, moves);
    const auto graph = one_operation("op", {{{4, 6}}, {{6, 8}}}, {{{4, 8}}, {{6}}});
    CHECK(ways(graph, rules) == std::set<std::string>{"R R -> R R", "S(0) R -> S(0) P", "S(1) S(0) -> P S(0)"});
  }

  TEST_CASE("three dots are as many leading dimensions as there are") {
    rule_table rules;
    rules.add("input", any_placement_rule{});
    rules.add("norm", letter_rule{"...d,d->...d,...", "d"}, moves);
    CHECK(ways(one_operation("norm", {{{6}}, {{6}}}, {{{6}}, {{}}}), rules) == std::set<std::string>{"R R -> R R"});
    CHECK(ways(one_operation("norm", {{{4, 5, 6}}, {{6}}}, {{{4, 5, 6}}, {{4, 5}}}), rules) ==
          std::set<std::string>{"R R -> R R", "S(0) R -> S(0) S(0)", "S(1) R -> S(1) S(1)"});
  }

  TEST_CASE("arguments at the end may be missing, and ways that need them with them") {
    const dim_placement sums = dim_placement::partial();
    rule_table rules;
    rules.add("input", any_placement_rule{});
    rules.add("scale", letter_rule{"ab,ab->ab", "b", {{{sums}, {sums, dim_placement()}}}}, moves);
    const tensor x{{4, 6}};
    CHECK(ways(one_operation("scale", {x}, {x}), rules) == std::set<std::string>{"R -> R", "S(0) -> S(0)"});
    CHECK(ways(one_operation("scale", {x, x}, {x}), rules) ==
          std::set<std::string>{"R R -> R", "S(0) S(0) -> S(0)", "P R -> P"});
  }

  TEST_CASE("letters of results only stay together") {
    rule_table rules;
    rules.add("input", any_placement_rule{});
    rules.add("spread", letter_rule{"ab->acb", "c"}, moves);
    CHECK(ways(one_operation("spread", {{{4, 6}}}, {{{4, 8, 6}}}), rules) ==
          std::set<std::string>{"R -> R", "S(0) -> S(0)", "S(1) -> S(2)"});
  }

  TEST_CASE("along several mesh dimensions letters combine") {
    rule_table rules;
    rules.add("input", any_placement_rule{});
    rules.add("op", letter_rule{"ab->a", ""}, moves);
    CHECK(ways(one_operation("op", {{{4, 6}}}, {{{4}}}), rules, "2x2") ==
          std::set<std::string>{"RR -> RR", "S(0)R -> S(0)R", "S(1)R -> PR", "RS(0) -> RS(0)", "S(0)S(0) -> S(0)S(0)",
                                "S(1)S(0) -> PS(0)", "RS(1) -> RP", "S(0)S(1) -> S(0)P", "S(1)S(1) -> PP"});
  }

  TEST_CASE("a notation that does not fit is refused by name") {
    rule_table rules;
    rules.add("input", any_placement_rule{});
    const auto add = [&](const char* notation, const char* whole = "") -> const rule_table& {
      return rules.add("op", letter_rule{notation, whole}, moves);
    };
    const tensor x{{4, 6}};
    const auto graph = one_operation("op", {x, x}, {x});
    CHECK(refusal(graph, add("ab,ab")) == "operation 'z': 'ab,ab' has no '->'");
    CHECK(refusal(graph, add("ab->ab")) == "operation 'z': 'ab->ab' has 1 arguments, found 2");
    CHECK(refusal(graph, add("ab,abc->ab")) == "operation 'z': 'ab,abc->ab' gives argument 1 3 dimensions, found 2");
    CHECK(refusal(graph, add("ab,ab->a")) == "operation 'z': 'ab,ab->a' gives result 0 1 dimensions, found 2");
    CHECK(refusal(graph, add("ab,ab->ab,ab")) ==
          "operation 'z': 'ab,ab->ab,ab' has more results than the operation, which has 1");
    CHECK(refusal(graph, add("...abc,ab->ab")) ==
          "operation 'z': '...abc,ab->ab' gives argument 0 3 dimensions, found 2");
    CHECK(refusal(one_operation("op", {x, {{6}}}, {x}), add("...b,...b->...b")) ==
          "operation 'z': '...b,...b->...b' gives argument 1 2 dimensions, found 1");
    CHECK(refusal(graph, add("a b,ab->ab")) ==
          "operation 'z': 'a b,ab->ab' has ' ' in argument 0, expected letters, '...' before them alone");
    CHECK(refusal(graph, add("a...,ab->ab")) ==
          "operation 'z': 'a...,ab->ab' has '.' in argument 0, expected letters, '...' before them alone");
  }

  TEST_CASE("letters that cannot be what they say are refused by name") {
    rule_table rules;
    rules.add("input", any_placement_rule{});
    const auto told = [&](letter_rule rule, std::vector<tensor> inputs, std::vector<tensor> outputs) {
      rules.add("op", std::move(rule), moves);
      return refusal(one_operation("op", inputs, outputs), rules);
    };
    const tensor square{{4, 4}};
    CHECK(told({"aa->aa"}, {square}, {square}) == "operation 'z': 'aa->aa' has letter 'a' twice in argument 0");
    CHECK(told({"ab->ac"}, {square}, {square}) ==
          "operation 'z': 'ab->ac' has letter 'c' in result 0 only; expected it in an argument, or among the letters "
          "that stay whole");
    CHECK(told({"ab->ac", "c"}, {square}, {square}).empty());
    CHECK(told({"ab->...b"}, {square}, {square}) ==
          "operation 'z': 'ab->...b' has dimension 0 of '...' in result 0 only; expected it in an argument, or among "
          "the letters that stay whole");
    CHECK(told({"ab->ab", "d"}, {square}, {square}) == "operation 'z': 'ab->ab' has no letter 'd' to keep whole");
    CHECK(told({"tf,cf->tc"}, {{{4, 6}}, {{5, 8}}}, {{{4, 5}}}) ==
          "operation 'z': 'tf,cf->tc' has letter 'f' with extent 6 in argument 0 and 8 in argument 1");
    CHECK(told({"tf,cf->tc"}, {{{4, 6}}, {{5, 6}}}, {{{4, 6}}}) ==
          "operation 'z': 'tf,cf->tc' has letter 'c' with extent 5 in argument 1 and 6 in result 0");
    CHECK(told({"...f,...f->..."}, {{{4, 6}}, {{5, 6}}}, {{{4}}}) ==
          "operation 'z': '...f,...f->...' has dimension 0 of '...' with extent 4 in argument 0 and 5 in argument 1");
  }

  TEST_CASE("letters count operations, two for each combination, on the pieces that a device has") {
    rule_table rules = standard_rules();
    rules.add("scores", letter_rule{"tf,cf->tc"}, {.flops = letter_flops{"tf,cf->tc"}});
    const std::vector<tensor> arguments{{{512, 64}, dtype::bf16}, {{96, 64}, dtype::bf16}};
    const tensor result{{512, 96}, dtype::bf16};
    const roofline h100{find_device("h100")};
    const strategy_space mine =
        enumerate_strategies(one_operation("scores", arguments, {result}), device_mesh::parse("8"), h100, rules);
    const strategy_space known = enumerate_strategies(
        one_operation("einsum", arguments, {result}, {.equation = "tf,cf->tc"}), device_mesh::parse("8"), h100, rules);
    REQUIRE(mine.of(2).size() == 4);
    CHECK(mine.of(2).strategies == known.of(2).strategies);
    CHECK(mine.of(2).compute_us == known.of(2).compute_us);
    const operation op{"z", "scores", phase::forward, role::none, {0, 1}, {result}};
    const operation_view whole{op, arguments, arguments, op.outputs};
    CHECK(letter_flops{"tf,cf->tc"}(whole) == 2.0 * 512 * 64 * 96);
    CHECK(letter_flops{"tf,cf->tc", 3}(whole) == 3.0 * 512 * 64 * 96);
  }
}

}  // namespace letters_tests
