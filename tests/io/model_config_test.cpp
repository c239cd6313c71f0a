#include "support/temporary_folder.hpp"
#include <shardweave/io/model_config.hpp>
#include <shardweave/models/deepseek_config.hpp>
#include <shardweave/models/llama_config.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace sw = shardweave;
using shardweave_test::refusal_of;

namespace model_config_tests {
namespace {

const std::string good = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
  "num_attention_heads": 4, "num_hidden_layers": 3, "num_key_value_heads": 2, "rms_norm_eps": 1e-05,
  "rope_theta": 500000, "tie_word_embeddings": true, "vocab_size": 100, "torch_dtype": "bfloat16"})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = good;
  return text.replace(text.find(from), from.size(), to);
}

sw::llama_config parse(const std::string& text, bool strict = false) {
  sw::text_input input = sw::text_input::of_memory("m.json", text, 16);
  return sw::read_llama_config(input, "m", {.strict = strict});
}

/// The message without the place in the text.
std::string refusal(const std::string& text, bool strict = false) {
  const std::string what = refusal_of([&] { return parse(text, strict); }, sw::error_category::format);
  REQUIRE(what.starts_with("m.json: line "));
  return what.substr(what.find(": ", what.find(", byte ")) + 2);
}

/// The fields of DeepSeek-V3's public config, some of a nested kind, with small figures.
const std::string deep =
    R"({"architectures": ["DeepseekV3ForCausalLM"], "auto_map": {"AutoConfig": "c.C"}, "ep_size": 1,
  "attention_bias": false, "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 96,
  "kv_lora_rank": 24, "max_position_embeddings": 163840, "model_type": "deepseek_v3", "moe_intermediate_size": 32,
  "moe_layer_freq": 1, "n_group": 4, "n_routed_experts": 8, "n_shared_experts": 2, "norm_topk_prob": true,
  "num_attention_heads": 4, "num_experts_per_tok": 3, "num_hidden_layers": 5, "num_key_value_heads": 4,
  "num_nextn_predict_layers": 1, "q_lora_rank": 48, "qk_nope_head_dim": 16, "qk_rope_head_dim": 6,
  "quantization_config": {"fmt": "e4m3", "weight_block_size": [128, 128]}, "rms_norm_eps": 1e-06,
  "rope_scaling": {"type": "yarn"}, "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
  "tie_word_embeddings": false, "topk_group": 2, "topk_method": "noaux_tc", "v_head_dim": 12, "vocab_size": 100})";

sw::deepseek_config parse_deep(const std::string& from = "", const std::string& to = "") {
  std::string text = deep;
  text.replace(text.find(from), from.size(), to);
  sw::text_input input = sw::text_input::of_memory("d.json", text, 16);
  return sw::read_deepseek_config(input, "d");
}

std::string refusal_deep(const std::string& from, const std::string& to) {
  const std::string what = refusal_of([&] { return parse_deep(from, to); });
  REQUIRE_FALSE(what.empty());
  return what.substr(what.find(": ", what.find(", byte ")) + 2);
}

}  // namespace

