#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/sensitivity.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace wishes_tests {
namespace {

using namespace shardweave;

using model_type = spmd_cost_model;

/// Two layers of LLaMA-3 1B.
const model_type& two_layers() {
  static const model_type model = [] {
    const device_profile h100 = find_device("h100");
    const llama_config config{.name = "llama3-1b",
                              .hidden_size = 2048,
                              .num_hidden_layers = 2,
                              .num_attention_heads = 32,
                              .num_key_value_heads = 8,
                              .intermediate_size = 8192,
                              .vocab_size = 128256,
                              .tie_word_embeddings = true};
    return model_type(llama_training_graph(config, {16, 8192}), device_mesh::parse("8x8"), roofline{h100},
                      node_table<>(h100));
  }();
  return model;
}

training_options usual(std::vector<std::uint32_t> placed = {}) {
  return {.inputs = sharding::parse("S(0)R"), .results = sharding::parse("S(0)S(2)"), .placed = std::move(placed)};
}

std::vector<fixed_strategies> wished(const std::string& wish) {
  constraint_log log;
  log.add(parse_demand(wish));
  return constraints_of(two_layers(), log).fixed;
}

std::vector<std::uint32_t> vertices_of(const std::vector<fixed_strategies>& fixed) {
  std::vector<std::uint32_t> vertices;
  for (const fixed_strategies& f : fixed) vertices.push_back(f.vertex);
  return vertices;
}

std::set<std::string> names_of(const std::vector<std::uint32_t>& vertices) {
  std::set<std::string> names;
  for (const std::uint32_t v : vertices) names.insert(two_layers().operations().operations[v].name);
  return names;
}

constraint_set with(constraint_set all, const std::vector<fixed_strategies>& more) {
  all.fixed.insert(all.fixed.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_SUITE("wishes") {
  TEST_CASE("what a wish places is taken out of the usual shares, and nothing else is") {
    const model_type& model = two_layers();
    const auto& operations = model.operations().operations;
    auto stated = describe(model.graph(), model, training_constraints(model, usual()));
    const auto known = auto_solver{}.solve(compile(stated));
    REQUIRE(known.status == solve_status::optimal);
    for (const std::string pattern : {"layers.*.wq", "layers.0.wq", "layers.1.wq"}) {  // tied, they move together
      CAPTURE(pattern);
      const auto wish = wished("placed " + pattern + " S(0)R");
      const auto hopeless =
          cost_of_constraints(stated, known, with(training_constraints(model, usual()), wish), auto_solver{});
      CHECK(hopeless.answer.status == solve_status::infeasible);

      const auto met = cost_of_constraints(
          stated, known, with(training_constraints(model, usual(vertices_of(wish))), wish), auto_solver{});
      REQUIRE(met.answer.status == solve_status::optimal);
      for (std::uint32_t v = 0; v < operations.size(); ++v) {
        if (operations[v].kind != role::parameter) continue;
        const auto where = model.strategies(v).strategies[met.answer.choice[v]].outputs.front();
        if (operations[v].group == "wq") {
          CHECK(where == sharding::parse("S(0)R"));
        } else {
          CHECK(model.result_size(v, met.answer.choice[v]) == model.result_size(v, known.choice[v]));
        }
      }
      // the same by hand: the usual constraints less the share of the two weights
      constraint_set by_hand = training_constraints(model, usual());
      CHECK(std::erase_if(by_hand.fixed, [&](const fixed_strategies& f) {
              return f.why == "parameter memory" && operations[f.vertex].group == "wq";
            }) == 2);
      const auto expected = auto_solver{}.solve(compile(describe(model.graph(), model, with(by_hand, wish))));
      REQUIRE(expected.status == solve_status::optimal);
      CHECK(met.answer.objective == doctest::Approx(expected.objective).epsilon(1e-8));
      CHECK(met.cost.is_exact(known.objective));
      CHECK(met.cost.most == doctest::Approx(expected.objective - known.objective).epsilon(1e-6));
    }
  }

  TEST_CASE("a wish may cost less than nothing, where the usual constraint that gave way was dear") {
    const model_type& model = two_layers();
    auto stated = describe(model.graph(), model, training_constraints(model, usual()));
    const auto known = auto_solver{}.solve(compile(stated));
    const auto wish = wished("inputs RR");
    REQUIRE(vertices_of(wish).size() == 1);
    const auto met = cost_of_constraints(
        stated, known, with(training_constraints(model, usual(vertices_of(wish))), wish), auto_solver{});
    REQUIRE(met.answer.status == solve_status::optimal);
    CHECK(met.cost.most == doctest::Approx(met.answer.objective - known.objective).epsilon(1e-6));
    CHECK(met.cost.most < 0);  // the tokens are there already
  }

  TEST_CASE("what must be placed together gives way together") {
    const model_type& model = two_layers();
    const auto numbered = [&](const std::string& name) {
      return static_cast<std::uint32_t>(std::ranges::find(model.operations().operations, name, &operation::name) -
                                        model.operations().operations.begin());
    };
    const constraint_set all = training_constraints(model, usual());
    const std::uint32_t wq = numbered("layers.0.wq");
    std::uint32_t gradient = 0;
    for (const auto& [parameter, value] : model.operations().gradient_of)
      if (parameter == wq) gradient = value;
    const auto together = placed_together(all, {gradient});
    CHECK(together == placed_together(all, {wq}));
    CHECK(together.size() == 4);
    CHECK(names_of(together).contains("layers.1.wq"));
    CHECK(placed_together({}, {7, 3}) == std::vector<std::uint32_t>{3, 7});
    const std::uint32_t result = model.operations().results.front();
    const auto given_way = training_constraints(model, usual({result}));
    const auto on_results = [](const constraint_set& c) {
      return std::ranges::count(c.fixed, "result placement", &fixed_strategies::why);
    };
    CHECK(on_results(given_way) == on_results(all) - 1);
    CHECK(given_way.ties.size() == all.ties.size());
    CHECK(given_way.pairs.size() == all.pairs.size());
  }
}

}  // namespace wishes_tests
