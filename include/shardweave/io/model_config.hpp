#pragma once

#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/models/deepseek_config.hpp>
#include <shardweave/models/llama_config.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// Reads a model's public config (the `config.json` of a model repository).

namespace shardweave::inline v0 {
namespace detail {

/// \param least  1, or 0 where there may be none
[[nodiscard]] inline json_shape config_count(std::int64_t& into, std::int64_t least = 1) {
  return json_value(least > 0 ? "a positive whole number" : "a whole number that is not negative",
                    [&into, least](const json_scalar& s) {
                      const auto found = integer_of<std::int64_t>(s);
                      if (found) into = *found;
                      return found.has_value() && *found >= least;
                    });
}

/// Graphs have hundreds of operations for every layer: a number that none could hold is refused before one is made.
inline constexpr std::int64_t most_layers = 10'000;

[[nodiscard]] inline std::string wrong_layers(std::int64_t count) {
  if (count <= most_layers) return {};
  return wrong_field("num_hidden_layers", count, std::to_string(most_layers) + " at most");
}

[[nodiscard]] inline json_shape config_number(double& into) {
  return json_value("a positive number", [&into](const json_scalar& s) {
    const auto found = number_of(s);
    if (found) into = *found;
    return found.has_value() && *found > 0 && std::isfinite(*found);
  });
}

/// A text that must be one of these; `chosen` is told its place in the list.
[[nodiscard]] inline json_shape config_word(std::vector<std::string_view> words, std::size_t& chosen) {
  std::string expected;
  for (std::size_t i = 0; i < words.size(); ++i)
    expected += (i == 0 ? "\"" : i + 1 == words.size() ? " or \"" : ", \"") + std::string(words[i]) + "\"";
  return json_value(std::move(expected), [words = std::move(words), &chosen](const json_scalar& s) {
    if (s.type != json_scalar::kind::text) return false;
    for (chosen = 0; chosen < words.size(); ++chosen)
      if (s.text == words[chosen]) return true;
    return false;
  });
}

}  // namespace detail

/// Reads hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, intermediate_size, vocab_size,
/// tie_word_embeddings, rope_theta and rms_norm_eps, all of which must be there; the other fields of `llama_config`
/// keep their defaults. `head_dim`, where it is there, must be hidden_size / num_attention_heads, and `model_type`
/// "llama". Fields of other names are ignored unless `strict` is asked for.
/// \param name  the model's
/// \throws error naming the file, the line and byte, the field, what was found and what was expected
[[nodiscard]] inline llama_config read_llama_config(text_input& input, std::string name,
                                                    const read_options& options = {}) {
  llama_config config;
  config.name = std::move(name);
  std::int64_t head_size = 0;
  std::size_t ignored = 0;
  const auto check = [&]() -> std::string {
    std::string wrong = detail::wrong_layers(config.num_hidden_layers);
    if (wrong.empty()) wrong = config.problem();
    if (!wrong.empty()) return "is no config: " + wrong;
    if (head_size == 0 || head_size == config.head_size()) return {};
    return "is no config: head_dim is " + std::to_string(head_size) + ", expected hidden_size / num_attention_heads (" +
           std::to_string(config.head_size()) + ")";
  };
  read_json(input,
            json_object({json_required("hidden_size", detail::config_count(config.hidden_size)),
                         json_required("num_hidden_layers", detail::config_count(config.num_hidden_layers)),
                         json_required("num_attention_heads", detail::config_count(config.num_attention_heads)),
                         json_required("num_key_value_heads", detail::config_count(config.num_key_value_heads)),
                         json_required("intermediate_size", detail::config_count(config.intermediate_size)),
                         json_required("vocab_size", detail::config_count(config.vocab_size)),
                         json_required("tie_word_embeddings", json_flag(config.tie_word_embeddings)),
                         json_required("rope_theta", detail::config_number(config.rope_theta)),
                         json_required("rms_norm_eps", detail::config_number(config.rms_norm_eps)),
                         json_optional("head_dim", detail::config_count(head_size)),
                         json_optional("model_type", detail::config_word({"llama"}, ignored))},
                        check),
            options);
  return config;
}

/// The config in a file; the model is named after it.
/// \throws error as above, or (system) if the file cannot be read
[[nodiscard]] inline llama_config read_llama_config(const std::filesystem::path& path,
                                                    const read_options& options = {}) {
  text_input input(path);
  return read_llama_config(input, path.stem().string(), options);
}

/// The config of DeepSeek-V2 or V3. Fields of experts and of latent attention must be there; `q_lora_rank` may be null,
/// which is no compression. What the graph cannot express is refused: another activation than "silu", layers with
/// experts that are not each one after the first, shared embeddings, fewer heads of keys than of queries.
/// \throws error as `read_llama_config` does
[[nodiscard]] inline deepseek_config read_deepseek_config(text_input& input, std::string name,
                                                          const read_options& options = {}) {
  deepseek_config c;
  c.name = std::move(name);
  std::size_t ignored = 0, scoring = 0, method = 0;
  std::int64_t key_heads = 0, frequency = 1;
  bool shares_embedding = false;
  const json_shape compressed = json_value("a positive whole number or null", [&c](const json_scalar& s) {
    const auto found = integer_of<std::int64_t>(s);
    c.q_lora_rank = found.value_or(0);
    return s.type == json_scalar::kind::null || c.q_lora_rank > 0;
  });
  const auto check = [&]() -> std::string {
    c.sigmoid_scores = scoring == 0;
    c.merit = method == 0 ? group_merit::best_two : group_merit::best;
    if (method == 2) c.n_group = c.topk_group = 1;  // experts are chosen from all
    std::string wrong = detail::wrong_layers(c.num_hidden_layers);
    if (wrong.empty()) wrong = c.problem();
    if (wrong.empty() && key_heads != 0 && key_heads != c.num_attention_heads)
      wrong = detail::wrong_field("num_key_value_heads", key_heads,
                                  "num_attention_heads (" + std::to_string(c.num_attention_heads) + ")");
    if (wrong.empty() && frequency != 1) wrong = detail::wrong_field("moe_layer_freq", frequency, "1");
    if (wrong.empty() && shares_embedding) wrong = "tie_word_embeddings is true, expected false";
    return wrong.empty() ? wrong : "is no config: " + wrong;
  };
  const auto count = [](const char* field, std::int64_t& into) {
    return json_required(field, detail::config_count(into));
  };
  read_json(input,
            json_object({count("hidden_size", c.hidden_size),
                         count("num_hidden_layers", c.num_hidden_layers),
                         json_required("first_k_dense_replace", detail::config_count(c.first_k_dense_replace, 0)),
                         count("num_attention_heads", c.num_attention_heads),
                         json_required("q_lora_rank", compressed),
                         count("kv_lora_rank", c.kv_lora_rank),
                         count("qk_nope_head_dim", c.qk_nope_head_dim),
                         count("qk_rope_head_dim", c.qk_rope_head_dim),
                         count("v_head_dim", c.v_head_dim),
                         count("intermediate_size", c.intermediate_size),
                         count("moe_intermediate_size", c.moe_intermediate_size),
                         count("n_routed_experts", c.n_routed_experts),
                         count("n_shared_experts", c.n_shared_experts),
                         count("num_experts_per_tok", c.num_experts_per_tok),
                         count("vocab_size", c.vocab_size),
                         count("n_group", c.n_group),
                         count("topk_group", c.topk_group),
                         json_required("topk_method",
                                       detail::config_word({"noaux_tc", "group_limited_greedy", "greedy"}, method)),
                         json_required("scoring_func", detail::config_word({"sigmoid", "softmax"}, scoring)),
                         json_required("norm_topk_prob", json_flag(c.norm_topk_prob)),
                         json_required("routed_scaling_factor", detail::config_number(c.routed_scaling_factor)),
                         json_required("rms_norm_eps", detail::config_number(c.rms_norm_eps)),
                         json_optional("num_nextn_predict_layers", detail::config_count(c.num_nextn_predict_layers, 0)),
                         json_optional("num_key_value_heads", detail::config_count(key_heads)),
                         json_optional("moe_layer_freq", detail::config_count(frequency)),
                         json_optional("tie_word_embeddings", json_flag(shares_embedding)),
                         json_optional("hidden_act", detail::config_word({"silu"}, ignored)),
                         json_optional("model_type", detail::config_word({"deepseek_v3", "deepseek_v2"}, ignored))},
                        check),
            options);
  return c;
}

/// The config in a file; the model is named after it.
/// \throws error as above, or (system) if the file cannot be read
[[nodiscard]] inline deepseek_config read_deepseek_config(const std::filesystem::path& path,
                                                          const read_options& options = {}) {
  text_input input(path);
  return read_deepseek_config(input, path.stem().string(), options);
}

/// A model's figures, whatever its family.
using model_config = std::variant<llama_config, deepseek_config>;

/// The config in a file, of the family that its `model_type` says; without one it is LLaMA's.
/// \throws error as above, also if the family is none that the library knows
[[nodiscard]] inline model_config read_model_config(const std::filesystem::path& path,
                                                    const read_options& options = {}) {
  std::size_t family = 0;
  {
    text_input input(path);
    read_json(input, json_object({json_optional(
                         "model_type", detail::config_word({"llama", "deepseek_v3", "deepseek_v2"}, family))}));
  }
  if (family == 0) return read_llama_config(path, options);
  return read_deepseek_config(path, options);
}

}  // namespace shardweave::inline v0