TEST_SUITE("read_deepseek_config") {
  TEST_CASE("a public config is read, and fields of other names are ignored") {
    const sw::deepseek_config c = parse_deep();
    CHECK(c.name == "d");
    CHECK(c.hidden_size == 64);
    CHECK(c.num_hidden_layers == 5);
    CHECK(c.first_k_dense_replace == 1);
    CHECK(c.num_attention_heads == 4);
    CHECK(c.q_lora_rank == 48);
    CHECK(c.kv_lora_rank == 24);
    CHECK(c.qk_nope_head_dim == 16);
    CHECK(c.qk_rope_head_dim == 6);
    CHECK(c.v_head_dim == 12);
    CHECK(c.intermediate_size == 96);
    CHECK(c.moe_intermediate_size == 32);
    CHECK(c.n_routed_experts == 8);
    CHECK(c.n_shared_experts == 2);
    CHECK(c.num_experts_per_tok == 3);
    CHECK(c.vocab_size == 100);
    CHECK(c.n_group == 4);
    CHECK(c.topk_group == 2);
    CHECK(c.merit == sw::group_merit::best_two);
    CHECK(c.num_nextn_predict_layers == 1);
    CHECK(c.sigmoid_scores);
    CHECK(c.norm_topk_prob);
    CHECK(c.routed_scaling_factor == 2.5);
    CHECK(c.rms_norm_eps == 1e-6);
    CHECK_FALSE(parse_deep("\"sigmoid\"", "\"softmax\"").sigmoid_scores);
    CHECK(parse_deep("48", "null").q_lora_rank == 0);
    CHECK(parse_deep("\"noaux_tc\"", "\"group_limited_greedy\"").merit == sw::group_merit::best);
    CHECK(parse_deep("\"noaux_tc\"", "\"greedy\"").n_group == 1);
    CHECK(parse_deep("\"num_nextn_predict_layers\": 1", "\"other\": 1").num_nextn_predict_layers == 0);
    CHECK(parse_deep("\"deepseek_v3\"", "\"deepseek_v2\"").n_group == 4);
  }

  TEST_CASE("what is missing, ill-typed or impossible is refused by name") {
    for (const std::string field : {"hidden_size",
                                    "num_hidden_layers",
                                    "first_k_dense_replace",
                                    "num_attention_heads",
                                    "q_lora_rank",
                                    "kv_lora_rank",
                                    "qk_nope_head_dim",
                                    "qk_rope_head_dim",
                                    "v_head_dim",
                                    "intermediate_size",
                                    "moe_intermediate_size",
                                    "n_routed_experts",
                                    "n_shared_experts",
                                    "num_experts_per_tok",
                                    "vocab_size",
                                    "n_group",
                                    "topk_group",
                                    "topk_method",
                                    "scoring_func",
                                    "norm_topk_prob",
                                    "routed_scaling_factor",
                                    "rms_norm_eps"})
      CHECK(refusal_deep("\"" + field + "\"", "\"other\"") == "the text has no field '" + field + "'");
    const std::vector<std::tuple<const char*, const char*, const char*>> wrong{
        {"48", "0", "q_lora_rank is 0, expected a positive whole number or null"},
        {"48", "1.5", "q_lora_rank is 1.5, expected a positive whole number or null"},
        {"dense_replace\": 1", "dense_replace\": -1",
         "first_k_dense_replace is -1, expected a whole number that is not negative"},
        {"\"sigmoid\"", "\"tanh\"", "scoring_func is \"tanh\", expected \"sigmoid\" or \"softmax\""},
        {"\"noaux_tc\"", "1", "topk_method is 1, expected \"noaux_tc\", \"group_limited_greedy\" or \"greedy\""},
        {"\"silu\"", "\"gelu\"", "hidden_act is \"gelu\", expected \"silu\""},
        {"\"deepseek_v3\"", "\"llama\"", "model_type is \"llama\", expected \"deepseek_v3\" or \"deepseek_v2\""},
        {"n_group\": 4", "n_group\": 3",
         "the text is no config: n_routed_experts is 8, expected a multiple of n_group (3) with at least two in each"},
        {"topk_group\": 2", "topk_group\": 5",
         "the text is no config: topk_group is 5, expected no more than n_group (4)"},
        {"topk_group\": 2", "topk_group\": 1",
         "the text is no config: num_experts_per_tok is 3, expected no more than the experts of topk_group groups (2)"},
        {"key_value_heads\": 4", "key_value_heads\": 2",
         "the text is no config: num_key_value_heads is 2, expected num_attention_heads (4)"},
        {"freq\": 1", "freq\": 2", "the text is no config: moe_layer_freq is 2, expected 1"},
        {"embeddings\": false", "embeddings\": true",
         "the text is no config: tie_word_embeddings is true, expected false"}};
    for (const auto& [from, to, told] : wrong) CHECK(refusal_deep(from, to) == told);
  }
}

