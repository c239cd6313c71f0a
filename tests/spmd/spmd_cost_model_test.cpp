#include "spmd/small_models.hpp"
#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/deepseek_config.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <doctest/doctest.h>
#include <support/published_llama.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace shardweave;

namespace spmd_cost_model_tests {
namespace {

using namespace small_models;
constexpr double infinity = std::numeric_limits<double>::infinity();
using shardweave_test::is_small_scale;
using shardweave_test::sized;
static_assert(classified_cost_model<model_type, compressed_graph>);
static_assert(decomposed_cost_model<model_type, compressed_graph>);
static_assert(cost_model<spmd_cost_model, compressed_graph>);
static_assert(!memory_cost_model<model_type, compressed_graph>);
static_assert(!overlap_cost_model<model_type, compressed_graph>);

computation tiny_deepseek() {
  deepseek_config c;
  c.hidden_size = 64;
  c.num_hidden_layers = 2;
  c.first_k_dense_replace = 1;
  c.num_attention_heads = 4;
  c.q_lora_rank = c.kv_lora_rank = 16;
  c.qk_nope_head_dim = c.v_head_dim = c.qk_rope_head_dim = 8;
  c.intermediate_size = c.moe_intermediate_size = 32;
  c.n_routed_experts = 8;
  c.n_shared_experts = 1;
  c.num_experts_per_tok = 2;
  c.vocab_size = 128;
  return deepseek_training_graph(c, {8, 16});
}

}  // namespace

TEST_SUITE("spmd_cost_model") {
  TEST_CASE("a profile of shapes may price the products, and flat shares price as a roofline") {
    const device_mesh mesh = device_mesh::parse("8");
    const auto priced = [&](const compute_profile& compute) {
      return model_type(small_layer(), mesh, compute, node_table<>(h100));
    };
    const model_type flat = model_of(small_layer(), "8"), same = priced(compute_profile(roofline{h100}));
    compute_profile slow(roofline{h100});
    slow.product_floor_us = 123;
    const model_type other = priced(slow);
    for (std::uint32_t v = 0; v < 7; ++v)
      for (strategy s = 0; s < flat.strategy_count(v); ++s) {
        CHECK(same.vertex_cost(v, s) == flat.vertex_cost(v, s));
        CHECK(other.vertex_cost(v, s) == (v == 4 ? 123 : flat.vertex_cost(v, s)));  // 4 is the product
      }
  }

  TEST_CASE("attention is priced by its own share of the peak, products by theirs") {
    const device_mesh mesh = device_mesh::parse("2");
    const tensor heads{{4, 2, 16, 8}, dtype::bf16};
    computation g;
    for (const char* name : {"q", "k", "v"})
      g.operations.push_back({name, "input", phase::forward, role::input, {}, {heads}});
    g.operations.push_back({"a", "sdpa", phase::forward, role::none, {0, 1, 2}, {heads, {{4, 2, 16}}, {{2}}, {{}}}});
    g.operations.push_back({"output", "output", phase::forward, role::none, {3}, {}});
    g.results = {3};
    const auto whole = [&](double attention, double product) {
      compute_profile compute(roofline{h100});
      compute.product_floor_us = 0;
      compute.attention.fill({attention, 0, 1});
      compute.product.fill({product, 0, 1});
      return model_type(g, mesh, compute, node_table<>(h100)).vertex_cost(3, 0);
    };
    const double peak = whole(1e-6, 1);
    CHECK(peak > 0);
    CHECK(whole(1e-6, 1e-6) == peak);
    CHECK(whole(1e-7, 1) == doctest::Approx(10 * peak));
    const auto kernel_of = [](const char* op) {
      return standard_rules().of(operation{"a", op, phase::forward, role::none, {}, {}}).cost.kernel;
    };
    // forwards a product with the keys and one with the values, backwards three and two
    const std::vector<tensor> all(4, heads);
    const auto flops = [&](const attention_flops& of, std::size_t from) {
      return of(operation_view{g.operations[3], {}, std::span(all).subspan(0, from + 3), {}});
    };
    const double one = 2.0 * (4 * 2) * (16 * 16) * 8;
    CHECK(flops({}, 0) == 2 * one);
    CHECK(flops({.query = 1, .with_keys = 3, .with_values = 2}, 1) == 5 * one);
    CHECK(kernel_of("sdpa") == kernel_kind::attention);
    CHECK(kernel_of("sdpa_backward") == kernel_kind::attention_backward);
  }

  TEST_CASE("every entry of every edge is the price of that redistribution") {
    const computation graph = tiny_llama();
    for (const std::string mesh : {"8", "4x2"}) {
      if (is_small_scale && mesh == "8") continue;
      const model_type model = model_of(graph, mesh.c_str(), {.gather_after_cast = false});
      auto prices = model.new_redistributor();
      std::size_t checked = 0;
      for (const auto& e : model.graph().all_edges()) {
        const operation& consumer = graph.operations[e.target];
        CHECK(consumer.inputs[model.argument(e)] == e.source);
        for (strategy a = 0; a < model.strategy_count(e.source); a += sized(5U, 11U))
          for (strategy b = 0; b < model.strategy_count(e.target); b += sized(9U, 19U)) {
            const auto parts = model.edge_parts(e, a, b);
            if (consumer.op == "output") {
              CHECK(parts.communication + parts.transition == 0);
              continue;
            }
            const sharding from = model.sent(e, a);
            const sharding to = model.taken(e, b);
            CHECK(parts.communication == prices.cost(model.value(e), from, to));
            CHECK(parts.transition == (from == to ? 0 : 1));
            CHECK(model.edge_cost(e, a, b) == parts.communication + parts.transition);
            const auto by_class = model.class_parts(e, model.producer_classes(e)[a], model.consumer_classes(e)[b]);
            CHECK(by_class.communication == parts.communication);
            CHECK(by_class.transition == parts.transition);
            ++checked;
          }
      }
      CHECK(checked > sized(500U, 107U));
    }
  }

  TEST_CASE("edges of equal key have equal classes and equal tables") {
    const model_type& model = llama_on(is_small_scale ? "8" : "4x2");
    std::map<std::uint64_t, compressed_graph::edge_descriptor> first;
    for (const auto& e : model.graph().all_edges()) {
      const auto [at, fresh] = first.try_emplace(model.edge_key(e), e);
      if (fresh) continue;
      const auto f = at->second;
      CHECK(std::ranges::equal(model.producer_classes(e), model.producer_classes(f)));
      CHECK(std::ranges::equal(model.consumer_classes(e), model.consumer_classes(f)));
      bool equal = true;
      for (const std::uint32_t a : model.producer_classes(e))
        for (const std::uint32_t b : model.consumer_classes(e)) {
          const auto mine = model.class_parts(e, a, b);
          const auto other = model.class_parts(f, a, b);
          equal = equal && mine.communication == other.communication && mine.transition == other.transition;
        }
      CHECK(equal);
    }
    CHECK(model.table_count() < first.size());  // what is equal is priced once, whatever the lists
    CHECK(first.size() < model.graph().all_edges().size());
  }

  TEST_CASE("the number of threads changes no price, to the last bit") {
    const char* mesh = is_small_scale ? "8" : "4x2";
    const model_type &one = llama_on(mesh), more = model_of(tiny_llama(), mesh, {.threads = 3});
    REQUIRE(more.table_count() == one.table_count());
    for (const auto& e : one.graph().all_edges()) {
      CHECK(more.edge_key(e) == one.edge_key(e));
      const cost_table<double>&a = one.class_costs(e), &b = more.class_costs(e);
      REQUIRE(a.row_classes() == b.row_classes());
      REQUIRE(a.stride() == b.stride());
      CHECK(std::equal(a.class_row(0), a.class_row(a.row_classes()), b.class_row(0), [](double x, double y) {
        return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
      }));
    }
  }

  TEST_CASE("tables of equal costs keep them once") {
    const model_type& model = llama_on("8");
    std::map<std::vector<double>, const double*> kept;
    for (const auto& e : model.graph().all_edges()) {
      const cost_table<double>& t = model.class_costs(e);
      if (t.row_classes() == 0) continue;
      std::vector<double> costs(t.class_row(0), t.class_row(t.row_classes()));
      costs.push_back(static_cast<double>(t.column_classes()));
      CHECK(kept.try_emplace(std::move(costs), t.class_row(0)).first->second == t.class_row(0));
    }
    CHECK(kept.size() + 1 < model.table_count());  // one more is of what is returned
  }

  TEST_CASE("every operation of a training graph has a way from every producer") {
    const char* mesh = is_small_scale ? "8" : "4x2";
    for (const model_type& model : {llama_on(mesh), model_of(tiny_deepseek(), mesh)}) {
      for (const auto& e : model.graph().all_edges()) {
        bool possible = false;
        for (strategy a = 0; a < model.strategy_count(e.source) && !possible; ++a)
          for (strategy b = 0; b < model.strategy_count(e.target) && !possible; ++b)
            possible = model.edge_cost(e, a, b) < infinity;
        CHECK(possible);
      }
    }
  }

  TEST_CASE("a parameter is not moved before the cast that narrows it") {
    const auto cost = [](const model_type& model, std::uint32_t v, const char* from, const char* to) {
      const auto e = model.graph().in(v).front();
      return model.edge_parts(e, find(model, e.source, from), find(model, v, to)).communication;
    };
    const model_type with = model_of(small_layer(), "8");
    const model_type without = model_of(small_layer(), "8", {.gather_after_cast = false});
    // operations that follow offer what their producer offers; the move is asked of the edge alone
    CHECK(cost(without, 2, "->S(0)", "R->R") > 0);
    CHECK(cost(without, 2, "->S(0)", "R->R") < infinity);
    CHECK(cost(with, 2, "->S(0)", "R->R") == infinity);
    CHECK(cost(with, 3, "S(0)->S(0)", "R->R") == infinity);
    CHECK(cost(with, 2, "->S(0)", "S(0)->S(0)") == 0);
    CHECK(cost(with, 2, "->R", "S(0)->S(0)") == 0);  // a slice moves nothing
    const auto after = with.graph().in(4).back();
    CHECK(after.source == 3);
    CHECK(with.edge_cost(after, find(with, 3, "S(0)->S(0)"), find(with, 4, "R,R->R")) < infinity);

    computation same_width = small_layer();
    for (const std::uint32_t v : {1U, 2U}) same_width.operations[v].outputs[0].type = dtype::bf16;
    CHECK(cost(model_of(same_width, "8"), 2, "->S(0)", "R->R") < infinity);

    computation two_users = small_layer();
    two_users.operations.insert(two_users.operations.begin() + 6,
                                {"other", "neg", phase::forward, role::none, {1}, {{{32, 64}, dtype::f32}}});
    CHECK(cost(model_of(two_users, "8"), 2, "->S(0)", "R->R") < infinity);
  }

  TEST_CASE("labels tell arguments and results") {
    const model_type model = model_of(small_layer(), "2x2");
    CHECK(model.label(0, 0) == "->RR");
    CHECK(model.label(4, find(model, 4, "S(0)R,RS(1)->S(0)S(1)")) == "S(0)R,RS(1)->S(0)S(1)");
    CHECK(model.label(6, 0) == "-->[]");
    CHECK(model.result_size(1, find(model, 1, "->S(0)S(1)")) == bytes(32 * 64 * 4 / 4));
  }

  TEST_CASE("a change of placement costs what the options say") {
    const model_type model = model_of(small_layer(), "8", {.transition_us = 0.25});
    const auto e = model.graph().in(5).front();
    const auto parts = model.edge_parts(e, find(model, 4, "R,R->R"), find(model, 5, "S(0)->S(0)"));
    CHECK(parts.communication == 0);
    CHECK(parts.transition == 0.25);
  }

  TEST_CASE("the work does not grow with the number of repeated layers") {
    llama_config c = shardweave_test::published_llama(4096, sized(32, 6), 32, 14336, false);
    const char* mesh = is_small_scale ? "8" : "8x8";
    const model_type model = model_of(llama_training_graph(c, {16, 8192}), mesh);
    c.num_hidden_layers = 4;
    CHECK(model_of(llama_training_graph(c, {16, 8192}), mesh).table_count() == model.table_count());
    CHECK(model.table_count() < 400);
  }
}

}  // namespace spmd_cost_model_tests
