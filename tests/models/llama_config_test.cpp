#include "models/llama_figures.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace llama_config_tests {
namespace {

namespace sw = shardweave;
using namespace llama_figures;

}  // namespace

TEST_SUITE("llama_config") {
  TEST_CASE("figures that make no model are refused") {
    sw::llama_config config = tiny(false);
    config.num_attention_heads = 3;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': hidden_size is 8, expected a multiple of twice num_attention_heads (6)",
                         sw::error);
    config = tiny(false);
    config.num_key_value_heads = 0;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': num_key_value_heads is 0, expected a positive number", sw::error);
    config.num_key_value_heads = 3;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': num_attention_heads is 2, expected a multiple of num_key_value_heads (3)",
                         sw::error);
    config = tiny(false);
    config.head_dim = -2;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': head_dim is -2, expected 0 or a positive number", sw::error);
    config.head_dim = 3;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': head_dim is 3, expected an even number", sw::error);
    config = tiny(false);
    config.rope_theta = -1;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': rope_theta is -1, expected a positive number", sw::error);
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(tiny(false), {2, 0}),
                         "model 'tiny': batch is 2 and sequence 0, expected positive numbers", sw::error);
    const std::int64_t many = 3'000'000'000;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(tiny(false), {many, many}),
                         doctest::Contains("is more than any step takes, expected 1000000000000 tokens at most"),
                         sw::error);
  }

  TEST_CASE("weights are counted as the graph of the model has them, whatever its relatives change") {
    for (unsigned bits = 0; bits < 32; ++bits) {
      sw::llama_config c = tiny(false);
      c.tie_word_embeddings = (bits & 1U) != 0;
      c.normed_heads = (bits & 2U) != 0;
      c.rotary = (bits & 4U) != 0;
      c.head_dim = (bits & 8U) != 0 ? 6 : 0;
      c.feed_forward = (bits & 16U) != 0 ? sw::feed_forward_kind::gelu : sw::feed_forward_kind::gated_silu;
      CAPTURE(bits);
      REQUIRE(c.problem().empty());
      const sw::computation graph = sw::llama_training_graph(c, {2, 4});
      std::int64_t elements = 0;
      for (const sw::operation& op : graph.operations)
        if (op.kind == sw::role::parameter) elements += op.outputs.front().element_count();
      CHECK(c.parameter_count() == elements);
      CHECK(c.is_gated() == ((bits & 16U) == 0));
      CHECK(c.head_size() == (c.head_dim > 0 ? 6 : c.hidden_size / c.num_attention_heads));
    }
  }
}

}  // namespace llama_config_tests
