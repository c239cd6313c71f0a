#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/io/training_runs.hpp>
#include <shardweave/step/predict_step.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What rows of tables of measured steps mean: devices, frameworks, models, plans.

namespace programs {

/// The device of a row; nothing if the name says none that is known.
[[nodiscard]] inline std::optional<std::string> device_of(std::string_view gpu) {
  const auto has = [&](std::string_view word) { return gpu.find(word) != std::string_view::npos; };
  if (has("A100-40GB")) return "a100-40gb";
  if (has("A100")) return "a100";
  if (has("H100-96GB") || has("H100-95GiB")) return "h100-96gb";
  if (has("H100")) return "h100";
  if (has("H200")) return "h200";
  if (has("GB200")) return "gb200";
  if (has("B200")) return "b200";
  return std::nullopt;
}

/// What a row's words on its framework mean.
[[nodiscard]] inline shardweave::framework_profile framework_of(const shardweave::training_run& row) {
  namespace sw = shardweave;
  const auto has = [&](std::string_view word) { return row.framework.find(word) != std::string::npos; };
  const auto us = [](double t) { return sw::from_microseconds(t); };
  sw::framework_profile f;
  if (has("Composer")) {
    f.name = "llm-foundry";
    f.compiles = false;
    f.loss = sw::training_loss::float32;
    f.fused_parts = {"activation", "attention_norm", "ffn_norm", "norm"};
    f.reduces_in_f32 = row.precision.find("pure") == std::string::npos;
    f.launches = {us(8), us(20), us(0), us(0)};
    f.attention = sw::saturation{0.52, 0, 1};
    f.attention_backward = sw::saturation{0.26, 0, 1};
  } else if (has("torchtitan") || has("torchtrain")) {
    f.name = "torchtitan";
    f.compiles = has("compile") || has("graph_trainer");
    f.loss = sw::training_loss::float32;
    f.fused_parts = {"silu"};
    if (!f.compiles) f.name += " eager";
    f.launches = {us(f.compiles ? 4 : 6), us(20), us(0), us(0)};
    f.pipelines_tensor_collectives = has("AsyncTP") || has("symm_mem");
    if (row.date < "2025-03") {
      f.attention = sw::saturation{0.37, 0, 1};
      f.attention_backward = sw::saturation{0.32, 0, 1};
    }
  } else if (has("Megatron")) {
    f.name = "Megatron-Core";
    f.reduces_each_micro_batch = false;
    f.optimizer.gathered_bytes = 2;
    f.pipelines_tensor_collectives = true;
    f.optimizer.update_bytes = 30;
    f.launches = {us(4), us(20), us(0), us(0)};
  } else if (has("MaxText") || has("PaxML")) {
    f.name = "XLA";
    f.reduces_in_f32 = false;
  } else {
    f.name = row.framework;
  }
  return f;
}

/// A row as the library states it, or why that is not possible.
struct read_step {
  std::optional<shardweave::stated_step> step = std::nullopt;
  std::string device = {};
  std::string why_not = {};
};

[[nodiscard]] inline read_step step_of(const shardweave::training_run& row) {
  namespace sw = shardweave;
  read_step result;
  const auto skip = [&](std::string why) {
    result.why_not = std::move(why);
    return result;
  };
  if (!row.precision.starts_with("bf16"))
    return skip(row.precision.empty() ? "precision is not stated" : "precision is not bf16");
  if (!row.mixture.empty()) return skip("mixture of experts");
  if (row.pipeline > 1) return skip("pipeline parallelism");
  if (row.context > 1) return skip("context parallelism");
  if (row.checkpointing.empty()) return skip("activation checkpointing is not stated");
  if (!(row.step_seconds > 0)) return skip("step time is not stated");
  if (row.hidden == 0 || row.layers == 0 || row.heads == 0 || row.feed == 0 || row.vocabulary == 0)
    return skip("shape of the model is not stated");
  if (row.sequence == 0 || row.micro_batch == 0) return skip("batch or sequence is not stated");
  const std::optional<std::string> device = device_of(row.gpu);
  if (!device) return skip("device is not known");
  result.device = *device;

  sw::stated_step s;
  s.model = {.name = row.model,
             .hidden_size = row.hidden,
             .num_hidden_layers = row.layers,
             .num_attention_heads = row.heads,
             .num_key_value_heads = row.key_heads > 0 ? row.key_heads : row.heads,
             .intermediate_size = row.feed,
             .vocab_size = row.vocabulary};
  const std::string_view name = row.model;
  if (name.starts_with("MPT") || name.starts_with("GPT")) {
    s.model.feed_forward = sw::feed_forward_kind::gelu;
    s.model.rotary = false;
    s.model.tie_word_embeddings = true;
  } else if (name.starts_with("Nemotron")) {
    s.model.feed_forward = sw::feed_forward_kind::squared_relu;
  } else if (name.starts_with("Qwen3")) {
    s.model.head_dim = 128;
  }
  s.sequence = row.sequence;
  s.micro_batch = row.micro_batch;
  s.micro_batches = std::max<std::int64_t>(row.micro_batches, 1);
  s.layout.tensor = std::max<std::int64_t>(row.tensor, 1);
  s.layout.shards = std::max<std::int64_t>(row.data, 1);
  if (row.sharing == "zero1") s.layout.stage = sw::zero_stage::optimizer;
  if (row.sharing == "hsdp" || row.sharing.empty()) {  // MaxText's: 128 in a group, or a node
    const std::int64_t group = std::min<std::int64_t>(row.sharing.empty() ? row.devices_per_node : 128, row.data);
    if (group > 0 && row.data % group == 0) {
      s.layout.replicas = row.data / group;
      s.layout.shards = group;
    }
  }
  const std::string& words = row.checkpointing;
  if (words == "full") s.recompute = sw::recompute_rule::full;
  if (words.starts_with("selective_op")) s.recompute = sw::recompute_rule::selective_op;
  if (words == "selective") s.recompute = sw::recompute_rule::attention;
  if (words.starts_with("selective_layer")) {
    s.recompute = sw::recompute_rule::full;
    s.recompute_every = 2;
  }
  s.framework = framework_of(row);
  if (s.layout.tensor > 1) s.framework.loss = sw::training_loss::sharded;
  result.step = std::move(s);
  return result;
}

}  // namespace programs
