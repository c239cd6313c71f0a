#include "support/shared_data.hpp"
#include <shardweave/io/model_config.hpp>
#include <shardweave/models/llama_config.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sw = shardweave;

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
  try {
    (void)parse(text, strict);
  } catch (const sw::error& e) {
    CHECK(e.category() == sw::error_category::format);
    const std::string what = e.what();
    CHECK(what.starts_with("m.json: line "));
    return what.substr(what.find(": ", what.find(", byte ")) + 2);
  }
  return "nothing was refused";
}

}  // namespace

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
      CHECK(refusal(good.substr(0, length)) != "nothing was refused");
    try {
      (void)sw::read_llama_config("no/such/file.json");
      FAIL("a file that does not exist was read");
    } catch (const sw::error& e) {
      CHECK(e.category() == sw::error_category::system);
      CHECK(std::string(e.what()).starts_with("no/such/file.json: cannot be opened"));
    }
  }
}

}  // namespace model_config_tests
