#include <shardweave/core/random.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/memory_budget.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace memory_budget_tests {
namespace {

using namespace shardweave;
using shardweave_test::refusal_of;
using model_type = spmd_cost_model;

const std::set<std::string> views{"alias",  "getitem", "permute",         "view",
                                  "expand", "conj",    "view_as_complex", "view_as_real"};

model_type model_of(computation graph, const char* mesh) {
  const device_profile h100 = find_device("h100");
  return {std::move(graph), device_mesh::parse(mesh), roofline{h100}, node_table<>(h100)};
}

/// Two layers y = exp(x w), kept in f32 and used in bf16, and the gradients of the weights.
computation two_layers() {
  graph_builder b("two layers");
  const auto x = b.input("x", {{64, 32}, dtype::bf16});
  const auto w1 = b.parameter("w1", {{32, 128}, dtype::f32});
  const auto w2 = b.parameter("w2", {{128, 32}, dtype::f32});
  const auto n1 = b.cast(w1, dtype::bf16);
  const auto n2 = b.cast(w2, dtype::bf16);
  const auto u = b.exp(b.einsum("bk,kn->bn", {x, n1}));
  const auto y = b.einsum("bk,kn->bn", {u, n2});
  b.result(y);
  b.when(phase::backward);
  const auto dy = b.tangent("dy", y);
  b.gradient(w2, b.cast(b.einsum("bk,bn->kn", {u, dy}), dtype::f32));
  b.gradient(w1, b.cast(b.einsum("bk,bn->kn", {x, b.mul(b.einsum("bn,kn->bk", {dy, n2}), u)}), dtype::f32));
  return insert_aliases(b.finish());
}

/// y = x w, and the gradient of w.
computation one_layer() {
  graph_builder b("one layer");
  const auto x = b.input("x", {{64, 32}, dtype::bf16});
  const auto w = b.parameter("w", {{32, 128}, dtype::bf16});
  const auto y = b.einsum("bk,kn->bn", {x, w});
  b.result(y);
  b.when(phase::backward);
  b.gradient(w, b.einsum("bk,bn->kn", {x, b.tangent("dy", y)}));
  return insert_aliases(b.finish());
}

/// Goes through the operations one by one and keeps a list of what is held: the most bytes at any of them.
std::int64_t walked(const model_type& model, const assignment& choice, std::int64_t state_per_element) {
  const computation& graph = model.operations();
  using value = std::pair<std::uint32_t, std::size_t>;
  const auto taken = [&](const operation& op, std::size_t a) {
    return value{op.inputs[a], op.op == "getitem" ? static_cast<std::size_t>(op.with.index) : 0};
  };
  std::map<value, int> users;
  for (const operation& op : graph.operations)
    for (std::size_t a = 0; a < op.inputs.size(); ++a) ++users[taken(op, a)];
  for (const std::uint32_t v : graph.results) ++users[{v, 0}];  // the caller is a user who never comes
  std::map<value, std::int64_t> held;
  std::int64_t always = 0, most = 0;
  const auto use = [&](const operation& op) {
    for (std::size_t a = 0; a < op.inputs.size(); ++a)
      if (--users[taken(op, a)] == 0) held.erase(taken(op, a));
  };
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
    const operation& op = graph.operations[v];
    const bool is_source = op.kind != role::none;
    std::vector<value> made;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      const sharding where = model.strategies(v).strategies[choice[v]].outputs[k];
      const std::int64_t size = where.is_none() ? 0 : local_size(op.outputs[k], where, model.mesh()).count();
      if (is_source && op.kind != role::tangent) {
        always += size;
        if (op.kind == role::parameter) always += size / element_size(op.outputs[k].type) * state_per_element;
      } else {
        made.emplace_back(v, k);
        held[made.back()] = size;
      }
    }
    const bool shows = !is_source && views.contains(op.op);
    if (shows) use(op);
    std::int64_t now = 0;
    for (const auto& [which, size] : held) now += size;
    most = std::max(most, now);
    if (!shows) use(op);
    for (const value& each : made)
      if (users[each] == 0) held.erase(each);
  }
  return always + most;  // what is always there is counted from the beginning
}

constraint_set within(const model_type& model, std::int64_t most, double state) {
  auto all = training_constraints(model, {.inputs = sharding::parse("S(0)"),
                                          .parameter_share = std::nullopt,
                                          .device_memory = bytes(most),
                                          .memory = {.state_per_element = state}});
  return all;
}

}  // namespace

