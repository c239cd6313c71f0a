#pragma once

#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// A few products with their gradients on a mesh.
namespace small_chains {

using namespace shardweave;

using model_type = spmd_cost_model;
inline sharding lying(const char* text) { return sharding::parse(text); }

/// `layers` times y = relu(x w), with gradients of the weights; weights are kept in f32 and used in bf16.
inline computation chain(std::int64_t layers, std::int64_t width = 64) {
  graph_builder b("chain");
  auto x = b.input("x", {{256, width}, dtype::bf16});
  std::vector<graph_builder::value> weights, narrow, inputs;
  for (std::int64_t l = 0; l < layers; ++l) {
    b.layer(l);
    weights.push_back(b.parameter("layers." + std::to_string(l) + ".w", {{width, width}, dtype::f32}));
    narrow.push_back(b.cast(weights.back(), dtype::bf16));
    inputs.push_back(x);
    x = b.einsum("bk,kn->bn", {x, narrow.back()});
  }
  b.layer(-1).result(x);
  b.when(phase::backward);
  auto g = b.tangent("dy", x);
  for (std::int64_t l = layers; l-- > 0;) {
    const auto i = static_cast<std::size_t>(l);
    b.layer(l).gradient(weights[i], b.cast(b.einsum("bk,bn->kn", {inputs[i], g}), dtype::f32));
    if (l > 0) g = b.einsum("bn,kn->bk", {g, narrow[i]});
  }
  return insert_aliases(b.finish());
}

inline model_type model_of(computation graph, const char* mesh, spmd_options options = {}) {
  const device_profile h100 = find_device("h100");
  return {std::move(graph), device_mesh::parse(mesh), roofline{h100}, node_table<>(h100), standard_rules(), options};
}

inline std::uint32_t number_of(const model_type& model, const std::string& name) {
  const auto& operations = model.operations().operations;
  const auto at = std::ranges::find(operations, name, &operation::name);
  REQUIRE(at != operations.end());
  return static_cast<std::uint32_t>(at - operations.begin());
}

/// Where an operation's result lies in the best placement.
inline std::string placed(const model_type& model, const constraint_log& log, const std::string& name) {
  const auto found = exhaustive{}.solve(compile(describe(model.graph(), model, constraints_of(model, log))));
  REQUIRE(found.status == solve_status::optimal);
  const std::uint32_t v = number_of(model, name);
  return model.strategies(v).strategies[found.choice[v]].outputs.front().to_string();
}

}  // namespace small_chains
