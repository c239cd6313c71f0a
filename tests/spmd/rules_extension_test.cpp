#include <shardweave/core/error.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/letters.hpp>
#include <shardweave/spmd/rules/local_region.hpp>
#include <shardweave/spmd/rules/shape.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/strategies.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

// What a host adds to the table: rules by letters, regions that decide for themselves, operators that follow them.

namespace rules_extension_tests {
namespace {

using namespace shardweave;
using shardweave_test::refusal_of;

sharding lying(const char* text) { return sharding::parse(text); }

const operator_cost moves{.moves_data_only = true};

/// Sources x0, x1, ... and one operation on them.
computation one_operation(const std::string& op, const std::vector<tensor>& inputs, std::vector<tensor> outputs,
                          attributes with = {}) {
  computation graph;
  operation last{"z", op, phase::forward, role::none, {}, std::move(outputs), std::move(with)};
  for (const tensor& in : inputs) {
    const std::string name = "x" + std::to_string(graph.operations.size());
    last.inputs.push_back(static_cast<std::uint32_t>(graph.operations.size()));
    graph.operations.push_back({name, "input", phase::forward, role::input, {}, {in}});
  }
  graph.operations.push_back(std::move(last));
  return graph;
}

std::set<std::string> labels_of(const strategy_list& list) {
  std::set<std::string> labels;
  for (const mesh_strategy& s : list.strategies) {
    std::string label;
    for (const sharding& in : s.inputs) label += in.to_string() + " ";
    label += "->";
    for (const sharding& out : s.outputs) label += " " + out.to_string();
    CHECK(labels.insert(label).second);
  }
  return labels;
}

std::set<std::string> ways(const computation& graph, const rule_table& rules, const std::string& mesh = "2") {
  const strategy_space space =
      enumerate_strategies(graph, device_mesh::parse(mesh), roofline{find_device("h100")}, rules);
  return labels_of(space.of(graph.operations.size() - 1));
}

std::string refusal(const computation& graph, const rule_table& rules) {
  return refusal_of([&] { return ways(graph, rules); });
}

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

TEST_SUITE("rule_table") {
  TEST_CASE("operators are listed by name") {
    rule_table rules;
    CHECK(rules.operators().empty());
    rules.add("b", pointwise_rule{}).add("a", pointwise_rule{}).add("b", same_placement_rule{});
    CHECK(rules.operators() == std::vector<std::string>{"a", "b"});
    for (const std::string& op : standard_rules().operators()) CHECK(standard_rules().contains(op));
  }

  TEST_CASE("what an operator costs is said once, and in words") {
    rule_table rules;
    const auto told = [&](auto rule, const operator_cost& cost) {
      return refusal_of([&] { rules.add("my_convolution", rule, cost); });
    };
    const auto flops = [](const operation_view&) { return 1e9; };
    const std::string nothing =
        "the rule of operator 'my_convolution' does not say what it costs: its computation would "
        "be free; expected one of flops, moves_data_only and is_view";
    const std::string twice =
        "the rule of operator 'my_convolution' says twice what it costs; expected one of flops, moves_data_only and "
        "is_view";
    CHECK(told(pointwise_rule{}, {}) == nothing);
    CHECK(told(letter_rule{"ab->ab"}, {.kernel = kernel_kind::attention}) == nothing);
    CHECK_FALSE(rules.contains("my_convolution"));
    CHECK(told(pointwise_rule{}, {.is_view = true, .flops = flops}) == twice);
    CHECK(told(pointwise_rule{}, {.flops = flops, .moves_data_only = true}) == twice);
    CHECK(told(letter_rule{"ab->ab"}, {.moves_data_only = true}).empty());
    CHECK(told(letter_rule{"ab->ab"}, {.flops = flops}).empty());
    CHECK_THROWS_WITH_AS(rules.add("my_convolution", letter_rule{"ab->ab"}), nothing.c_str(), error);
    rules.add("my_sum", reduction_rule{});  // its nature
  }

  TEST_CASE("operations that a rule cannot count, and rules that cut what is not there, are refused") {
    const tensor x{{8, 6}};
    rule_table rules = standard_rules();
    const auto graph = one_operation("op", {x}, {x});
    for (const double count : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
      rules.add("op", letter_rule{"ab->ab"}, {.flops = [=](const operation_view&) { return count; }});
      CHECK(refusal(graph, rules) == "the rule of operation 'z' (op) counts " + std::to_string(count) +
                                         " floating-point operations, expected a number that is not negative");
    }
    const auto cuts = [](std::size_t in, std::size_t out) {
      return [=](const operation_view&, std::int64_t) {
        return std::vector<dim_strategy>{{{dim_placement::shard(out)}, {dim_placement::shard(in)}}};
      };
    };
    rules.add("op", cuts(2, 0), moves);
    CHECK(refusal(graph, rules) ==
          "the rule of operation 'z' (op) cuts dimension 2 of argument 0, which has 2 dimensions");
    rules.add("op", cuts(0, 3), moves);
    CHECK(refusal(graph, rules) ==
          "the rule of operation 'z' (op) cuts dimension 3 of result 0, which has 2 dimensions");
    const auto lies = [](const char* in, const char* out) {
      return [=](const operation_view&, const device_mesh&) {
        return std::vector<mesh_strategy>{{{lying(out)}, {lying(in)}}};
      };
    };
    rules.add("op", lies("S(0)", "S(7)"), moves);
    CHECK(refusal(graph, rules) ==
          "the rule of operation 'z' (op) cuts dimension 7 of result 0, which has 2 dimensions");
    rules.add("op", lies("S(0)R", "R"), moves);
    CHECK(refusal(graph, rules) ==
          "the rule of operation 'z' (op) places argument 0 S(0)R, expected a placement for each dimension of mesh 2");
  }

  TEST_CASE("computations that cannot be are refused by name") {
    const rule_table rules = standard_rules();
    const tensor x{{8, 6}};
    const auto sized = [&](std::vector<std::int64_t> shape) {
      const std::vector<tensor> sole{tensor{std::move(shape)}};
      return refusal(one_operation("neg", sole, sole), rules);
    };
    CHECK(sized({4, -2}) == "result 0 of operation 'x0' has extent -2, expected 0 or more");
    CHECK(sized({std::int64_t{1} << 40, std::int64_t{1} << 30}) ==
          "result 0 of operation 'x0' has more bytes than 64 bits can count");
    auto graph = one_operation("neg", {x}, {x});
    graph.operations.push_back({"second", "getitem", phase::forward, role::none, {1}, {x}, {.index = 1}});
    CHECK(refusal(graph, rules) == "operation 'second' takes element 1 of 'z', which has 1");
    graph.operations.back().with.index = -1;
    CHECK(refusal(graph, rules) == "operation 'second' takes element -1 of 'z', which has 1");
    graph.operations.pop_back();
    graph.results = {2};
    CHECK(refusal(graph, rules) == "results names operation 2, expected one of 2");
    graph.results = {1};
    graph.gradient_of = {{0, 9}};
    CHECK(refusal(graph, rules) == "gradient_of names operation 9, expected one of 2");
    graph.gradient_of.clear();
    graph.tangent_of = {{7, 0}};
    CHECK(refusal(graph, rules) == "tangent_of names operation 7, expected one of 2");
    CHECK(refusal(one_operation("view", {}, {x}), rules) == "operation 'z' (view) has no argument to follow");
    graph = one_operation("neg", {x}, {x});
    graph.operations.front().outputs.clear();
    CHECK(refusal(graph, rules) == "operation 'z' uses 'x0', which has no result");
    const auto product = [&](const char* equation, tensor a, tensor b, tensor y) {
      return refusal(one_operation("einsum", {std::move(a), std::move(b)}, {std::move(y)}, {.equation = equation}),
                     rules);
    };
    CHECK(product("bk,kn->bn", x, {{6, 4}}, {{8, 4}}).empty());
    CHECK(product("bk,kn->bn", x, {{5, 4}}, {{8, 4}}) ==
          "operation 'z': einsum 'bk,kn->bn' has letter 'k' with extents 6 and 5");
    CHECK(product("bk,kn->bn", x, {{6, 4}}, {{8, 5}}) ==
          "operation 'z': einsum 'bk,kn->bn' has letter 'n' with extents 4 and 5");
    CHECK(product("bk,kn->bn", x, {{6, 4}}, {{8, 4, 1}}) ==
          "operation 'z': einsum 'bk,kn->bn' gives the result 2 dimensions, found 3");
  }

  TEST_CASE("an operator that can follow none of the placements offered takes a whole argument") {
    rule_table rules = standard_rules();
    rules.add("region", local_region_rule{{lying("S(0)")}, {lying("S(1)")}}, moves);
    computation graph = one_operation("region", {{{4, 6}}}, {{{4, 6}}});
    graph.operations.push_back({"flat", "view", phase::forward, role::none, {1}, {{{24}}}});
    CHECK(ways(graph, rules) == std::set<std::string>{"R -> R"});  // the inner of two merged dimensions is cut
    graph.operations.push_back({"rows", "softmax", phase::forward, role::none, {1}, {{{4, 6}}}, {.dims = {1}}});
    CHECK(ways(graph, rules) == std::set<std::string>{"R -> R"});
    graph.operations.push_back({"columns", "softmax", phase::forward, role::none, {1}, {{{4, 6}}}, {.dims = {0}}});
    CHECK(ways(graph, rules) == std::set<std::string>{"S(1) -> S(1)"});
  }
}

TEST_SUITE("standard_rules") {
  TEST_CASE("the elements of a tuple lie each in their own way, and what takes one follows that") {
    const tensor x{{4, 6}};
    computation graph = one_operation("rms_norm_backward", {x, x, {{6}}, {{4}}}, {x, {{6}}});
    for (const std::int64_t element : {0, 1})
      graph.operations.push_back({"element" + std::to_string(element),
                                  "getitem",
                                  phase::backward,
                                  role::none,
                                  {4},
                                  {graph.operations[4].outputs[static_cast<std::size_t>(element)]},
                                  {.index = element}});
    const strategy_space space =
        enumerate_strategies(graph, device_mesh::parse("2"), roofline{find_device("h100")}, standard_rules());
    CHECK(labels_of(space.of(4)) == std::set<std::string>{"R R R R -> R R", "S(0) S(0) R S(0) -> S(0) P"});
    CHECK(labels_of(space.of(5)) == std::set<std::string>{"R -> R", "S(0) -> S(0)"});
    CHECK(labels_of(space.of(6)) == std::set<std::string>{"R -> R", "P -> P"});
  }

  TEST_CASE("dimensions along which an operator works may be counted from the last") {
    const tensor x{{4, 6}};
    const rule_table rules = standard_rules();
    for (const std::int64_t d : {1, -1}) {
      CHECK(ways(one_operation("softmax", {x}, {x}, {.dims = {d}}), rules) ==
            std::set<std::string>{"R -> R", "S(0) -> S(0)"});
      CHECK(ways(one_operation("cat", {x, x}, {{{4, 12}}}, {.dims = {d}}), rules).contains("S(0) S(0) -> S(0)"));
      CHECK_FALSE(ways(one_operation("cat", {x, x}, {{{4, 12}}}, {.dims = {d}}), rules).contains("S(1) S(1) -> S(1)"));
    }
  }
}

TEST_SUITE("local_region_rule") {
  TEST_CASE("a region runs in the one way that it declares, and what surrounds it pays for that") {
    const tensor q{{4, 8, 64, 16}, dtype::bf16};
    rule_table rules = standard_rules();
    rules.add("context_parallel",
              local_region_rule{{lying("S(0)S(2)"), lying("S(0)R"), lying("S(0)R")}, {lying("S(0)S(2)"), sharding{}}},
              moves);
    const auto graph = one_operation("context_parallel", {q, q, q}, {q, {{2}, dtype::i64}});
    const device_profile h100 = find_device("h100");
    const spmd_cost_model model(graph, device_mesh::parse("2x4"), roofline{h100}, node_table<>(h100), rules);
    REQUIRE(model.strategy_count(3) == 1);
    CHECK(model.label(3, 0) == "S(0)S(2),S(0)R,S(0)R->[S(0)S(2),-]");
    const auto edges = model.graph().all_edges();
    auto plans = model.new_redistributor();
    for (strategy s = 0; s < model.strategy_count(0); ++s) {
      const sharding from = model.strategies(0).strategies[s].outputs[0];
      CHECK(model.edge_parts(edges[0], s, 0).communication == plans.cost(q, from, lying("S(0)S(2)")));
      CHECK(model.edge_parts(edges[1], s, 0).communication == plans.cost(q, from, lying("S(0)R")));
    }
  }

  TEST_CASE("placements that the tensors cannot have are refused") {
    const tensor x{{4, 6}};
    const auto told = [&](local_region_rule rule) {
      rule_table rules = standard_rules();
      rules.add("region", std::move(rule), moves);
      return refusal(one_operation("region", {x}, {x}), rules);
    };
    CHECK(told({{lying("S(0)")}, {lying("P")}}).empty());
    CHECK(told({{lying("S(0)")}, {lying("S(2)")}}) == "local region 'z': result 0 cannot be placed S(2) on mesh 2");
    CHECK(told({{lying("S(0)R")}, {lying("R")}}) == "local region 'z': argument 0 cannot be placed S(0)R on mesh 2");
    CHECK(told({{}, {lying("R")}}) == "local region 'z' declares 0 arguments, expected 1");
    CHECK(told({{lying("R")}, {lying("R"), lying("R")}}) == "local region 'z' declares 2 results, expected 1");
  }
}

}  // namespace rules_extension_tests
