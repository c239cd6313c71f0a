#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/io/training_runs.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/step/predict_step.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// The figures that were fitted to shown rows; all others are those of public sources.
struct fitted_figures {
  /// Triton's FlashAttention with a bias on A100, forward and backward: shares of the peak; 0: as published kernels.
  double attention = 0.52, attention_backward = 0.26;
  double slowdown = 1.12;  ///< PyTorch on H100: computation takes so many times longer in a step than its kernels alone
  double reserved = 1.08;  ///< what PyTorch's allocator reserves, times what is live

  /// In words, for people.
  [[nodiscard]] std::string text() const {
    namespace sw = shardweave;
    const std::string of_attention = attention > 0
                                         ? "reaches " + sw::percent_text(attention, 0) + " of the peak forward and " +
                                               sw::percent_text(attention_backward, 0) + " backward"
                                         : "is as published kernels are";
    return "Fitted to rows like these: attention of llm-foundry on A100 " + of_attention +
           ";\ncomputation of PyTorch on H100 takes " + sw::fixed_text(slowdown, 2) +
           " times as long in a step as alone; its allocator reserves " + sw::fixed_text(reserved, 2) +
           " times what is live.\n";
  }
};

/// What a row's words on its framework mean.
[[nodiscard]] inline shardweave::framework_profile framework_of(const shardweave::training_run& row,
                                                                const fitted_figures& fitted) {
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
    if (fitted.attention > 0) {
      f.attention = sw::saturation{fitted.attention, 0, 1};
      f.attention_backward = sw::saturation{fitted.attention_backward, 0, 1};
    }
  } else if (has("torchtitan") || has("torchtrain") || has("KempnerForge") || has("FSDP2")) {
    f.name = "torchtitan";
    f.compiles = !has("eager") && !has("no compile");
    f.loss = sw::training_loss::float32;
    f.fused_parts = {"silu"};
    if (row.date < "2025-03") f.eager_parts = {"loss", "output"};  // blocks alone were compiled
    f.gradients_stay = true;
    f.slowdown = fitted.slowdown;
    f.reserved = fitted.reserved;
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

[[nodiscard]] inline read_step step_of(const shardweave::training_run& row, const fitted_figures& fitted = {}) {
  namespace sw = shardweave;
  read_step result;
  const auto skip = [&](std::string why) {
    result.why_not = std::move(why);
    return result;
  };
  if (!row.fault.empty()) return skip("a cell is no number");
  std::string precision = row.precision;
  std::ranges::transform(precision, precision.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (!precision.starts_with("bf16"))
    return skip(row.precision.empty() ? "precision is not stated" : "precision is not bf16");
  if (!row.mixture.empty()) return skip("mixture of experts");
  if (row.pipeline > 1) return skip("pipeline parallelism");
  if (row.checkpointing.empty()) return skip("activation checkpointing is not stated");
  constexpr std::string_view rules[] = {"none", "full", "selective", "selective_op", "selective_layer"};
  const bool is_known_rule =
      std::ranges::any_of(rules, [&](std::string_view rule) { return row.checkpointing.starts_with(rule); });
  if (!is_known_rule) return skip("activation checkpointing is none that is known");
  constexpr std::string_view sharings[] = {"", "none", "zero1", "zero2", "zero3", "hsdp"};
  if (std::ranges::find(sharings, std::string_view(row.sharing)) == std::end(sharings))
    return skip("how parameters are shared is not known");
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
  if (row.sharing == "none") std::swap(s.layout.shards, s.layout.replicas);
  if (row.sharing == "zero1" || row.sharing == "zero2") s.layout.stage = sw::zero_stage::optimizer;
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
  s.framework = framework_of(row, fitted);
  if (s.layout.tensor > 1) {
    s.framework.loss = sw::training_loss::sharded;
    s.framework.fused_parts.emplace_back("loss");
  }
  result.step = std::move(s);
  return result;
}

}  // namespace programs
