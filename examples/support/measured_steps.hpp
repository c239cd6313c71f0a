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

/// The words of a cell as they are compared: in small letters.
[[nodiscard]] inline std::string small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

/// The device of a row; nothing if the name says none that is known. What is sold in several sizes of memory is one
/// device but for the memory's bandwidth.
[[nodiscard]] inline std::optional<std::string> device_of(std::string_view gpu) {
  const std::string name = small_letters(gpu);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (has("pcie") || has("h100 nvl") || has("h100-nvl")) return std::nullopt;  // lower clocks and other links
  if (has("a100") && (has("40gb") || has("40 gb"))) return "a100-40gb";
  if (has("a100")) return "a100";
  if (has("h100") && (has("96gb") || has("96 gb") || has("95gib"))) return "h100-96gb";
  if (has("h100")) return "h100";
  if (has("h200")) return "h200";
  if (has("gb200") || has("gb300")) return "gb200";  // in 16 bits a GB300 has the rates and the bandwidth of a GB200
  if (has("b200") || has("b300")) return "b200";
  return std::nullopt;
}

/// Whose program ran a row, as far as its steps differ.
enum class framework_kind : std::uint8_t { llm_foundry, torchtitan, megatron, xla, other };

[[nodiscard]] inline framework_kind framework_kind_of(const shardweave::training_run& row) {
  const std::string name = small_letters(row.framework);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (has("composer") || has("llm-foundry")) return framework_kind::llm_foundry;
  if (has("megatron") || has("nemo")) return framework_kind::megatron;
  if (has("torchtitan") || has("torchtrain") || has("kempnerforge") || has("fsdp") || has("pytorch"))
    return framework_kind::torchtitan;
  if (has("maxtext") || has("paxml") || has("jax") || has("xla")) return framework_kind::xla;
  return framework_kind::other;
}

/// The figures that were fitted to shown rows, and those of kernels whose source gives a range; all others are those of
/// public sources.
struct fitted_figures {
  /// FlashAttention 1 on A100, forward and backward: shares of the peak, the middle of 30 to 50 % and of 25 to 35 %, as
  /// the paper on its successor states them (arXiv 2307.08691, section 1). Not fitted.
  double attention = 0.40, attention_backward = 0.30;
  double slowdown = 1.14;  ///< PyTorch on H100: computation takes so many times longer in a step than its kernels alone
  double reserved = 1.2;   ///< what PyTorch's allocator reserves, times what is live

  /// Nothing is fitted.
  [[nodiscard]] static fitted_figures none() { return {.slowdown = 1, .reserved = 1}; }

  /// In words, for people.
  [[nodiscard]] std::string text() const {
    return "computation of PyTorch on H100 takes " + shardweave::fixed_text(slowdown, 2) +
           " times as long in a step as alone;\nits allocator reserves " + shardweave::fixed_text(reserved, 2) +
           " times what is live.\n";
  }
  friend bool operator==(const fitted_figures&, const fitted_figures&) = default;
};

/// Whether a device has instructions for products that attention kernels of 2023 and 2024 do not use.
[[nodiscard]] inline bool is_since_hopper(std::string_view device) { return !device.starts_with("a100"); }

/// What kernels that were written for Ampere reach of a Hopper device's peak, for the share that they reach on A100:
/// FlashAttention 2, forward and backward together, 335 of 989 TFLOP/s on H100 where it has 203 of 312 on A100. Source:
/// T. Dao, FlashAttention-2 (arXiv 2307.08691).
inline constexpr double kernels_of_ampere_on_hopper = (335. / 989) / (203. / 312);

