#include "spmd/one_operation.hpp"
#include <shardweave/cost/node_table.hpp>
#include <shardweave/spmd/rules/local_region.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <doctest/doctest.h>

#include <utility>

namespace local_region_tests {
namespace {

using namespace one_operations;
using namespace shardweave;

}  // namespace

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

}  // namespace local_region_tests
