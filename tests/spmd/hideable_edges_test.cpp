#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/hideable_edges.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hideable_edges_tests {
namespace {

namespace sw = shardweave;

sw::spmd_cost_model training_step() {
  return {sw::llama_training_graph({.name = "two layers",
                                    .hidden_size = 256,
                                    .num_hidden_layers = 2,
                                    .num_attention_heads = 4,
                                    .num_key_value_heads = 2,
                                    .intermediate_size = 512,
                                    .vocab_size = 1024},
                                   {.batch = 4, .sequence = 256}),
          sw::device_mesh({2, 2}), sw::roofline{sw::find_device("h100")}, sw::alpha_beta(sw::find_device("h100"))};
}

/// What each edge may do, read off the definition with sets of operations: which parameters reach, and which results
/// are reached by, one operation after the other.
std::map<std::uint32_t, sw::hiding> by_definition(const sw::computation& graph) {
  const auto& ops = graph.operations;
  const std::size_t n = ops.size();
  std::vector<bool> of_parameters(n), feeds_results(n);
  std::vector<std::vector<std::uint32_t>> users(n);
  for (std::uint32_t v = 0; v < n; ++v) {
    bool all = !ops[v].inputs.empty();
    for (const std::uint32_t i : ops[v].inputs) {
      all = all && of_parameters[i];
      users[i].push_back(v);
    }
    of_parameters[v] = ops[v].kind == sw::role::parameter || all;
  }
  for (std::size_t v = n; v-- > 0;) {
    bool all = !users[v].empty();
    for (const std::uint32_t u : users[v]) all = all && feeds_results[u];
    const bool is_result = ops[v].outputs.empty();
    feeds_results[v] = is_result || (all && ops[v].inputs.size() == 1);
  }
  std::map<std::uint32_t, sw::hiding> ways;
  const sw::compressed_graph g = graph.graph();
  std::uint32_t e = 0;
  for (auto [at, end] = edges(g); at != end; ++at, ++e) {
    const bool earlier = of_parameters[(*at).source], later = feeds_results[(*at).target];
    if (earlier || later)
      ways[e] = earlier && later ? sw::hiding::both : earlier ? sw::hiding::earlier : sw::hiding::later;
  }
  return ways;
}

}  // namespace

TEST_SUITE("hideable_edges") {
  TEST_CASE("what is made of parameters alone moves earlier, what only results wait for later, and nothing else") {
    const auto model = training_step();
    const auto expected = by_definition(model.operations());
    const auto told = sw::hideable_edges(model);
    std::map<std::uint32_t, sw::hiding> found;
    std::map<sw::hiding, std::size_t> ways;
    for (const sw::hideable_edge& e : told) {
      CHECK(found.emplace(e.edge, e.direction).second);
      ++ways[e.direction];
    }
    CHECK(found == expected);
    CHECK(ways[sw::hiding::earlier] > 10);
    CHECK(ways[sw::hiding::later] > 10);
    CHECK(told.size() < num_edges(model.graph()) / 2);
  }
}

TEST_SUITE("describe_spmd") {
  TEST_CASE("the problem is that of the model's graph, with the names of its operations, in us, and what may hide") {
    const auto model = training_step();
    const auto constraints = sw::training_constraints(model);
    const auto told = sw::describe(model, constraints);
    const auto plain = sw::describe(model.graph(), model, constraints);
    CHECK(told.name == "two layers");
    CHECK(told.unit == "us");
    CHECK(told.counted == sw::savings_form::off);
    REQUIRE(told.vertices.size() == model.operations().operations.size());
    for (std::size_t v = 0; v < told.vertices.size(); ++v) {
      const sw::operation& op = model.operations().operations[v];
      CHECK(told.vertices[v].name == op.name);
      CHECK(told.vertices[v].op == op.op);
      CHECK(told.vertices[v].phase == sw::name_of(op.when));
      CHECK(told.vertices[v].compute == plain.vertices[v].compute);
    }
    REQUIRE(told.edges.size() == plain.edges.size());
    for (std::size_t e = 0; e < told.edges.size(); ++e) {
      CHECK(told.edges[e].from == plain.edges[e].from);
      CHECK(told.edges[e].to == plain.edges[e].to);
    }
    const auto expected = by_definition(model.operations());
    REQUIRE(told.overlap.size() == expected.size());
    for (const sw::hideable_edge& e : told.overlap) CHECK(expected.at(e.edge) == e.direction);
  }
}

}  // namespace hideable_edges_tests
