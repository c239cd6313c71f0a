#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

// Optimal placements of a feed-forward block must be the ones that people use: sharded and plain data parallelism
// on one mesh dimension, tensor parallelism beside it when that is cheaper.

namespace plans_tests {
namespace {

using namespace shardweave;
using model_type = spmd_cost_model;

/// y = w2 (w1 x)^2 and its gradients; parameters are kept in f32 and used in bf16.
computation feed_forward(std::int64_t rows, std::int64_t width, std::int64_t hidden) {
  graph_builder b("feed forward");
  const auto x = b.input("x", {{rows, width}, dtype::bf16});
  const auto w1 = b.parameter("w1", {{hidden, width}, dtype::f32});
  const auto w2 = b.parameter("w2", {{width, hidden}, dtype::f32});
  const auto c1 = b.cast(w1, dtype::bf16);
  const auto c2 = b.cast(w2, dtype::bf16);
  const auto u = b.einsum("bk,kn->bn", {x, b.permute(c1, {1, 0})});
  const auto z = b.pow(u, 2);
  const auto y = b.einsum("bk,kn->bn", {z, b.permute(c2, {1, 0})});
  b.result(y);
  b.when(phase::backward);
  const auto g = b.tangent("dy", y);
  b.gradient(w2, b.cast(b.einsum("bn,bk->nk", {g, z}), dtype::f32));
  const auto du = b.mul(b.einsum("bn,nk->bk", {g, c2}), b.mul_scalar(u, 2));
  b.gradient(w1, b.cast(b.einsum("bn,bk->nk", {du, x}), dtype::f32));
  return insert_aliases(b.finish());
}

struct plan {
  double objective = 0;
  std::map<std::string, std::string> parameters;
  std::vector<std::string> products;  ///< strategies of the matrix products, in order
};

plan best(const computation& graph, const char* mesh, const training_options& options) {
  const device_profile h100 = find_device("h100");
  const model_type model(graph, device_mesh::parse(mesh), roofline{h100}, node_table<>(h100));
  const auto solved = trws{}.solve(compile(describe(model.graph(), model, training_constraints(model, options))));
  REQUIRE(solved.status == solve_status::optimal);
  plan result{solved.objective, {}, {}};
  double sum = 0;
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
    const operation& op = graph.operations[v];
    const strategy s = solved.choice[v];
    sum += model.vertex_cost(v, s);
    if (op.kind == role::parameter) result.parameters[op.name] = model.label(v, s).substr(2);
    if (op.op == "einsum") result.products.push_back(model.label(v, s));
  }
  for (const auto& e : model.graph().all_edges())
    sum += model.edge_cost(e, solved.choice[e.source], solved.choice[e.target]);
  CHECK(sum == doctest::Approx(solved.objective));
  for (const auto& [parameter, gradient] : graph.gradient_of)
    CHECK(model.strategies(parameter).strategies[solved.choice[parameter]].outputs ==
          model.strategies(gradient).strategies[solved.choice[gradient]].outputs);
  return result;
}

/// Rows cut; weights gathered; gradients of weights summed over rows.
const std::vector<std::string> data_parallel{"S(0),R->S(0)", "S(0),R->S(0)", "S(0),S(0)->P", "S(0),R->S(0)",
                                             "S(0),S(0)->P"};

}  // namespace

TEST_SUITE("training_constraints") {
  TEST_CASE("many rows and a tight memory give sharded data parallelism") {
    const computation graph = feed_forward(2048 * 256, 1024, 4096);
    const plan found = best(graph, "256", {.inputs = sharding::parse("S(0)"), .results = sharding::parse("S(0)")});
    CHECK(found.products == data_parallel);
    for (const auto& [name, where] : found.parameters) {
      CAPTURE(name);
      CHECK((where == "S(0)" || where == "S(1)"));
    }
  }

  TEST_CASE("memory to spare gives plain data parallelism") {
    const computation graph = feed_forward(2048 * 256, 1024, 4096);
    const training_options loose{
        .inputs = sharding::parse("S(0)"), .results = sharding::parse("S(0)"), .parameter_share = 1};
    const plan found = best(graph, "256", loose);
    CHECK(found.products == data_parallel);
    CHECK(found.parameters == std::map<std::string, std::string>{{"w1", "R"}, {"w2", "R"}});
    const plan tight = best(graph, "256", {.inputs = loose.inputs, .results = loose.results});
    CHECK(found.objective < tight.objective);
  }

  TEST_CASE("few rows against wide weights keep the weights where they are") {
    const computation graph = feed_forward(64, 8192, 32768);
    const plan found = best(graph, "8x8", {.inputs = sharding::parse("S(0)R"), .results = sharding::parse("S(0)R")});
    // hidden columns cut along the second mesh dimension, and the second product sums over them
    CHECK(found.products[0].ends_with("S(1)"));
    CHECK(found.products[1].ends_with("P"));
    for (const auto& [name, where] : found.parameters) {
      CAPTURE(name);
      CHECK(where.find('R') == std::string::npos);
    }
  }

  TEST_CASE("wide experts stay where they are, and tokens come to them by all-to-all") {
    // 8 sequences of 8192 tokens, 2 of 16 experts each; a sequence is a group
    const auto mixture = [](std::int64_t hidden) {
      graph_builder b("experts");
      const auto x = b.input("x", {{8, 8192, 256}, dtype::bf16});
      const auto chosen = b.input("chosen", {{8, 8192, 2}, dtype::i64});
      const auto w1 = b.parameter("w1", {{16, 256, hidden}, dtype::bf16});
      const auto w2 = b.parameter("w2", {{16, hidden, 256}, dtype::bf16});
      const auto slots = b.moe_dispatch(x, chosen, 16, 1024);
      const auto u = b.einsum("egcd,edf->egcf", {slots, w1});
      b.result(b.moe_combine(b.einsum("egcf,efd->egcd", {u, w2}), chosen));
      return insert_aliases(b.finish());
    };
    const device_profile h100 = find_device("h100");
    const auto ways = [&](std::int64_t hidden) {
      const model_type model(mixture(hidden), device_mesh::parse("8"), roofline{h100}, node_table<>(h100));
      const auto found = trws{}.solve(compile(describe(
          model.graph(), model,
          training_constraints(model, {.inputs = sharding::parse("S(0)"), .results = sharding::parse("S(0)")}))));
      REQUIRE(found.status == solve_status::optimal);
      std::string text;
      for (std::uint32_t v = 0; v < model.operations().operations.size(); ++v) {
        const std::string& op = model.operations().operations[v].op;
        if (op.starts_with("moe") || op == "einsum") text += model.label(v, found.choice[v]) + " ";
      }
      return text;
    };
    CHECK(ways(32768) == "S(0),S(0)->S(1) S(0),S(0)->S(0) S(0),S(0)->S(0) S(1),S(0)->S(0) ");
    // narrow ones are gathered, and the tokens stay
    CHECK(ways(64) == "S(0),S(0)->S(1) S(1),R->S(1) S(1),R->S(1) S(1),S(0)->S(0) ");
    const device_mesh mesh = device_mesh::parse("8");
    auto plans = redistributor(mesh, roofline{h100}, node_table<>(h100));
    const auto steps =
        plans.plan({{16, 8, 1024, 256}, dtype::bf16}, sharding::parse("S(1)"), sharding::parse("S(0)")).steps;
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].op == collective::all_to_all);
  }
}

}  // namespace plans_tests
