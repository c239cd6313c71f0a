#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/step/predict_step.hpp>
#include <shardweave/step/stated_step.hpp>

#include <cstdint>

/// A step of a model of a few layers on eight devices, and what is predicted of it.
namespace small_step {

namespace sw = shardweave;

inline sw::stated_step small(std::int64_t layers) {
  sw::stated_step s;
  s.model = {.name = "small",
             .hidden_size = 1024,
             .num_hidden_layers = layers,
             .num_attention_heads = 8,
             .num_key_value_heads = 8,
             .intermediate_size = 4096,
             .vocab_size = 32000};
  s.sequence = 1024;
  s.micro_batch = 4;
  s.layout = sw::training_layout::parse("fsdp=8");
  return s;
}

inline sw::predicted_step predict(const sw::stated_step& s) {
  static const sw::compute_profile compute = sw::find_preset("h100").compute();
  static const sw::any_collectives links = sw::nccl_smooth(sw::find_device("h100"));
  return sw::predict_step(s, compute, links);
}
inline double ms(sw::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

}  // namespace small_step
