#pragma once

#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstdint>

namespace shardweave_test {

/// Two layers, as they are usually laid out.
struct two_layers {
  shardweave::training_layout layout;
  shardweave::spmd_cost_model model;
  shardweave::assignment choice;

  explicit two_layers(std::int64_t batch = 4, const char* words = "fsdp=2,tp=8")
      : layout(shardweave::training_layout::parse(words)),
        model(shardweave::llama_training_graph({.name = "two layers",
                                                .hidden_size = 4096,
                                                .num_hidden_layers = 2,
                                                .num_attention_heads = 32,
                                                .num_key_value_heads = 8,
                                                .intermediate_size = 14336,
                                                .vocab_size = 32000},
                                               {.batch = batch, .sequence = 4096}),
              layout.mesh(), shardweave::roofline{shardweave::find_device("h100")},
              shardweave::node_table<>(shardweave::find_device("h100")), shardweave::layout_rules(layout)),
        choice(
            shardweave::trws{}
                .solve(shardweave::compile(shardweave::describe(model, shardweave::layout_constraints(model, layout))))
                .choice) {}
};

}  // namespace shardweave_test
