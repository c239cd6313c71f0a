#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/io/training_runs.hpp>
#include <shardweave/step/predict_step.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
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

/// The figures below that were fitted to shown rows; all others are those of public sources.
/// Triton's FlashAttention with a bias on A100, forward and backward: shares of the peak.
inline constexpr double fitted_triton_attention = 0.52, fitted_triton_attention_backward = 0.26;
/// PyTorch on H100: computation takes so many times longer in a step than its kernels alone.
inline constexpr double fitted_slowdown_of_torch = 1.12;
/// What PyTorch's allocator reserves, times what is live.
inline constexpr double fitted_reserve_of_torch = 1.08;

/// In words, for people.
inline constexpr std::string_view fitted_figures =
    "Fitted to rows like these: attention of llm-foundry on A100 reaches 52 % of the peak forward and 26 % backward; "
    "computation of\nPyTorch on H100 takes 1.12 times as long in a step as alone; its allocator reserves 1.08 times "
    "what "
    "is live.\n";

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
    f.attention = sw::saturation{fitted_triton_attention, 0, 1};
    f.attention_backward = sw::saturation{fitted_triton_attention_backward, 0, 1};
  } else if (has("torchtitan") || has("torchtrain") || has("KempnerForge") || has("FSDP2")) {
    f.name = "torchtitan";
    f.compiles = !has("eager") && !has("no compile");
    f.loss = sw::training_loss::float32;
    f.fused_parts = {"silu"};
    if (row.date < "2025-03") f.eager_parts = {"loss", "output"};  // blocks alone were compiled
    f.gradients_stay = true;
    f.slowdown = fitted_slowdown_of_torch;
    f.reserved = fitted_reserve_of_torch;
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
    f.reduces_in_f32 = false;
    f.optimizer.gathered_bytes = 2;
    f.pipelines_tensor_collectives = true;
    f.hides_gathering = true;
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
  s.layout.context = std::max<std::int64_t>(row.context, 1);
  s.layout.shards = std::max<std::int64_t>(row.data, 1);
  if (row.sharing == "zero1") s.layout.stage = sw::zero_stage::optimizer;
  if (row.sharing == "hsdp" || row.sharing.empty()) {  // shards in a node, unless the notes say another number
    std::int64_t group = row.devices_per_node;
    if (const std::size_t at = row.notes.find("FSDP "); at != std::string::npos)
      (void)std::from_chars(row.notes.data() + at + 5, row.notes.data() + row.notes.size(), group);
    group = std::min(group, row.data);
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
  const auto noted = [&](std::string_view policy) { return row.notes.find(policy) != std::string::npos; };
  if (noted("save_qkv_proj")) s.kept_products = {"wq", "wk", "wv"};
  if (noted("save_dot_except_mlp")) s.kept_products = {"wq", "wk", "wv", "wo"};
  if (noted("SAVE_DOT_ONLY")) s.kept_products = {"wq", "wk", "wv", "wo", "w1", "w2", "w3"};
  s.framework = framework_of(row);
  if (s.layout.tensor > 1) {
    s.framework.loss = sw::training_loss::sharded;
    s.framework.fused_parts.emplace_back("loss");
  }
  result.step = std::move(s);
  return result;
}

}  // namespace programs
