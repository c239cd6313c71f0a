#include "spmd/one_operation.hpp"
#include "spmd/strategy_texts.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/contraction.hpp>
#include <shardweave/spmd/rules/letters.hpp>
#include <shardweave/spmd/rules/local_region.hpp>
#include <shardweave/spmd/rules/shape.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategies.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rules_tests {
namespace {

using namespace one_operations;
using namespace shardweave;
using namespace strategy_texts;
using shardweave_test::refusal_of;

}  // namespace

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

  // the last dimension stays together, all others may be cut
  struct row_rule {
    std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
      std::vector<dim_strategy> ways{{{dim_placement()}, {dim_placement()}}};
      for (std::size_t d = 0; d + 1 < view.outputs.front().rank(); ++d)
        ways.push_back({{dim_placement::shard(d)}, {dim_placement::shard(d)}});
      return ways;
    }
  };
  static_assert(dim_rule<row_rule>);
  static_assert(!follow_rule<row_rule>);
  static_assert(!mesh_rule<row_rule>);
  static_assert(follow_rule<view_rule> && !dim_rule<view_rule>);
  static_assert(dim_rule<einsum_rule> && !mesh_rule<einsum_rule>);
  static_assert(!dim_rule<int> && !follow_rule<int> && !mesh_rule<int>);

  computation one(const char* op) {
    computation graph;
    graph.operations = {source("x", {{8, 6, 4}}), {"y", op, phase::forward, role::none, {0}, {{{8, 6, 4}}}}};
    return graph;
  }

  TEST_CASE("an operator of the user's own is one call") {
    rule_table rules = standard_rules();
    rules.add("row_softmax", row_rule{}, {.is_view = false, .flops = [](const operation_view& view) {
                                            return 1e9 * static_cast<double>(view.inputs[0].element_count());
                                          }});
    const strategy_space space = enumerate_strategies(one("row_softmax"), device_mesh::parse("2x2"), h100, rules);
    CHECK(texts(space.of(1)) == std::vector<std::string>{"RR->RR", "RS(0)->RS(0)", "RS(1)->RS(1)", "S(0)R->S(0)R",
                                                         "S(0)S(0)->S(0)S(0)", "S(0)S(1)->S(0)S(1)", "S(1)R->S(1)R",
                                                         "S(1)S(0)->S(1)S(0)", "S(1)S(1)->S(1)S(1)"});
    CHECK(space.of(1).compute_us[0] == doctest::Approx(192e9 / 494e12 * 1e6 / 0.7));
    CHECK(space.of(1).compute_us[1] == doctest::Approx(space.of(1).compute_us[0] / 2));
  }

  TEST_CASE("a rule for a whole mesh lists its strategies itself") {
    rule_table rules = standard_rules();
    rules.add("region",
              [](const operation_view&, const device_mesh&) {
                return std::vector<mesh_strategy>{{{sharding::parse("S(0)R")}, {sharding::parse("S(0)S(1)")}},
                                                  {{sharding::parse("S(0)R")}, {sharding::parse("S(0)S(1)")}},
                                                  {{sharding()}, {sharding::parse("RR")}}};
              },
              {.moves_data_only = true});
    const strategy_space space = enumerate_strategies(one("region"), device_mesh::parse("2x2"), h100, rules);
    CHECK(texts(space.of(1)) == std::vector<std::string>{"S(0)S(1)->S(0)R", "RR->-"});
  }

  TEST_CASE("a rule that places too few tensors, or none, is refused") {
    rule_table rules = standard_rules();
    rules.add("short",
              [](const operation_view&, std::int64_t) {
                return std::vector<dim_strategy>{{{dim_placement()}, {}}};
              },
              {.moves_data_only = true});
    CHECK_THROWS_WITH_AS(enumerate_strategies(one("short"), device_mesh::parse("2"), h100, rules),
                         "the rule of operation 'y' (short) places 0 tensors, expected 1", error);
    rules.add("whole",
              [](const operation_view&, const device_mesh&) {
                return std::vector<mesh_strategy>{{{sharding::parse("R")}, {}}};
              },
              {.moves_data_only = true});
    CHECK_THROWS_WITH_AS(enumerate_strategies(one("whole"), device_mesh::parse("2"), h100, rules),
                         "the rule of operation 'y' (whole) places 0 arguments and 1 results, expected 1 and 1", error);
    rules.add("never", [](const operation_view&, dim_placement, std::int64_t) { return std::optional<dim_strategy>(); },
              {.moves_data_only = true});
    CHECK_THROWS_WITH_AS(enumerate_strategies(one("never"), device_mesh::parse("2x2"), h100, rules),
                         "operation 'y' (never) has no strategy on mesh 2x2", error);
  }

  TEST_CASE("a rule added again takes the place of the first") {
    rule_table rules = standard_rules();
    CHECK(rules.contains("neg"));
    CHECK_FALSE(rules.contains("row_softmax"));
    rules.add("neg", row_rule{}, {.moves_data_only = true});
    CHECK(enumerate_strategies(one("neg"), device_mesh::parse("2"), h100, rules).of(1).size() == 3);
    CHECK(enumerate_strategies(one("neg"), device_mesh::parse("2"), h100, standard_rules()).of(1).size() == 8);
  }
}

}  // namespace rules_tests
