#include "models/deepseek_figures.hpp"
#include "models/model_checks.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/deepseek_config.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepseek_config_tests {
namespace {

using namespace deepseek_figures;
namespace sw = shardweave;
using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("deepseek_config") {
  TEST_CASE("published models have as many weights as published, all and active") {
    CHECK(v3.parameter_count() == 671'026'404'352);
    CHECK(static_cast<double>(v3.active_parameter_count()) == doctest::Approx(37.5e9).epsilon(0.02));
    CHECK(lite().parameter_count() == 15'706'484'224);
    CHECK(v3.capacity(4096) == 128);
    for (const sw::deepseek_config& config : {v3, lite(), tiny(true), tiny(false)}) {
      if (shardweave_test::is_small_scale && config.name == v3.name) continue;
      CAPTURE(config.name);
      const bool is_lite = config.name == lite().name;
      const sw::computation graph = is_lite ? lite_graph() : sw::deepseek_training_graph(config, {8, 64});
      CHECK(model_checks::parameter_elements(graph) == config.parameter_count());
      CHECK(graph.gradient_of.size() + 1 == graph.results.size());
    }
  }

  TEST_CASE("modules that predict further tokens have as many weights as published, and share embedding and output") {
    sw::deepseek_config c = v3;
    c.num_nextn_predict_layers = 1;
    CHECK(c.parameter_count() == v3.parameter_count());
    CHECK(v3.further_parameter_count() == 0);
    CHECK(static_cast<double>(c.further_parameter_count()) == doctest::Approx(11.5e9).epsilon(0.01));
    c = tiny(true);
    c.num_nextn_predict_layers = 2;
    const sw::computation graph = sw::deepseek_training_graph(c, {2, 4});
    CHECK(model_checks::parameter_elements(graph) == c.parameter_count() + c.further_parameter_count());
    CHECK(graph.tangent_of.size() == 3);
    CHECK(graph.gradient_of.size() + 3 == graph.results.size());
    model_checks::check_order(graph);
    std::map<std::uint64_t, std::vector<const sw::operation*>> sites;  // the last module hands on from nobody
    for (const sw::operation& op : graph.operations)
      if (op.name.find("further.") != std::string::npos) sites[op.site].push_back(&op);
    std::size_t repeated = 0;
    for (const auto& [site, members] : sites) {
      if (site == 0 || members.size() < 2) continue;
      ++repeated;
      CHECK_MESSAGE(members[0]->op == members[1]->op, members[0]->name);
      CHECK_MESSAGE(members[0]->outputs[0].shape == members[1]->outputs[0].shape, members[0]->name);
    }
    CHECK(repeated > 300);
  }

  TEST_CASE("figures that make no model are refused") {
    const auto told = [](auto change) {
      sw::deepseek_config c = tiny(true);
      change(c);
      return shardweave_test::refusal_of([&] { return sw::deepseek_training_graph(c, {2, 4}); });
    };
    CHECK(told([](auto& c) { c.kv_lora_rank = 0; }) == "model 'tiny': kv_lora_rank is 0, expected a positive number");
    CHECK(told([](auto& c) { c.q_lora_rank = -1; }) == "model 'tiny': q_lora_rank is -1, expected no less than 0");
    CHECK(told([](auto& c) { c.qk_rope_head_dim = 3; }) ==
          "model 'tiny': qk_rope_head_dim is 3, expected an even number");
    CHECK(told([](auto& c) { c.num_experts_per_tok = 5; }) ==
          "model 'tiny': num_experts_per_tok is 5, expected no more than n_routed_experts (4)");
    CHECK(told([](auto& c) { c.n_group = 3; }) ==
          "model 'tiny': n_routed_experts is 4, expected a multiple of n_group (3) with at least two in each");
    CHECK(told([](auto& c) { c.n_group = 4; }) ==
          "model 'tiny': n_routed_experts is 4, expected a multiple of n_group (4) with at least two in each");
    CHECK(told([](auto& c) { c.topk_group = 2; }) ==
          "model 'tiny': topk_group is 2, expected no more than n_group (1)");
    CHECK(told([](auto& c) {
            c.n_group = 4;
            c.merit = sw::group_merit::best;
          }) == "model 'tiny': num_experts_per_tok is 2, expected no more than the experts of topk_group groups (1)");
    CHECK(told([](auto& c) { c.capacity_factor = 0; }) ==
          "model 'tiny': capacity_factor is 0, expected a positive number");
    CHECK(told([](auto& c) { c.rms_norm_eps = -1; }) == "model 'tiny': rms_norm_eps is -1, expected no less than 0");
    CHECK_THROWS_WITH_AS((void)sw::deepseek_training_graph(tiny(true), {0, 4}),
                         "model 'tiny': batch is 0 and sequence 4, expected positive numbers", sw::error);
  }
}

}  // namespace deepseek_config_tests
