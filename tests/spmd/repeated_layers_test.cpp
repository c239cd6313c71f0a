#include <shardweave/core/random.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/deepseek_config.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/repeated_layers.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>
#include <support/published_llama.hpp>
#include <support/scale.hpp>
#include <support/skipped.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace spmd_repeated_layers_tests {
namespace {

using namespace shardweave;
using shardweave_test::is_small_scale;
using shardweave_test::published_llama;
using groups = std::set<std::vector<std::uint32_t>>;
using model_type = spmd_cost_model;

computation small_llama(std::int64_t layers) {
  llama_config c = published_llama(64, layers, 4, 96, false);
  c.num_key_value_heads = 2;
  c.vocab_size = 128;
  return llama_training_graph(c, {8, 16});
}

computation small_deepseek(std::int64_t dense, std::int64_t layers) {
  deepseek_config c;
  c.hidden_size = 64;
  c.num_hidden_layers = layers;
  c.first_k_dense_replace = dense;
  c.num_attention_heads = 4;
  c.q_lora_rank = c.kv_lora_rank = 16;
  c.qk_nope_head_dim = c.v_head_dim = c.qk_rope_head_dim = 8;
  c.intermediate_size = 48;
  c.moe_intermediate_size = 32;
  c.n_routed_experts = 8;
  c.n_shared_experts = 1;
  c.num_experts_per_tok = 2;
  c.vocab_size = 128;
  return deepseek_training_graph(c, {8, 16});
}

/// As a host writes it that knows nothing of layers.
computation unlabelled(computation graph) {
  for (operation& op : graph.operations) {
    op.site = 0;
    op.layer = -1;
    op.group.clear();
  }
  return graph;
}

model_type model_of(computation graph, const char* mesh) {
  const device_profile h100 = find_device("h100");
  return {std::move(graph), device_mesh::parse(mesh), roofline{h100}, node_table<>(h100), standard_rules()};
}

groups ties_of(const model_type& model) {
  groups found;
  for (const tie& t : training_constraints(model).ties) {
    found.insert(t.vertices);
    for (const std::uint32_t v : t.vertices) {
      CHECK(model.list_number(v) == model.list_number(t.vertices.front()));
      CHECK(model.operations().operations[v].op == model.operations().operations[t.vertices.front()].op);
    }
  }
  return found;
}

/// Groups of the writer's labels.
groups told(const computation& graph) {
  std::map<std::uint64_t, std::vector<std::uint32_t>> members;
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v)
    if (graph.operations[v].site != 0) members[graph.operations[v].site].push_back(v);
  groups all;
  for (const auto& [site, group] : members)
    if (group.size() > 1) all.insert(group);
  return all;
}

/// The members in layers that are neither the first nor the last of their kind.
groups of_inner_layers(const groups& all, const computation& graph) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> ends;  // by kind: "layers", "dense"
  const auto kind_of = [](const operation& op) {
    const std::size_t at = op.name.starts_with("backward.") ? 9 : 0;
    return op.layer < 0 ? std::string() : op.name.substr(at, op.name.find('.', at) - at);
  };
  for (const operation& op : graph.operations) {
    auto& [first, last] = ends.try_emplace(kind_of(op), op.layer, op.layer).first->second;
    first = std::min(first, op.layer);
    last = std::max(last, op.layer);
  }
  groups inner;
  for (std::vector<std::uint32_t> group : all) {
    std::erase_if(group, [&](std::uint32_t v) {
      const operation& op = graph.operations[v];
      const auto [first, last] = ends.at(kind_of(op));
      return op.layer < 0 || op.layer == first || op.layer == last;
    });
    if (group.size() > 1) inner.insert(std::move(group));
  }
  return inner;
}

double optimum(const model_type& model, bool is_tied) {
  const auto all = training_constraints(model, {.tie_layers = is_tied});
  const auto solved = trws{}.solve(compile(describe(model.graph(), model, all)));
  CHECK(solved.status == solve_status::optimal);
  return solved.objective;
}