/// What a row's words on its framework mean.
[[nodiscard]] inline shardweave::framework_profile framework_of(const shardweave::training_run& row,
                                                                std::string_view device, const fitted_figures& fitted) {
  namespace sw = shardweave;
  const std::string words = small_letters(row.framework);
  const auto has = [&](std::string_view word) { return words.find(word) != std::string::npos; };
  const auto us = [](double t) { return sw::from_microseconds(t); };
  sw::framework_profile f;
  switch (framework_kind_of(row)) {
    case framework_kind::llm_foundry: {
      f.name = "llm-foundry";
      f.compiles = false;
      f.loss = sw::training_loss::float32;
      f.fused_parts = {"activation", "attention_norm", "ffn_norm", "norm"};
      f.reduces_in_f32 = small_letters(row.precision).find("pure") == std::string::npos;
      f.launches = {us(8), us(20), us(0), us(0)};
      const double ported = is_since_hopper(device) ? kernels_of_ampere_on_hopper : 1;
      if (is_since_hopper(device)) f.slowdown = fitted.slowdown;
      f.attention = sw::saturation{fitted.attention * ported, 0, 1};
      f.attention_backward = sw::saturation{fitted.attention_backward * ported, 0, 1};
      break;
    }
    case framework_kind::torchtitan:
      f.name = "torchtitan";
      f.reduces_each_micro_batch = true;
      // graph_trainer runs what it traced as it is, but for regions that its words would have to name
      f.compiles = !has("eager") && !has("no compile") && !has("graph_trainer");
      f.loss = sw::training_loss::float32;
      f.fused_parts = {"silu"};
      if (row.date >= "2025-10")  // since PyTorch 2.9, of this month, a norm is one kernel each way
        f.fused_parts.insert(f.fused_parts.end(), {"attention_norm", "ffn_norm", "norm", "q_norm", "k_norm"});
      if (has("2-layer fsdp buckets")) f.layers_gathered_together = 2;
      if (row.date < "2025-03") f.eager_parts = {"loss", "output"};  // blocks alone were compiled
      if (f.compiles && row.date >= "2025-03") f.loss = sw::training_loss::fused;
      f.keeps_last_gathered = true;
      if (is_since_hopper(device)) f.slowdown = fitted.slowdown;
      f.reserved = fitted.reserved;
      if (!f.compiles) f.name += " eager";
      f.launches = {us(f.compiles ? 4 : 6), us(20), us(0), us(0)};
      if ((has("cudagraph") && !has("no cudagraph")) || has("production passes"))
        f.launches = {};  // launched as a whole
      f.pipelines_tensor_collectives = has("asynctp") || has("symm_mem");
      if (row.date < "2025-03" && is_since_hopper(device)) {
        f.attention = sw::saturation{0.37, 0, 1};
        f.attention_backward = sw::saturation{0.32, 0, 1};
      }
      break;
    case framework_kind::megatron:
      f.name = "Megatron-Core";
      f.gradients_stay = true;  // in one buffer, from step to step
      f.reduces_in_f32 = false;
      f.optimizer.gathered_bytes = 2;
      f.pipelines_tensor_collectives = true;
      f.hides_gathering = true;
      f.optimizer.update_bytes = 30;
      f.optimizer.accumulate_bytes = 0;  // products add to their gradients
      f.launches = {us(4), us(20), us(0), us(0)};
      break;
    case framework_kind::xla:
      f.name = "XLA";
      if (!has("flash")) f.attention_by = sw::attention_form::plain;  // a fused kernel is stated where there is one
      f.reduces_in_f32 = false;
      break;
    case framework_kind::other:
      f.name = row.framework;
      break;
  }
  return f;
}

/// What a row's words on activation checkpointing mean.
struct read_rule {
  shardweave::recompute_rule rule = shardweave::recompute_rule::none;
  std::uint32_t every = 1;
};

