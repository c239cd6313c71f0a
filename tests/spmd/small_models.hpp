#pragma once

#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

/// Small computations on a mesh.
namespace small_models {

using namespace shardweave;

inline const device_profile h100 = find_device("h100");
using model_type = spmd_cost_model;

inline computation tiny_llama() {
  llama_config c;
  c.hidden_size = 64;
  c.num_hidden_layers = 3;
  c.num_attention_heads = 4;
  c.num_key_value_heads = 2;
  c.intermediate_size = 96;
  c.vocab_size = 128;
  return llama_training_graph(c, {8, 16});
}

inline model_type model_of(computation graph, const char* mesh, spmd_options options = {}) {
  return {std::move(graph), device_mesh::parse(mesh), roofline{h100}, node_table<>(h100), standard_rules(), options};
}

/// The small model on a mesh, priced once for all tests that look at it.
inline const model_type& llama_on(const char* mesh) {
  static std::map<std::string, model_type> priced;
  auto at = priced.find(mesh);
  if (at == priced.end()) at = priced.emplace(mesh, model_of(tiny_llama(), mesh)).first;
  return at->second;
}

inline strategy find(const model_type& model, std::uint32_t v, const std::string& label) {
  for (strategy s = 0; s < model.strategy_count(v); ++s)
    if (model.label(v, s) == label) return s;
  FAIL("no strategy " << label << " of operation " << v);
  return 0;
}

/// x W -> relu -> result, with the weight stored wide and cast.
inline computation small_layer() {
  computation g;
  g.operations = {
      {"x", "input", phase::forward, role::input, {}, {{{64, 32}, dtype::bf16}}},
      {"w", "parameter", phase::forward, role::parameter, {}, {{{32, 64}, dtype::f32}}},
      {"wide", "clone", phase::forward, role::none, {1}, {{{32, 64}, dtype::f32}}},
      {"narrow", "cast", phase::forward, role::none, {2}, {{{32, 64}, dtype::bf16}}},
      {"y", "einsum", phase::forward, role::none, {0, 3}, {{{64, 64}, dtype::bf16}}, {.equation = "bk,kn->bn"}},
      {"a", "alias", phase::forward, role::none, {4}, {{{64, 64}, dtype::bf16}}},
      {"output", "output", phase::forward, role::none, {5}, {}}};
  g.results = {5};
  return g;
}

}  // namespace small_models