/// Operations in another topological order.
computation reordered(const computation& graph, random_source& random, std::vector<std::uint32_t>& to) {
  const compressed_graph edges = graph.graph();
  computation made;
  to.assign(graph.operations.size(), 0);
  std::vector<std::size_t> waiting;
  std::vector<std::uint32_t> ready;
  for (std::uint32_t v = 0; v < to.size(); ++v) {
    waiting.push_back(edges.in(v).size());
    if (waiting[v] == 0) ready.push_back(v);
  }
  while (!ready.empty()) {
    std::swap(ready[random.below(ready.size())], ready.back());
    const std::uint32_t v = ready.back();
    ready.pop_back();
    to[v] = static_cast<std::uint32_t>(made.operations.size());
    made.operations.push_back(graph.operations[v]);
    for (std::uint32_t& input : made.operations.back().inputs) input = to[input];
    for (const auto& e : edges.out(v))
      if (--waiting[e.target] == 0) ready.push_back(e.target);
  }
  return made;
}

}  // namespace

TEST_SUITE("repeated_layers of a computation") {
  TEST_CASE("layers of models are found as their writers label them, without the labels") {
    std::vector<computation> models{small_llama(2), small_deepseek(1, 3)};
    if (!is_small_scale)
      for (computation& larger : std::vector<computation>{
               small_llama(3), small_llama(4), small_llama(7), small_deepseek(2, 4), small_deepseek(3, 12),
               llama_training_graph(published_llama(2048, 16, 32, 8192, true), {16, 8192}),
               llama_training_graph(published_llama(4096, 32, 32, 14336, false), {16, 8192})})
        models.push_back(std::move(larger));
    for (const computation& graph : models) {
      CAPTURE(graph.operations.size());
      const auto listed = repeated_layers(unlabelled(graph));
      const groups found(listed.begin(), listed.end()), labels = told(graph);
      CHECK(labels.size() > 250);
      CHECK(of_inner_layers(found, graph) == of_inner_layers(labels, graph));
      // The value that enters the last layer backward is found to correspond to those that enter the others; labels
      // give each to the layer that it leaves.
      std::vector<std::vector<std::uint32_t>> other;
      std::ranges::set_difference(labels, found, std::back_inserter(other));
      CHECK(other.size() <= 2);
      for (const auto& group : other)
        for (const std::uint32_t v : group) CHECK(graph.operations[v].name.ends_with("attention_norm.add.shared"));
    }
  }

  TEST_CASE("a single layer does not repeat") { CHECK(repeated_layers(unlabelled(small_llama(1))).empty()); }

  TEST_CASE("the order of operations does not matter") {
    random_source random(2);
    const computation graph = small_llama(3);
    std::vector<std::uint32_t> to;
    const computation other = reordered(graph, random, to);
    groups expected;
    for (std::vector<std::uint32_t> group : repeated_layers(graph)) {
      for (std::uint32_t& v : group) v = to[v];
      std::ranges::sort(group);
      expected.insert(std::move(group));
    }
    const auto found = repeated_layers(other);
    CHECK(groups(found.begin(), found.end()) == expected);
  }

  TEST_CASE("an operation that differs in an attribute, a shape or an element type is not grouped") {
    const computation graph = small_llama(2);
    const auto vertex = [&](const std::string& name) {
      const auto at = std::ranges::find(graph.operations, name, &operation::name);
      REQUIRE(at != graph.operations.end());
      return static_cast<std::uint32_t>(at - graph.operations.begin());
    };
    const std::uint32_t epsilon = vertex("layers.1.ffn_norm.add_scalar"), scale = vertex("layers.1.ffn_norm"),
                        cast = vertex("layers.1.ffn_norm.cast");  // of the scale
    /// Which of these three are grouped.
    const auto grouped = [&](const computation& g) {
      std::set<std::uint32_t> members;
      for (const auto& group : repeated_layers(g)) members.insert(group.begin(), group.end());
      return std::vector<bool>{members.contains(epsilon), members.contains(scale), members.contains(cast)};
    };
    CHECK(grouped(graph) == std::vector<bool>{true, true, true});
    computation other = graph;
    other.operations[epsilon].with.scalar = 1;
    CHECK(grouped(other) == std::vector<bool>{false, true, true});
    other = graph;
    other.operations[scale].outputs.front().type = dtype::bf16;
    CHECK(grouped(other) == std::vector<bool>{true, false, false});
    other = graph;
    other.operations[scale].outputs.front().shape.push_back(1);
    CHECK(grouped(other) == std::vector<bool>{true, false, false});
  }
}

