#include "spmd/small_models.hpp"
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace training_constraints_tests {
namespace {

using namespace shardweave;
using namespace small_models;

using shardweave_test::is_small_scale;

}  // namespace

TEST_SUITE("training_constraints") {
  TEST_CASE("inputs and results lie as asked, others are free") {
    const model_type& model = llama_on("4x2");
    const constraint_set all = training_constraints(
        model, {.inputs = sharding::parse("S(0)R"), .results = sharding::parse("S(0)S(2)"), .parameter_share = {}});
    REQUIRE(all.fixed.size() == 2);
    const auto& operations = model.operations().operations;
    CHECK(operations[all.fixed[0].vertex].kind == role::input);
    CHECK(operations[all.fixed[1].vertex].op == "alias");
    for (const fixed_strategies& fixed : all.fixed)
      for (strategy s = 0; s < model.strategy_count(fixed.vertex); ++s) {
        const bool allowed = std::ranges::find(fixed.allowed, s) != fixed.allowed.end();
        const std::string where = fixed.vertex == all.fixed[0].vertex ? "S(0)R" : "S(0)S(2)";
        CHECK(allowed == (model.strategies(fixed.vertex).strategies[s].outputs[0].to_string() == where));
      }
    CHECK(all.budgets.empty());
    CHECK(training_constraints(model, {.pair_gradients = false, .parameter_share = {}, .tie_layers = false})
              .pairs.empty());
  }

  TEST_CASE("a placement that is not offered is refused with those that are") {
    const model_type model = model_of(small_layer(), "8");
    CHECK_THROWS_WITH_AS(training_constraints(model, {.inputs = sharding::parse("P")}),
                         "input placement: operation 'x' cannot be placed P, it offers R, S(0), S(1)", error);
  }

  TEST_CASE("a gradient lies as its parameter does") {
    const model_type& model = llama_on(is_small_scale ? "8" : "4x2");
    const constraint_set all = training_constraints(model);
    const computation& graph = model.operations();
    CHECK(all.pairs.size() == graph.gradient_of.size() + graph.tangent_of.size());
    for (const pairing& pair : all.pairs) {
      std::set<std::pair<strategy, strategy>> allowed(pair.allowed.begin(), pair.allowed.end());
      CHECK(allowed.size() == pair.allowed.size());
      bool exact = true;
      for (strategy a = 0; a < model.strategy_count(pair.a); ++a)
        for (strategy b = 0; b < model.strategy_count(pair.b); ++b)
          exact = exact && allowed.contains({a, b}) == (model.strategies(pair.a).strategies[a].outputs[0] ==
                                                        model.strategies(pair.b).strategies[b].outputs[0]);
      CHECK(exact);
    }
  }

  TEST_CASE("by default every parameter has only its smallest pieces") {
    const model_type& model = llama_on(is_small_scale ? "8" : "4x2");
    const constraint_set all = training_constraints(model);
    CHECK(all.budgets.empty());
    std::size_t parameters = 0;
    for (const operation& op : model.operations().operations) parameters += op.kind == role::parameter ? 1 : 0;
    CHECK(all.fixed.size() == parameters);
    for (const fixed_strategies& fixed : all.fixed) {
      CHECK(fixed.why == "parameter memory");
      for (strategy s = 0; s < model.strategy_count(fixed.vertex); ++s) {
        const std::int64_t whole = model.operations().operations[fixed.vertex].outputs[0].size().count();
        const bool is_least = model.result_size(fixed.vertex, s).count() * 8 == whole;
        CHECK((std::ranges::find(fixed.allowed, s) != fixed.allowed.end()) == is_least);
      }
    }
  }

  TEST_CASE("a larger share is a budget, by ratio or by bytes") {
    const model_type model = model_of(small_layer(), "8");
    const budget ratio = parameter_budget(model, 0.5, parameter_unit::ratio);
    REQUIRE(ratio.terms.size() == 1);
    CHECK(ratio.high == 0.5);
    CHECK(ratio.terms[0].usage == std::vector<double>{1, 0.125, 0.125});
    const budget size = parameter_budget(model, 0.5, parameter_unit::size);
    CHECK(size.high == 32 * 64 * 4 / 2);
    CHECK(size.terms[0].usage == std::vector<double>{8192, 1024, 1024});
    CHECK(parameter_budget(model, 0, parameter_unit::ratio).high == 0.125);
    CHECK(parameter_budget(model, 0.5, parameter_unit::ratio, {1}).terms.empty());
    const constraint_set all = training_constraints(model, {.parameter_share = 0.5});
    REQUIRE(all.budgets.size() == 1);
    CHECK(all.fixed.empty());
    CHECK_THROWS_WITH_AS(parameter_budget(model, 1.5, parameter_unit::ratio),
                         "a device may hold a share of 1.5 of the parameters, expected 0 to 1", error);
  }

  TEST_CASE("a parameter that cannot be cut does not make its share impossible") {
    computation g;
    g.operations = {{"scale", "parameter", phase::forward, role::parameter, {}, {{{3}}}},
                    {"w", "parameter", phase::forward, role::parameter, {}, {{{9, 8}}}}};
    const model_type model = model_of(g, "8");
    const constraint_set all = training_constraints(model);
    REQUIRE(all.fixed.size() == 2);
    CHECK(all.fixed[0].allowed == std::vector<strategy>{0});
    CHECK(model.label(1, all.fixed[1].allowed.at(0)) == "->S(1)");  // 9 rows on 8 devices would be 2 on one
    CHECK(all.fixed[1].allowed.size() == 1);
  }

  TEST_CASE("repeated layers are tied operation by operation") {
    const model_type& model = llama_on(is_small_scale ? "8" : "4x2");
    const constraint_set all = training_constraints(model);
    const auto& operations = model.operations().operations;
    std::size_t tied = 0;
    for (const tie& group : all.ties) {
      CHECK(group.vertices.size() > 1);
      std::set<std::int64_t> layers;
      for (const std::uint32_t v : group.vertices) {
        CHECK(operations[v].site == operations[group.vertices.front()].site);
        CHECK(model.list_number(v) == model.list_number(group.vertices.front()));
        CHECK(layers.insert(operations[v].layer).second);
      }
      tied += group.vertices.size();
    }
    CHECK(tied > 3 * 200);
  }
}

}  // namespace training_constraints_tests