TEST_SUITE("memory_budget") {
  TEST_CASE("what a walk through the operations finds held at once is what the budget counts") {
    random_source random(11);
    const llama_config tiny{.hidden_size = 32,
                            .num_hidden_layers = 1,
                            .num_attention_heads = 4,
                            .num_key_value_heads = 2,
                            .intermediate_size = 48,
                            .vocab_size = 64};
    for (const bool llama : {false, true}) {
      CAPTURE(llama);
      const model_type model =
          llama ? model_of(llama_training_graph(tiny, {4, 8}), "3") : model_of(two_layers(), "2x2");
      constraint_set all;
      all.budgets.push_back(memory_budget(model, bytes(1), {.state_per_element = 12}));
      const auto stated = describe(model.graph(), model, all);
      for (std::size_t round = 0; round < shardweave_test::at_scale(40); ++round) {
        assignment choice;
        for (std::uint32_t v = 0; v < model.operations().operations.size(); ++v)
          choice.push_back(static_cast<strategy>(random.below(model.strategy_count(v))));
        const auto found = evaluate(stated, choice).budgets.at(0);
        CHECK(found.used == static_cast<double>(walked(model, choice, 12)));
        CHECK(found.name == "device memory");
      }
    }
  }

  TEST_CASE("of two layers the parts that are held are these") {
    const model_type model = model_of(two_layers(), "1");
    const assignment choice(model.operations().operations.size(), 0);  // one device holds all of everything
    const auto used = [&](const memory_options& options) {
      constraint_set all;
      all.budgets.push_back(memory_budget(model, bytes(1), options));
      return evaluate(describe(model.graph(), model, all), choice).budgets.at(0).used;
    };
    const double weights = 2 * 32 * 128, x = 64 * 32, u = 64 * 128;  // elements
    CHECK(used({.state_per_element = 0, .results = false}) == weights * 4 + x * 2);
    CHECK(used({.state_per_element = 8, .results = false}) == weights * 12 + x * 2);
    CHECK(used({.state_per_element = 0.5, .results = false}) == weights * 4.5 + x * 2);
    // beside them, at most: at the product of u and its gradient
    const double at_product =
        2 * (x /* alias of x */ + u + x /* y */ + u /* its gradient */ + u) + 4 * weights / 2 /* of w2 */;
    CHECK(used({.state_per_element = 0}) == weights * 4 + x * 2 + at_product);
  }

  TEST_CASE("placing keeps within the memory, cheaper the more of it there is, until there is none") {
    const model_type model = model_of(one_layer(), "4");
    double before = 0;
    std::set<double> objectives;
    for (const std::int64_t most : {200'000, 80'000, 60'000, 40'000, 25'000}) {
      CAPTURE(most);
      const auto found = exhaustive{}.solve(compile(describe(model.graph(), model, within(model, most, 8))));
      REQUIRE(found.status == solve_status::optimal);
      CHECK(walked(model, found.choice, 8) <= most);
      CHECK(found.objective >= before);
      before = found.objective;
      objectives.insert(before);
    }
    CHECK(objectives.size() > 2);
    const std::string told =
        refusal_of([&] { return compile(describe(model.graph(), model, within(model, 10'000, 8))); });
    CHECK(told.starts_with("budget 'device memory' at time "));
    CHECK(told.ends_with(", but its limit is 10000"));
  }

  TEST_CASE("optimizer state that no optimizer has is refused") {
    const model_type model = model_of(two_layers(), "2");
    const auto told = [&](double state) {
      return refusal_of([&] { return memory_budget(model, bytes(1), {.state_per_element = state}); });
    };
    CHECK(told(-1) ==
          "device memory: optimizer state takes -1 bytes per element, expected a number that is not negative");
    CHECK(told(std::numeric_limits<double>::quiet_NaN()) != "");
    CHECK(told(std::numeric_limits<double>::infinity()) != "");
  }

  TEST_CASE("the log knows the demand") {
    const model_type model = model_of(two_layers(), "2");
    constraint_log log;
    log.add(memory_limited{bytes(80'000), 12});
    CHECK(log.to_string() == "1 memory_bytes 80000 state 12\n");
    const auto limit = constraints_of(model, log).budgets.at(0);
    CHECK(limit.name == "#1 memory_bytes 80000 state 12");
    CHECK(limit.high == 80'000);
    const auto same = memory_budget(model, bytes(80'000), {.state_per_element = 12});
    REQUIRE(limit.terms.size() == same.terms.size());
    for (std::size_t i = 0; i < same.terms.size(); ++i) CHECK(limit.terms[i].usage == same.terms[i].usage);
  }
}

}  // namespace memory_budget_tests
