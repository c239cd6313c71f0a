#include "spmd/strategy_texts.hpp"
#include <shardweave/models/llama.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategies.hpp>
#include <shardweave/spmd/strategy_list.hpp>

#include <doctest/doctest.h>
#include <support/published_llama.hpp>
#include <support/skipped.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace shardweave;

namespace strategies_tests {
namespace {

using namespace strategy_texts;
using shardweave_test::published_llama;

struct totals {
  std::size_t strategies = 0;
  std::size_t tuples = 0;  ///< (argument, strategy of the producer, strategy of the consumer)
  std::size_t most = 0;
};

totals count(const computation& graph, const strategy_space& space) {
  totals t;
  for (std::size_t v = 0; v < graph.operations.size(); ++v) {
    const operation& op = graph.operations[v];
    if (op.outputs.empty()) continue;
    const std::size_t n = space.of(v).size();
    t.strategies += n;
    t.most = std::max(t.most, n);
    if (op.inputs.empty()) t.tuples += n;
    for (const std::uint32_t input : op.inputs) t.tuples += n * space.of(input).size();
  }
  return t;
}

totals count(const computation& graph, const std::string& mesh) {
  return count(graph, enumerate_strategies(graph, device_mesh::parse(mesh), h100, standard_rules()));
}

}  // namespace

TEST_SUITE("enumerate_strategies") {
  TEST_CASE("published totals of strategies and option tuples are met exactly") {
    const auto check = [](const totals& found, std::size_t strategies, std::size_t tuples) {
      CHECK(found.strategies == strategies);
      CHECK(found.tuples == tuples);
      return found;
    };
    const computation one = llama_training_graph(published_llama(2048, 16, 32, 8192, true), {64, 256});
    CHECK(check(count(one, "64"), 18503, 114928).most == 10);
    check(count(one, "8x8"), 107753, 4337060);
    if (shardweave_test::skipped_at_small_scale()) return;
    const computation three = llama_training_graph(published_llama(3072, 28, 24, 8192, true), {64, 256});
    const computation eight = llama_training_graph(published_llama(4096, 32, 32, 14336, false), {64, 256});
    check(count(three, "64"), 32969, 208698);
    check(count(eight, "64"), 37635, 238203);
    check(count(three, "8x8"), 188315, 7623714);
    CHECK(check(count(eight, "8x8"), 214965, 8703393).most <= 82);
    check(count(one, "4x4x4"), 662279, 181062856);
  }

  TEST_CASE("operators have the published number of strategies on 64 devices") {
    const computation graph = llama_training_graph(published_llama(4096, 2, 32, 14336, false), {64, 256});
    const strategy_space space = enumerate_strategies(graph, device_mesh::parse("64"), h100, standard_rules());
    std::map<std::string, std::set<std::size_t>> counts;
    for (std::size_t v = 0; v < graph.operations.size(); ++v) counts[graph.operations[v].op].insert(space.of(v).size());
    const std::map<std::string, std::size_t> single{{"einsum", 5},
                                                    {"add", 10},
                                                    {"sub", 10},
                                                    {"mul", 8},
                                                    {"div", 6},
                                                    {"neg", 8},
                                                    {"exp", 6},
                                                    {"mean", 4},
                                                    {"sum", 5},
                                                    {"pow", 4},
                                                    {"rsqrt", 3},
                                                    {"embedding", 5},
                                                    {"sdpa", 2},
                                                    {"output", 1},
                                                    {"tangent", 4},
                                                    {"view_as_complex", 6},
                                                    {"embedding_backward", 5}};
    for (const auto& [op, n] : single) {
      CAPTURE(op);
      CHECK(counts[op] == std::set<std::size_t>{n});
    }
    CHECK(counts["parameter"] == std::set<std::size_t>{2, 3});
    CHECK(counts["alias"] == std::set<std::size_t>{2, 3, 4});
    CHECK(counts["getitem"] == std::set<std::size_t>{1, 2});
  }

  TEST_CASE("operations that agree in everything share one list") {
    const computation graph = llama_training_graph(published_llama(4096, 32, 32, 14336, false), {64, 256});
    const strategy_space space = enumerate_strategies(graph, device_mesh::parse("8x8"), h100, standard_rules());
    CHECK(space.list_of.size() == graph.operations.size());
    CHECK(space.lists.size() < 200);
    std::map<std::uint64_t, std::map<std::string, std::uint32_t>> sites;
    std::size_t shared = 0;
    for (std::size_t v = 0; v < graph.operations.size(); ++v) {
      const operation& op = graph.operations[v];
      if (op.layer < 1 || op.layer > 30) continue;  // inner layers are alike
      const auto [at, fresh] = sites[op.site].try_emplace(op.op, space.list_of[v]);
      if (!fresh) CHECK(at->second == space.list_of[v]);
      shared += fresh ? 0 : 1;
    }
    CHECK(shared > 7000);
  }

  TEST_CASE("computation is that of the largest shard") {
    computation graph;
    graph.operations = {source("x", {{16, 8192, 4096}, dtype::bf16}),
                        source("w", {{4096, 14336}, dtype::bf16}),
                        {"y",
                         "einsum",
                         phase::forward,
                         role::none,
                         {0, 1},
                         {{{16, 8192, 14336}, dtype::bf16}},
                         {.equation = "bsk,kn->bsn"}},
                        {"z", "add", phase::forward, role::none, {0, 0}, {{{16, 8192, 4096}, dtype::bf16}}}};
    const strategy_space space = enumerate_strategies(graph, device_mesh::parse("8x8"), h100, standard_rules());
    const auto cost = [&](std::size_t v, const std::string& label) {
      const std::vector<std::string> labels = texts(space.of(v));
      const auto at = std::ranges::find(labels, label);
      REQUIRE(at != labels.end());
      return space.of(v).compute_us[static_cast<std::size_t>(at - labels.begin())];
    };
    CHECK(cost(0, "->RR") == 0);
    CHECK(cost(2, "RR,RR->RR") == doctest::Approx(22234.8155).epsilon(1e-7));
    CHECK(cost(2, "S(0)R,RR->S(0)R") == doctest::Approx(2779.3519).epsilon(1e-7));
    CHECK(cost(2, "S(0)R,RS(1)->S(0)S(2)") == doctest::Approx(347.4190).epsilon(1e-6));
    CHECK(cost(2, "S(0)S(2),RS(0)->S(0)P") == doctest::Approx(347.4190).epsilon(1e-6));
    CHECK(cost(3, "S(0)S(2),S(0)S(2)->S(0)S(2)") == doctest::Approx(19.5208).epsilon(1e-5));
    CHECK(cost(3, "S(0)R,S(0)R->S(0)R") == doctest::Approx(156.1667).epsilon(1e-6));
  }

  TEST_CASE("attention pays two products forward and five backward") {
    computation graph;
    const tensor heads{{64, 32, 2048, 64}, dtype::bf16};
    graph.operations = {
        source("q", heads),
        source("k", heads),
        source("v", heads),
        {"a", "sdpa", phase::forward, role::none, {0, 1, 2}, {heads, {{64, 32, 2048}}, {{2}}, {{}}}},
        {"o", "getitem", phase::forward, role::none, {3}, {heads}, {.index = 0}},
        {"l", "getitem", phase::forward, role::none, {3}, {{{64, 32, 2048}}}, {.index = 1}},
        {"r", "getitem", phase::forward, role::none, {3}, {{{2}}}, {.index = 2}},
        {"b", "sdpa_backward", phase::backward, role::none, {4, 0, 1, 2, 4, 5, 6, 6}, {heads, heads, heads}}};
    const strategy_space space = enumerate_strategies(graph, device_mesh::parse("64"), h100, standard_rules());
    CHECK(texts(space.of(3)) == std::vector<std::string>{"R,R,R->RRRR", "S(0),S(0),S(0)->S(0)S(0)RR"});
    CHECK(space.of(3).compute_us[0] == doctest::Approx(3176.4022).epsilon(1e-7));
    CHECK(space.of(3).compute_us[1] == doctest::Approx(49.6313).epsilon(1e-6));
    CHECK(space.of(7).compute_us[0] == doctest::Approx(7941.0055).epsilon(1e-7));
    CHECK(space.of(7).compute_us[1] == doctest::Approx(124.0782).epsilon(1e-6));
    // elements of the tuple follow their own placement
    CHECK(texts(space.of(5)) == std::vector<std::string>{"R->R", "S(0)->S(0)"});
    CHECK(texts(space.of(6)) == std::vector<std::string>{"R->R"});
  }

  TEST_CASE("negative dimensions count from the last") {
    const auto labels = [](const char* op, std::vector<std::int64_t> dims, std::vector<std::int64_t> shape) {
      computation graph;
      graph.operations = {source("x", {{8, 4, 16}}),
                          {"y", op, phase::forward, role::none, {0}, {{shape}}, {.dims = std::move(dims)}}};
      return texts(enumerate_strategies(graph, device_mesh::parse("2x2"), h100, standard_rules()).of(1));
    };
    CHECK(labels("sum", {-1}, {8, 4}) == labels("sum", {2}, {8, 4}));
    CHECK(labels("mean", {-3, 1}, {16}) == labels("mean", {0, 1}, {16}));
    CHECK(labels("permute", {-1, 0, -2}, {16, 8, 4}) == labels("permute", {2, 0, 1}, {16, 8, 4}));
    CHECK(labels("sum", {}, {}) == labels("sum", {0, 1, 2}, {}));
    CHECK(labels("sum", {}, {}).size() == 16);
  }

  TEST_CASE("what the graph returns has one strategy") {
    computation graph;
    graph.operations = {source("x", {{8, 8}}), {"output", "output", phase::forward, role::none, {0, 0}, {}}};
    const strategy_space space = enumerate_strategies(graph, device_mesh::parse("2"), h100, standard_rules());
    CHECK(texts(space.of(1)) == std::vector<std::string>{"-,-->"});
    CHECK(space.of(1).compute_us == std::vector<double>{0});
  }

  TEST_CASE("what cannot be enumerated is refused by name") {
    const device_mesh mesh = device_mesh::parse("2");
    computation graph;
    graph.operations = {source("x", {{8, 8}}), {"y", "fft", phase::forward, role::none, {0}, {{{8, 8}}}}};
    CHECK_THROWS_WITH_AS(enumerate_strategies(graph, mesh, h100, standard_rules()),
                         "operation 'y': no placement rule for operator 'fft'; add one to the rule table, or let it "
                         "replicate unknown operators",
                         error);
    const strategy_space space =
        enumerate_strategies(graph, mesh, h100, rule_table(standard_rules()).replicate_unknown());
    CHECK(texts(space.of(1)) == std::vector<std::string>{"R->R"});
    CHECK(space.of(1).compute_us[0] == 7);

    graph.operations[1].name = "x";
    CHECK_THROWS_WITH_AS(enumerate_strategies(graph, mesh, h100, standard_rules()),
                         "operations 0 and 1 are both called 'x', expected names that are unique", error);
    graph.operations[1].name = "y";

    graph.operations[1].op = "neg";
    graph.operations[1].inputs = {1};
    CHECK_THROWS_WITH_AS(enumerate_strategies(graph, mesh, h100, standard_rules()),
                         "operation 'y' uses operation 1, expected one before its own number 1", error);

    graph.operations[1] = {"y", "einsum", phase::forward, role::none, {0, 0}, {{{8, 8}}}, {.equation = "mk,kn"}};
    CHECK_THROWS_WITH_AS(enumerate_strategies(graph, mesh, h100, standard_rules()),
                         "operation 'y': einsum 'mk,kn' has no '->'", error);
    graph.operations[1].with.equation = "mk,kn,no->mo";
    CHECK_THROWS_WITH_AS(enumerate_strategies(graph, mesh, h100, standard_rules()),
                         "operation 'y': einsum 'mk,kn,no->mo' names 3 arguments, found 2", error);
    graph.operations[1].with.equation = "mk,k->m";
    CHECK_THROWS_WITH_AS(enumerate_strategies(graph, mesh, h100, standard_rules()),
                         "operation 'y': einsum 'mk,k->m' gives argument 1 1 dimensions, found 2", error);
    graph.operations[1].with.equation = "mk,kn->mz";
    CHECK_THROWS_WITH_AS(enumerate_strategies(graph, mesh, h100, standard_rules()),
                         "operation 'y': einsum 'mk,kn->mz' has letter 'z' in the result only", error);
    graph.operations[1].with.equation = "mm,kn->mn";
    CHECK_THROWS_WITH_AS(enumerate_strategies(graph, mesh, h100, standard_rules()),
                         "operation 'y': einsum 'mm,kn->mn' repeats a letter in one argument", error);
  }
}

}  // namespace strategies_tests
