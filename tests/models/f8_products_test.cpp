#include <shardweave/core/phase.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/f8_products.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/spmd/computation.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace f8_products_tests {
namespace {

const sw::llama_config two_layers{.name = "two layers",
                                  .hidden_size = 64,
                                  .num_hidden_layers = 2,
                                  .num_attention_heads = 4,
                                  .num_key_value_heads = 2,
                                  .intermediate_size = 128,
                                  .vocab_size = 256};

sw::computation plain_step() { return sw::llama_training_graph(two_layers, {.batch = 2, .sequence = 16}); }

bool is_conversion(const sw::operation& op) { return !op.outputs.empty() && sw::is_f8(op.outputs.front().type); }

/// The graph that is left when what was converted is read as it was.
sw::computation without_conversions(const sw::computation& graph) {
  sw::computation left;
  left.name = graph.name;
  std::vector<std::uint32_t> now;
  for (sw::operation op : graph.operations) {
    for (std::uint32_t& p : op.inputs) p = now[p];
    if (is_conversion(op)) {
      now.push_back(op.inputs.front());
      continue;
    }
    now.push_back(static_cast<std::uint32_t>(left.operations.size()));
    left.operations.push_back(std::move(op));
  }
  for (const auto& [of, gradient] : graph.gradient_of) left.gradient_of.emplace_back(now[of], now[gradient]);
  for (const auto& [of, tangent] : graph.tangent_of) left.tangent_of.emplace_back(now[of], now[tangent]);
  for (const std::uint32_t v : graph.results) left.results.push_back(now[v]);
  return left;
}

bool equal(const sw::computation& a, const sw::computation& b) {
  if (a.operations.size() != b.operations.size() || a.gradient_of != b.gradient_of || a.tangent_of != b.tangent_of ||
      a.results != b.results)
    return false;
  for (std::size_t v = 0; v < a.operations.size(); ++v) {
    const sw::operation &x = a.operations[v], &y = b.operations[v];
    if (x.name != y.name || x.op != y.op || x.inputs != y.inputs || x.outputs != y.outputs || x.with != y.with ||
        x.when != y.when || x.group != y.group || x.layer != y.layer || x.site != y.site)
      return false;
  }
  return true;
}

/// The extents over which a product adds up, of an argument, by position.
std::string added_up(const sw::operation& product, std::size_t argument) {
  const std::string& equation = product.with.equation;
  const std::string result = equation.substr(equation.find('>') + 1);
  std::string operand = equation.substr(0, equation.find('-'));
  operand = argument == 0 ? operand.substr(0, operand.find(',')) : operand.substr(operand.find(',') + 1);
  std::string where;
  for (std::size_t d = 0; d < operand.size(); ++d)
    if (result.find(operand[d]) == std::string::npos) where += std::to_string(d) + " ";
  return where;
}

}  // namespace