TEST_SUITE("read_model_config") {
  TEST_CASE("the family is the one that model_type says, LLaMA's if it says none") {
    const temporary_folder folder;
    const auto family = [&](const std::string& text) {
      return sw::read_model_config(folder.write("m.json", text)).index();
    };
    CHECK(family(good) == 0);
    CHECK(family(with("model_type", "other")) == 0);
    CHECK(family(deep) == 1);
    CHECK(refusal_of([&] {
            return family(with("\"llama\"", "\"gpt2\""));
          }).ends_with("model_type is \"gpt2\", expected \"llama\", \"deepseek_v3\" or \"deepseek_v2\""));
    const auto shipped = sw::read_model_config(std::filesystem::path(SHARDWEAVE_SOURCE_DIR) / "examples" / "configs" /
                                               "deepseek-v3.json");
    CHECK(std::get<sw::deepseek_config>(shipped).parameter_count() == 671'026'404'352);
  }
}

TEST_SUITE("read_llama_config") {
  TEST_CASE("a public config is read, and fields of other names are ignored") {
    const sw::llama_config c = parse(good);
    CHECK(c.name == "m");
    CHECK(c.hidden_size == 64);
    CHECK(c.intermediate_size == 96);
    CHECK(c.num_attention_heads == 4);
    CHECK(c.num_hidden_layers == 3);
    CHECK(c.num_key_value_heads == 2);
    CHECK(c.vocab_size == 100);
    CHECK(c.tie_word_embeddings);
    CHECK(c.rope_theta == 500000);
    CHECK(c.rms_norm_eps == 1e-5);
    CHECK(parse(with("true", "false") + " \n").tie_word_embeddings == false);
    CHECK(parse(with("\"vocab_size\"", "\"head_dim\": 16, \"vocab_size\"")).head_size() == 16);
  }

  TEST_CASE("the configs beside the programs are those of the published models") {
    const std::filesystem::path folder = std::filesystem::path(SHARDWEAVE_SOURCE_DIR) / "examples" / "configs";
    const std::vector<std::tuple<const char*, std::int64_t, double, bool>> models{
        {"llama3-1b", 16, 1.236e9, true},
        {"llama3-3b", 28, 3.213e9, true},
        {"llama3-8b", 32, 8.030e9, false},
        {"llama3-70b", 80, 70.55e9, false},
        {"llama3-405b", 126, 405.85e9, false}};
    for (const auto& [name, layers, weights, tied] : models) {
      const sw::llama_config c = sw::read_llama_config(folder / (std::string(name) + ".json"));
      CHECK(c.name == name);
      CHECK(c.num_hidden_layers == layers);
      CHECK(c.vocab_size == 128256);
      CHECK(c.rope_theta == 500000);
      CHECK(c.rms_norm_eps == 1e-5);
      CHECK(c.tie_word_embeddings == tied);
      CHECK(static_cast<double>(c.parameter_count()) == doctest::Approx(weights).epsilon(1e-3));
    }
  }

  TEST_CASE("a missing field is refused by name") {
    for (const std::string field :
         {"hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers", "num_key_value_heads",
          "vocab_size", "rope_theta", "rms_norm_eps", "tie_word_embeddings"})
      CHECK(refusal(with(field, "other")) == "the text has no field '" + field + "'");
    CHECK_NOTHROW((void)parse(with("model_type", "other")));
  }

  TEST_CASE("an ill-typed or impossible field is refused with what was found") {
    CHECK_THROWS_WITH_AS((void)parse("{\n\"vocab_size\": -1}"),
                         "m.json: line 2, byte 19: vocab_size is -1, expected a positive whole number", sw::error);
    CHECK(refusal(with("64", "\"64\"")) == "hidden_size is \"64\", expected a positive whole number");
    CHECK(refusal(with("64", "0")) == "hidden_size is 0, expected a positive whole number");
    CHECK(refusal(with("64", "64.5")) == "hidden_size is 64.5, expected a positive whole number");
    CHECK(refusal(with("64", "99999999999999999999")) ==
          "hidden_size is 99999999999999999999, expected a positive whole number");
    CHECK(refusal(with("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 1000000000000")) ==
          "the text is no config: num_hidden_layers is 1000000000000, expected 10000 at most");
    const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
    CHECK(refusal(with("\"num_attention_heads\": 4", "\"num_attention_heads\": " + most)) ==
          "the text is no config: num_attention_heads is " + most + ", expected 1000000000 at most");
    CHECK(refusal(with("\"intermediate_size\": 96", "\"intermediate_size\": 100000000000")) ==
          "the text is no config: intermediate_size is 100000000000, expected 1000000000 at most");
    CHECK(refusal(with("\"hidden_size\": 64", "\"hidden_size\": 960000000"))
              .starts_with("the text is no config: the model has "));  // 10^18 weights and more
    CHECK(refusal(with("64", "null")) == "hidden_size is null, expected a positive whole number");
    CHECK(refusal(with("500000", "[1]")) == "rope_theta is a list, expected a positive number");
    CHECK(refusal(with("1e-05", "-1")) == "rms_norm_eps is -1, expected a positive number");
    CHECK(refusal(with("true", "1")) == "tie_word_embeddings is 1, expected true or false");
    CHECK(refusal(with("\"llama\"", "\"gpt2\"")) == "model_type is \"gpt2\", expected \"llama\"");
    CHECK(refusal(with("\"vocab_size\"", "\"head_dim\": 8, \"vocab_size\"")) ==
          "the text is no config: head_dim is 8, expected hidden_size / num_attention_heads (16)");
    CHECK(refusal(with("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3")) ==
          "the text is no config: num_attention_heads is 4, expected a multiple of num_key_value_heads (3)");
    CHECK(refusal(with("torch_dtype", "vocab_size")) == "the text has the field 'vocab_size' twice");
    CHECK(refusal(good, true) == "the text has the unknown field 'torch_dtype'");
  }

  TEST_CASE("what is no JSON object is refused, and so is every cut text") {
    CHECK(refusal("[1, 2]") == "the text is a list, expected an object");
    CHECK(refusal("{\"a\": 1}") == "the text has no field 'hidden_size'");
    for (std::size_t length = 0; length < good.size(); length += 7)
      CHECK_FALSE(refusal(good.substr(0, length)).empty());
    CHECK(refusal_of([] { return sw::read_llama_config("no/such/file.json"); }, sw::error_category::system)
              .starts_with("no/such/file.json: cannot be opened"));
  }
}

}  // namespace model_config_tests