/// Nothing if no rule is known by these words. A rule of layers may end with a number: of so many layers one.
/// "selective" is the rule of the framework that says so.
[[nodiscard]] inline std::optional<read_rule> rule_of_words(std::string_view cell, framework_kind by) {
  namespace sw = shardweave;
  using enum sw::recompute_rule;
  const std::string words = small_letters(cell);
  const auto begins = [&](std::initializer_list<std::string_view> with) {
    return std::ranges::any_of(with, [&](std::string_view word) { return words.starts_with(word); });
  };
  if (begins({"none", "no", "off", "false"})) return read_rule{none};
  if (begins({"full", "true", "yes", "all", "block"})) return read_rule{full};
  const auto number = [&](std::uint32_t usual) {
    const std::size_t at = words.find_first_of("0123456789");
    std::uint32_t found = usual;
    if (at != std::string::npos) (void)std::from_chars(words.data() + at, words.data() + words.size(), found);
    return std::max<std::uint32_t>(found, 1);
  };
  if (begins({"selective_op", "selective op", "selective (op", "sac"})) return read_rule{selective_op};
  if (begins({"selective_layer", "selective layer", "selective (layer"})) return read_rule{full, number(2)};
  if (begins({"selective", "core_attn", "core attention", "attention"})) {
    if (by != framework_kind::torchtitan) return read_rule{attention};
    const std::uint32_t every = number(0);
    if (words.find_first_of("0123456789") == std::string::npos) return read_rule{selective_op};
    return read_rule{full, every};
  }
  return std::nullopt;
}

