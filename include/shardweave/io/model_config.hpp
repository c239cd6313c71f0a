#pragma once

#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/models/llama_config.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

/// \file
/// Reads a model's public config (the `config.json` of a model repository).

namespace shardweave {
inline namespace v0 {
namespace detail {

[[nodiscard]] inline json_shape config_count(std::int64_t& into) {
  return json_value("a positive whole number", [&into](const json_scalar& s) {
    const auto found = integer_of<std::int64_t>(s);
    if (found) into = *found;
    return found.has_value() && *found > 0;
  });
}

[[nodiscard]] inline json_shape config_number(double& into) {
  return json_value("a positive number", [&into](const json_scalar& s) {
    const auto found = number_of(s);
    if (found) into = *found;
    return found.has_value() && *found > 0 && std::isfinite(*found);
  });
}

}  // namespace detail

/// Every field of `llama_config` must be there; `model_type` and `head_dim` are checked where they are, and
/// fields of other names ignored unless `strict` is asked for.
/// \param name  the model's
/// \throws error naming the file, the line and byte, the field, what was found and what was expected
[[nodiscard]] inline llama_config read_llama_config(text_input& input, std::string name,
                                                    const read_options& options = {}) {
  llama_config config;
  config.name = std::move(name);
  std::int64_t head_size = 0;
  const json_shape llama_only = json_value(
      "\"llama\"", [](const json_scalar& s) { return s.type == json_scalar::kind::text && s.text == "llama"; });
  const auto check = [&]() -> std::string {
    if (const std::string wrong = config.problem(); !wrong.empty()) return "is no config: " + wrong;
    if (head_size == 0 || head_size == config.head_size()) return {};
    return "is no config: head_dim is " + std::to_string(head_size) + ", expected hidden_size / num_attention_heads (" +
           std::to_string(config.head_size()) + ")";
  };
  read_json(
      input,
      json_object({json_required("hidden_size", detail::config_count(config.hidden_size)),
                   json_required("num_hidden_layers", detail::config_count(config.num_hidden_layers)),
                   json_required("num_attention_heads", detail::config_count(config.num_attention_heads)),
                   json_required("num_key_value_heads", detail::config_count(config.num_key_value_heads)),
                   json_required("intermediate_size", detail::config_count(config.intermediate_size)),
                   json_required("vocab_size", detail::config_count(config.vocab_size)),
                   json_required("tie_word_embeddings", json_flag(config.tie_word_embeddings)),
                   json_required("rope_theta", detail::config_number(config.rope_theta)),
                   json_required("rms_norm_eps", detail::config_number(config.rms_norm_eps)),
                   json_optional("head_dim", detail::config_count(head_size)), json_optional("model_type", llama_only)},
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

}  // namespace v0
}  // namespace shardweave
