#pragma once

#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/spmd/hideable_edges.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

/// A small training step, and which of its edges may hide.
namespace training_steps {

namespace sw = shardweave;

inline sw::spmd_cost_model training_step() {
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
inline std::map<std::uint32_t, sw::hiding> by_definition(const sw::computation& graph) {
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

}  // namespace training_steps