TEST_SUITE("models: products in 8 bits") {
  TEST_CASE("nothing but conversions is added, and both operands of every product of a layer are converted") {
    const sw::computation plain = plain_step();
    for (const bool keeps : {false, true})
      for (const auto scaling : {sw::f8_scaling::current, sw::f8_scaling::delayed}) {
        const sw::computation made = sw::with_f8_products(plain, {.scaling = scaling, .keeps_converted = keeps});
        CHECK(equal(without_conversions(made), plain));
        std::size_t products = 0;
        for (std::size_t v = 0; v < made.operations.size(); ++v) {
          const sw::operation& op = made.operations[v];
          for (const std::uint32_t p : op.inputs) CHECK(p < v);
          if (is_conversion(op)) CHECK(op.op == (scaling == sw::f8_scaling::current ? "quantize" : "conv"));
          for (const std::uint32_t p : op.inputs)
            CHECK(is_conversion(made.operations[p]) == (op.op == "einsum" && op.layer >= 0));
          if (op.op == "einsum" && op.layer >= 0) {
            ++products;
            CHECK(op.outputs.front().type == sw::dtype::bf16);
          }
        }
        CHECK(products == 2 * 3 * 7);  // q, k, v, o, gate, up, down: forward and two gradients
      }
  }

  TEST_CASE("a tensor is converted once for all products of a part that add it up alike") {
    const sw::computation made = sw::with_f8_products(plain_step());
    std::map<std::pair<sw::phase, std::int64_t>, int> conversions;
    std::map<std::uint32_t, std::set<std::string>> read_as;
    std::set<std::string> forms;  // what is converted, in which part, for which sums
    for (const sw::operation& op : made.operations)
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        const std::uint32_t p = op.inputs[i];
        if (!is_conversion(made.operations[p])) continue;
        if (read_as[p].empty()) ++conversions[{made.operations[p].when, op.layer}];
        read_as[p].insert(added_up(op, i));
        CHECK(made.operations[p].when == op.when);
      }
    for (const auto& [conversion, ways] : read_as) {
      CHECK(ways.size() == 1);
      const sw::operation& op = made.operations[conversion];
      CHECK(forms
                .insert(std::to_string(op.inputs.front()) + (op.when == sw::phase::forward ? " f " : " b ") +
                        *ways.begin())
                .second);
    }
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      // seven weights; what q, k and v read, what o reads, what gate and up read, what down reads
      CHECK(conversions[{sw::phase::forward, layer}] == 7 + 4);
      // of gradients of results two forms each, of weights one, of what was read one
      CHECK(conversions[{sw::phase::backward, layer}] == 2 * 7 + 7 + 4);
    }
  }

  TEST_CASE(
      "gradients have the type of wider range, and are not measured apart where an element-wise operation made them") {
    const sw::computation made = sw::with_f8_products(plain_step());
    std::set<std::int64_t> readings;
    for (const sw::operation& op : made.operations) {
      if (!is_conversion(op)) continue;
      std::uint32_t from = op.inputs.front();
      const bool of_forward = made.operations[from].when == sw::phase::forward;
      CHECK(op.outputs.front().type == (of_forward ? sw::dtype::f8e4m3 : sw::dtype::f8e5m2));
      while (made.operations[from].op == "alias" || made.operations[from].op == "view" ||
             made.operations[from].op == "permute")
        from = made.operations[from].inputs.front();
      const std::string& maker = made.operations[from].op;
      const bool by_product = maker == "einsum" || maker == "getitem";  // attention gives a tuple
      CHECK(op.with.index == (by_product ? 2 : 1));
      readings.insert(op.with.index);
    }
    CHECK(readings == std::set<std::int64_t>{1, 2});
  }

  TEST_CASE("what is kept in 8 bits is converted in the forward part") {
    const sw::computation made =
        sw::with_f8_products(plain_step(), {.scaling = sw::f8_scaling::delayed, .keeps_converted = true});
    int kept = 0;
    for (const sw::operation& op : made.operations)
      for (const std::uint32_t p : op.inputs) {
        const sw::operation& operand = made.operations[p];
        if (!is_conversion(operand) || op.when == sw::phase::forward || operand.when != sw::phase::forward) continue;
        ++kept;
        CHECK(made.operations[operand.inputs.front()].when == sw::phase::forward);
      }
    CHECK(kept == 2 * 7);  // the products that give gradients of weights read what the forward part converted for them
  }

  TEST_CASE("equal layers have equal sites, different operations of a layer different ones") {
    for (const bool keeps : {false, true}) {
      const sw::computation made = sw::with_f8_products(plain_step(), {.keeps_converted = keeps});
      std::map<std::int64_t, std::set<std::uint64_t>> sites, of_conversions;
      std::set<std::string> names;
      for (const sw::operation& op : made.operations) {
        if (!op.name.empty()) CHECK(names.insert(op.name).second);
        if (op.layer < 0) continue;
        CHECK(sites[op.layer].insert(op.site).second);
        if (is_conversion(op)) of_conversions[op.layer].insert(op.site);
      }
      REQUIRE(of_conversions.size() == 2);
      CHECK(of_conversions[0] == of_conversions[1]);
    }
  }

  TEST_CASE("the choice of experts and the output stay in 16 bits or more, the experts do not") {
    const sw::deepseek_config config{.hidden_size = 64,
                                     .num_hidden_layers = 2,
                                     .first_k_dense_replace = 1,
                                     .num_attention_heads = 4,
                                     .q_lora_rank = 32,
                                     .kv_lora_rank = 16,
                                     .qk_nope_head_dim = 16,
                                     .qk_rope_head_dim = 8,
                                     .v_head_dim = 16,
                                     .intermediate_size = 128,
                                     .moe_intermediate_size = 32,
                                     .n_routed_experts = 8,
                                     .n_shared_experts = 1,
                                     .num_experts_per_tok = 2,
                                     .vocab_size = 256};
    const sw::computation plain = sw::deepseek_training_graph(config, {.batch = 2, .sequence = 16});
    const sw::computation made = sw::with_f8_products(plain);
    CHECK(equal(without_conversions(made), plain));
    std::map<std::string, std::set<bool>> in_8_bits;
    for (const sw::operation& op : made.operations)
      if (op.op == "einsum") in_8_bits[op.group].insert(is_conversion(made.operations[op.inputs.front()]));
    CHECK(in_8_bits.at("router") == std::set<bool>{false});
    CHECK(in_8_bits.at("output") == std::set<bool>{false});
    CHECK(in_8_bits.at("experts.w1") == std::set<bool>{true});
    CHECK(in_8_bits.at("wkv_b") == std::set<bool>{true});
  }
}

}  // namespace f8_products_tests
