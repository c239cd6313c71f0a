#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// Computations with their strategies on a mesh.
namespace planned_computations {

namespace sw = shardweave;
using sw::dtype;
using sw::sharding;

/// A computation with its strategies on a mesh of H100s.
struct planned {
  sw::spmd_cost_model model;
  const sw::computation& graph = model.operations();
  sw::redistributor redistribution = model.new_redistributor();

  planned(sw::computation g, std::vector<std::int64_t> shape, std::vector<std::string> names = {})
      : model(std::move(g), sw::device_mesh(std::move(shape), std::move(names)), sw::roofline{sw::find_device("h100")},
              sw::alpha_beta(sw::find_device("h100"))) {}

  [[nodiscard]] sw::lowered_graph lower(const sw::assignment& chosen, const sw::lowering_options& options = {}) const {
    return sw::lower(model, chosen, options);
  }
  /// The strategy of an operation whose arguments and first result lie as said.
  [[nodiscard]] sw::strategy find(const std::string& name, const std::vector<std::string>& inputs,
                                  const std::string& output) const {
    for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
      if (graph.operations[v].name != name) continue;
      const sw::strategy_list& list = model.strategies(v);
      for (sw::strategy s = 0; s < list.size(); ++s) {
        bool same = list.strategies[s].outputs[0].to_string() == output;
        for (std::size_t a = 0; a < inputs.size(); ++a)
          same = same && list.strategies[s].inputs[a].to_string() == inputs[a];
        if (same) return s;
      }
    }
    FAIL("no such strategy: " << name << " -> " << output);
    return 0;
  }
  [[nodiscard]] std::uint32_t vertex(const std::string& name) const {
    for (std::uint32_t v = 0; v < graph.operations.size(); ++v)
      if (graph.operations[v].name == name) return v;
    FAIL("no operation " << name);
    return 0;
  }
  /// Some strategy per operation such that every argument can be brought to where it is wanted.
  [[nodiscard]] sw::assignment any_assignment(sw::random_source& random) {
    sw::assignment chosen(graph.operations.size());
    for (std::uint32_t v = 0; v < chosen.size(); ++v) {
      std::vector<sw::strategy> possible;
      for (sw::strategy s = 0; s < model.strategies(v).size(); ++s) {
        chosen[v] = s;
        if (std::isfinite(communication_into(chosen, v))) possible.push_back(s);
      }
      REQUIRE(!possible.empty());
      chosen[v] = possible[random.below(possible.size())];
    }
    return chosen;
  }
  /// What the placement charges for bringing the arguments of v, in microseconds.
  [[nodiscard]] double communication_into(const sw::assignment& chosen, std::uint32_t v) {
    double sum = 0;
    const sw::operation& op = graph.operations[v];
    for (std::size_t a = 0; a < op.inputs.size(); ++a) {
      const auto [value, from, to] = edge(chosen, v, a);
      sum += redistribution.cost(value, from, to);
    }
    return sum;
  }
  [[nodiscard]] std::tuple<sw::tensor, sharding, sharding> edge(const sw::assignment& chosen, std::uint32_t v,
                                                                std::size_t a) const {
    const sw::operation& op = graph.operations[v];
    const std::uint32_t p = op.inputs[a];
    const std::size_t e = sw::element_taken(op, graph.operations[p]);
    return {graph.operations[p].outputs[e], model.strategies(p).strategies[chosen[p]].outputs[e],
            model.strategies(v).strategies[chosen[v]].inputs[a]};
  }
};

/// One linear map with its gradient, as sharded data parallelism trains it.
inline sw::computation linear_training() {
  sw::graph_builder b("linear");
  const auto w = b.group("w").parameter("w", {{48, 32}, dtype::f32});
  const auto x = b.group("").input("x", {{64, 32}, dtype::bf16});
  const auto t = b.permute(b.cast(w, dtype::bf16), {1, 0});
  const auto y = b.einsum("bk,kn->bn", {x, t});
  b.result(y);
  b.when(sw::phase::backward);
  const auto g = b.tangent("g", y);
  const auto dw = b.permute(b.einsum("bn,bk->kn", {g, x}), {1, 0});
  b.gradient(w, b.cast(dw, dtype::f32));
  return sw::insert_aliases(b.finish());
}

inline sw::computation tiny_llama(sw::training_shape shape = {8, 16}) {
  return sw::llama_training_graph({.name = "tiny",
                                   .hidden_size = 64,
                                   .num_hidden_layers = 2,
                                   .num_attention_heads = 4,
                                   .num_key_value_heads = 4,
                                   .intermediate_size = 96,
                                   .vocab_size = 80,
                                   .tie_word_embeddings = true},
                                  shape);
}

}  // namespace planned_computations