TEST_SUITE("layer_sites") {
  TEST_CASE("what is told counts; where nobody told anything it is found, and the same is tied") {
    for (const computation& graph : shardweave_test::some_of(std::vector{small_llama(3), small_deepseek(1, 3)})) {
      const auto sites = layer_sites(graph);
      for (std::size_t v = 0; v < sites.size(); ++v) REQUIRE(sites[v] == graph.operations[v].site);
      const auto without = [&](groups all) {  // the gradients that pass from layer to layer: see above
        const std::size_t count = all.size();
        std::erase_if(all, [&](const auto& group) {
          return graph.operations[group.back()].name.ends_with("attention_norm.add.shared");
        });
        CHECK(all.size() + 1 == count);
        return all;
      };
      CHECK(without(ties_of(model_of(unlabelled(graph), "2"))) == without(ties_of(model_of(graph, "2"))));
    }
    CHECK(layer_sites(computation{}).empty());
  }

  TEST_CASE("the optimum of layers that are found is that of labelled ones, and none is below the untied one") {
    if (shardweave_test::skipped_at_small_scale()) return;
    const model_type labelled = model_of(small_llama(3), "2"), found = model_of(unlabelled(small_llama(3)), "2");
    const double tied = optimum(found, true), untied = optimum(found, false);
    CHECK(tied == doctest::Approx(optimum(labelled, true)).epsilon(1e-12));
    CHECK(tied >= untied * (1 - 1e-12));
  }

  TEST_CASE("a host's own layers are found, and where nothing but ties differs they cost nothing") {
    graph_builder b("perceptron");
    auto x = b.input("x", {{512, 256}, dtype::bf16});
    for (std::int64_t l = 0; l < 5; ++l) {
      const auto at = std::to_string(l);
      const auto up = b.parameter("up" + at, {{256, 1024}, dtype::bf16});
      const auto down = b.parameter("down" + at, {{1024, 256}, dtype::bf16});
      x = b.add(x, b.einsum("sn,nk->sk", {b.exp(b.einsum("sk,kn->sn", {b.exp(x), up})), down}));
    }
    b.result(x);
    const model_type model = model_of(b.finish(), "8");
    const auto found = repeated_layers(model.operations(), {.least = 5});
    CHECK(found.size() == 7);
    for (const auto& group : found) CHECK(group.size() == 5);
    // what passes from layer to layer lies the same everywhere, so that the best of one layer is the best of each
    constraint_set tied = training_constraints(model, {.inputs = sharding::parse("S(0)"), .tie_layers = false});
    for (std::uint32_t v = 0; v < model.operations().operations.size(); ++v)
      if (model.operations().operations[v].op == "add")
        tied.fixed.push_back(result_placed(model, v, sharding::parse("S(0)"), "rows"));
    const constraint_set untied = tied;
    for (const auto& group : found) tied.ties.push_back({group, "found"});
    const auto best = [&](const constraint_set& all) {
      return trws{}.solve(compile(describe(model.graph(), model, all))).objective;
    };
    CHECK(best(tied) == doctest::Approx(best(untied)).epsilon(1e-12));
  }
}

}  // namespace spmd_repeated_layers_tests