/// How a row's words convert products to 8 bits; nothing if they do not say what is known. What Transformer Engine and
/// XLA call fp8 without more words takes its scales from earlier steps, and what is scaled in blocks (mxfp8) waits for
/// no whole tensor either.
[[nodiscard]] inline std::optional<shardweave::f8_options> f8_of_words(std::string_view precision) {
  namespace sw = shardweave;
  const auto has = [&](std::string_view word) { return precision.find(word) != std::string_view::npos; };
  if (has("rowwise") || has("granularity") || has("attention") || has("fp4")) return std::nullopt;
  if (has("tensorwise")) return sw::f8_options{};
  if (has("current") || has("-cs")) return sw::f8_options{.keeps_converted = true};
  return sw::f8_options{.scaling = sw::f8_scaling::delayed, .keeps_converted = true};
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
  const std::string precision = small_letters(row.precision);
  const auto computes_in = [&](std::initializer_list<std::string_view> types) {
    return std::ranges::any_of(types, [&](std::string_view t) { return precision.find(t) != std::string::npos; });
  };
  if (precision.empty()) return skip("precision is not stated");
  std::optional<sw::f8_options> f8;
  if (computes_in({"fp8", "f8"})) {
    f8 = f8_of_words(precision);
    if (!f8) return skip("how numbers of 8 bits are scaled is not known");
  } else if (!computes_in({"bf16", "bfloat16"}) || computes_in({"fp4", "8-bit", "int8"})) {
    return skip("precision is neither bf16 nor fp8");
  }
  if (!row.mixture.empty()) return skip("mixture of experts");
  if (row.pipeline > 1) return skip("pipeline parallelism");
  if (row.checkpointing.empty()) return skip("activation checkpointing is not stated");
  const std::optional<read_rule> rule = rule_of_words(row.checkpointing, framework_kind_of(row));
  if (!rule) return skip("activation checkpointing is none that is known");
  std::string sharing = small_letters(row.sharing);
  std::erase_if(sharing, [](char c) { return c == '-' || c == '_' || c == ' '; });
  const auto shares = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, std::string_view(sharing)) != words.end();
  };
  const framework_kind by = framework_kind_of(row);
  const bool by_group = shares({"", "hsdp", "hybridshard", "hybrid", "hybridshardzero2"});
  const bool replicates = shares({"none", "ddp", "dp", "noshard"});
  const bool shares_optimizer = shares({"zero1", "distributedoptimizer", "optim"});
  const bool shares_gradients = shares({"zero2", "optimgrads", "shardgradop"});
  if (!by_group && !replicates && !shares_optimizer && !shares_gradients &&
      !shares({"zero3", "fsdp", "fsdp1", "fsdp2", "fullshard", "optimgradsparams"}))
    return skip("how parameters are shared is not known");
  if (!(row.step_seconds > 0)) return skip("step time is not stated");
  if (row.hidden == 0 || row.layers == 0 || row.heads == 0 || row.feed == 0 || row.vocabulary == 0)
    return skip("shape of the model is not stated");
  if (row.sequence == 0 || row.micro_batch == 0) return skip("batch or sequence is not stated");
  const std::optional<std::string> device = device_of(row.gpu);
  if (!device) return skip("device is not known");
  if (f8 && !(sw::find_preset(*device).profile.rate(sw::arithmetic::f8) > 0))
    return skip("the device has no 8-bit floating point");
  result.device = *device;

  sw::stated_step s;
  s.model = {.name = row.model,
             .hidden_size = row.hidden,
             .num_hidden_layers = row.layers,
             .num_attention_heads = row.heads,
             .num_key_value_heads = row.key_heads > 0 ? row.key_heads : row.heads,
             .intermediate_size = row.feed,
             .vocab_size = row.vocabulary};
  const std::string name = small_letters(row.model);
  if (name.starts_with("mpt") || name.starts_with("gpt")) {
    s.model.feed_forward = sw::feed_forward_kind::gelu;
    s.model.rotary = false;
    s.model.tie_word_embeddings = true;
  } else if (name.starts_with("nemotron")) {
    s.model.feed_forward = sw::feed_forward_kind::squared_relu;
  } else if (name.starts_with("qwen3") || name.starts_with("qwen-3")) {
    s.model.head_dim = 128;
    s.model.normed_heads = true;
  }
  s.sequence = row.sequence;
  s.micro_batch = row.micro_batch;
  s.micro_batches = std::max<std::int64_t>(row.micro_batches, 1);
  s.layout.tensor = std::max<std::int64_t>(row.tensor, 1);
  s.layout.context = std::max<std::int64_t>(row.context, 1);
  s.layout.shards = std::max<std::int64_t>(row.data, 1);
  if (replicates) std::swap(s.layout.shards, s.layout.replicas);
  if (shares_optimizer) s.layout.stage = sw::zero_stage::optimizer;
  // FSDP keeps parameters shared out between steps even so: what ZeRO-2 says of it is what stays within a micro-batch
  const bool by_fsdp = by == framework_kind::torchtitan || by == framework_kind::llm_foundry || shares({"shardgradop"});
  if (shares_gradients && !by_fsdp) s.layout.stage = sw::zero_stage::gradients;
  s.gathers_again = !(shares_gradients && by_fsdp) && !shares({"hybridshardzero2"});
  if (by_group) {  // shards in a node, unless the notes say another number
    std::int64_t group = row.devices_per_node;
    if (const std::size_t at = row.notes.find("FSDP "); at != std::string::npos)
      (void)std::from_chars(row.notes.data() + at + 5, row.notes.data() + row.notes.size(), group);
    group = std::min(group, row.data);
    if (group > 0 && row.data % group == 0) {
      s.layout.replicas = row.data / group;
      s.layout.shards = group;
    }
  }
  s.f8 = f8;
  s.gathers_f8 = computes_in({"fp8 all-gather"});
  s.recompute = rule->rule;
  s.recompute_every = rule->every;
  const auto noted = [&](std::string_view policy) { return row.notes.find(policy) != std::string::npos; };
  if (rule->every > 1 &&
      noted("(selective layer/op)")) {  // which of both is left open: torchtitan's configs of LLaMA models say op
    s.recompute = sw::recompute_rule::selective_op;
    s.recompute_every = 1;
  }
  if (noted("save_qkv_proj")) s.kept_products = {"wq", "wk", "wv"};
  if (noted("save_dot_except_mlp")) s.kept_products = {"wq", "wk", "wv", "wo"};
  if (noted("SAVE_DOT_ONLY")) s.kept_products = {"wq", "wk", "wv", "wo", "w1", "w2", "w3"};
  s.framework = framework_of(row, result.device, fitted);
  if (s.layout.tensor > 1) {
    s.framework.loss = sw::training_loss::sharded;
    if (s.framework.compiles) s.framework.fused_parts.emplace_back("loss");
  }
  result.step = std::move(s);
  return result;
}

}  // namespace programs
