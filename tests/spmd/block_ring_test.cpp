#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/spmd/block_ring.hpp>
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace block_ring_tests {
namespace {

/// Queries of 4,096 positions, keys of half as many.
sw::computation attention() {
  sw::graph_builder b("attention");
  const auto q = b.input("q", {{2, 8, 4096, 64}, sw::dtype::bf16});
  const auto k = b.input("k", {{2, 4, 2048, 64}, sw::dtype::bf16});
  const auto v = b.input("v", {{2, 4, 2048, 128}, sw::dtype::bf16});
  b.result(b.getitem(b.sdpa(q, k, v), 0));
  return b.finish();
}
sw::spmd_cost_model on(std::vector<std::int64_t> mesh, const sw::rule_table& rules) {
  const auto device = sw::find_device("h100");
  return {attention(), sw::device_mesh(std::move(mesh)), sw::roofline{device}, sw::alpha_beta(device), rules};
}
const std::uint32_t sdpa = 3;

}  // namespace

TEST_SUITE("block_ring") {
  TEST_CASE("keys and values go round along one mesh dimension at most, where the rule says so") {
    for (const bool rings : {false, true})
      for (const bool gathers : {false, true}) {
        const auto model =
            on({2, 4}, sw::standard_rules({.attention_by_positions = gathers, .attention_in_rings = rings}));
        std::set<std::string> labels;
        const sw::strategy_list& list = model.strategies(sdpa);
        for (sw::strategy s = 0; s < list.size(); ++s) {
          const sw::sharding& keys = list.strategies[s].inputs[1];
          std::size_t cut = 0;
          for (std::size_t d = 0; d < 2; ++d) cut += keys[d] == sw::dim_placement::shard(2) ? 1 : 0;
          CHECK((list.ring(s) != nullptr) == (cut == 1));
          CHECK(cut < 2);
          if (cut == 1) labels.insert(model.label(sdpa, s));
        }
        CHECK(labels.size() == (rings ? gathers ? 7U : 5U : 0U));  // two sequences cannot be cut by four
        if (!rings) continue;
        CHECK(labels.contains("S(2)S(1),S(2)S(1),S(2)S(1)->[S(2)S(1),S(2)S(1),RR,RR]"));
        CHECK(labels.contains("S(2)S(2),S(2)R,S(2)R->[S(2)S(2),S(2)S(2),RR,RR]") == gathers);
      }
  }

  TEST_CASE("its times are those of a part, and of adding up in f32; its exchanges are priced as shifts") {
    const auto model = on({4, 2}, sw::standard_rules({.attention_in_rings = true, .causal = 0.5}));
    const auto device = sw::find_device("h100");
    std::size_t found = 0;
    for (sw::strategy s = 0; s < model.strategy_count(sdpa); ++s) {
      const sw::block_ring* ring = model.strategies(sdpa).ring(s);
      if (ring == nullptr || model.label(sdpa, s).find("S(2)S(1)") != 0) continue;
      ++found;
      CHECK(ring->mesh_dim == 0);
      CHECK(ring->blocks == 4);
      CHECK(ring->part == sw::bytes(2 * 2 * 512 * (64 + 128) * 2));
      CHECK(ring->sums == sw::bytes(0));
      CHECK(ring->exchanges_of_sums() == 0);
      CHECK(ring->stays == sw::bytes((2 * 4 * 1024 * 128 + 2 * 4 * 1024) * 4));  // results and sums of weights
      const double flops = 0.5 * 2 * 2 * 4 * 1024 * 512 * (64 + 128);
      CHECK(ring->block_us ==
            doctest::Approx(model.compute().compute_time(
                {flops, sw::bytes(2 * (2 * 4 * 1024 * (64 + 128) + 2 * 2 * 512 * (64 + 128)) + 2 * 4 * 1024 * 4 + 24)},
                sw::kernel_kind::attention)));
      // a block's results are read as they were given, their sums read and written
      const sw::bytes own(2 * 4 * 1024 * 128 * 2 + 2 * 4 * 1024 * 4);
      CHECK(ring->merge_us == doctest::Approx(model.compute().memory_time(own + ring->stays * 2)));
      const double exchange =
          sw::alpha_beta(device).estimate(sw::collective::shift, ring->part, model.mesh().group_along(0, 8)).time_us;
      CHECK(model.exchange_us(ring->part, 0) == exchange);
      CHECK(model.vertex_cost(sdpa, s) ==
            doctest::Approx(4 * ring->block_us + 3 * ring->merge_us + sw::unhidden_us(*ring, exchange, 0)));
    }
    CHECK(found == 1);
  }

  TEST_CASE("what blocks hide of exchanges is at most what they take, and all of it where they are long") {
    sw::block_ring ring{.blocks = 4, .block_us = 10, .merge_us = 2};
    CHECK(sw::unhidden_us(ring, 10, 0) == 0);
    CHECK(sw::unhidden_us(ring, 12, 0) == 2);  // the first block adds nothing up
    CHECK(sw::unhidden_us(ring, 20, 0) == 10 + 2 * 8);
    ring.sums = sw::bytes(1);
    ring.add_us = 1;
    CHECK(sw::unhidden_us(ring, 0, 5) == 5);  // the last exchange comes after all blocks
    CHECK(sw::unhidden_us(ring, 6, 6) == 6);  // both beside a block
    CHECK(sw::unhidden_us(ring, 0, 15) == 3 * 3 + 15);
  }

  TEST_CASE("an operator of a host's goes round as it says, not along two mesh dimensions") {
    sw::rule_table rules = sw::standard_rules();
    const auto twice = [](const sw::operation_view& view, std::int64_t) {
      const auto cut = sw::dim_placement::shard(2);
      return std::vector<sw::dim_strategy>{
          {{cut, cut, {}, {}}, std::vector<sw::dim_placement>(view.inputs.size(), cut)}};
    };
    rules.add("sdpa", twice,
              {.flops = sw::attention_flops{}, .ring = sw::ring_arguments{.first = 1, .count = 2, .dim = 2}});
    CHECK(on({8}, rules).strategies(sdpa).ring(0)->blocks == 8);
    CHECK(on({1, 8}, rules).strategies(sdpa).ring(0)->mesh_dim == 1);
    CHECK_THROWS_WITH_AS(on({2, 4}, rules), doctest::Contains("argument 1 would go round two mesh dimensions"),
                         sw::error);
  }
}

}  // namespace block_ring_tests
