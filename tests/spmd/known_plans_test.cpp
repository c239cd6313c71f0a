#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/rules/local_region.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>
#include <support/published_llama.hpp>
#include <support/scale.hpp>
#include <support/skipped.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

// Plans that AutoParallel's tests and notes expect of small models, on 256 devices: sharded and plain data parallelism,
// tensor parallelism beside it, sequences cut where that is cheaper. They must be optimal by its costs (the
// compatibility policy) and by ours.

namespace known_plans_tests {
namespace {

using namespace shardweave;
using shardweave_test::is_small_scale;
using model_type = spmd_cost_model;
using value = graph_builder::value;
using placements = std::map<std::string, std::string>;

sharding lying(const char* text) { return sharding::parse(text); }

/// x -> w2 w1 x, and y -> y + 2 twice; parameters in the type of the computation.
computation feed_forward(std::int64_t rows) {
  constexpr std::int64_t width = 1024, hidden = 4096;
  graph_builder b("feed forward");
  const value x = b.input("x", {{rows, width}, dtype::f32}), y = b.input("y", {{rows, 1}, dtype::f32});
  const value w1 = b.parameter("w1", {{hidden, width}, dtype::f32});
  const value w2 = b.parameter("w2", {{width, hidden}, dtype::f32});
  const value t1 = b.permute(w1, {1, 0}), t2 = b.permute(w2, {1, 0});
  const value z = b.einsum("bk,kn->bn", {x, t1});
  const value o = b.einsum("bk,kn->bn", {z, t2});
  for (const value v : {b.add_scalar(y, 2), o, b.add_scalar(y, 2)}) b.result(v);
  b.when(phase::backward);
  const value g = b.tangent("dy", o);
  b.gradient(w2, b.einsum("nb,bk->nk", {b.permute(g, {1, 0}), z}));
  const value dz = b.einsum("bn,nk->bk", {g, b.permute(t2, {1, 0})});
  b.gradient(w1, b.einsum("nb,bk->nk", {b.permute(dz, {1, 0}), x}));
  return insert_aliases(b.finish());
}

/// A transformer block without norms: 48 heads, width 6144, relu. With `is_region`, attention is a region of its own,
/// which leaves seven values for its gradient.
class block_writer {
 public:
  block_writer(std::int64_t batch, bool is_region) : batch_(batch), is_region_(is_region) {}

  computation write() {
    const value x = b_.input("x", {{batch_, sequence, width}, dtype::f32});
    for (const char* name : {"wq", "wk", "wv", "wo", "w1", "w2"}) {
      const std::int64_t rows = std::string(name) == "w1" ? 4 * width : width;
      const std::int64_t columns = std::string(name) == "w2" ? 4 * width : width;
      weight_[name] = b_.parameter(name, {{rows, columns}, dtype::f32});
    }
    const value q = heads(linear("wq", x)), k = heads(linear("wk", x)), v = heads(linear("wv", x));
    const value attended = joined(attention(q, k, v));
    const value middle = b_.add(linear("wo", attended), x);
    const value u = linear("w1", middle);
    const value z = b_.apply("relu", {u}, {b_.of_value(u)});
    const value y = b_.add(middle, linear("w2", z));
    b_.result(y);

    b_.when(phase::backward);
    const value g = b_.tangent("dy", y);
    const value dz = linear_backward("w2", z, g);
    const value du = b_.apply("relu_backward", {dz, z}, {b_.of_value(dz)});
    const value gm = b_.add(g, linear_backward("w1", middle, du));
    const value d = attention_backward(heads(linear_backward("wo", attended, gm)), q, k, v);
    value gx = linear_backward("wv", x, joined(b_.getitem(d, 2)));
    gx = b_.add(gx, linear_backward("wk", x, joined(b_.getitem(d, 1))));
    gx = b_.add(gx, linear_backward("wq", x, joined(b_.getitem(d, 0))));
    b_.gradient(x, b_.add(gm, gx));
    return insert_aliases(b_.finish());
  }

 private:
  static constexpr std::int64_t sequence = 256, width = 6144, head_count = 48;

  value linear(const std::string& name, value x) {
    return b_.einsum("bsk,kn->bsn", {x, turned_[name] = b_.permute(weight_[name], {1, 0})});
  }
  value linear_backward(const std::string& name, value x, value g) {
    b_.gradient(weight_[name], b_.einsum("bsn,bsk->nk", {g, x}));
    return b_.einsum("bsn,nk->bsk", {g, b_.permute(turned_[name], {1, 0})});
  }
  value heads(value x) {
    return b_.permute(b_.view(x, {batch_, sequence, head_count, width / head_count}), {0, 2, 1, 3});
  }
  value joined(value x) { return b_.view(b_.permute(x, {0, 2, 1, 3}), {batch_, sequence, width}); }
  value attention(value q, value k, value v) {
    const tensor& like = b_.of_value(q);
    const value made =
        is_region_ ? b_.apply("region", {q, k, v},
                              {like, like, like, like, like, {{batch_, head_count, sequence}, dtype::f32}, {{2}}, {{}}})
                   : b_.sdpa(q, k, v);
    const std::size_t count = b_.elements_of(made).size();
    for (std::size_t i = 0; i < count; ++i) attended_.push_back(b_.getitem(made, static_cast<std::int64_t>(i)));
    return attended_[0];
  }
  value attention_backward(value g, value q, value k, value v) {
    if (!is_region_) return b_.sdpa_backward(g, q, k, v, attended_[0], attended_[1], attended_[2], attended_[3]);
    std::vector<value> saved(attended_.begin() + 1, attended_.end());
    saved.push_back(g);
    return b_.apply("region_backward", saved, {b_.of_value(q), b_.of_value(k), b_.of_value(v)});
  }

  graph_builder b_{"block"};
  std::int64_t batch_;
  bool is_region_;
  std::map<std::string, value> weight_, turned_;
  std::vector<value> attended_;
};

model_type model_of(const computation& graph, const char* mesh, bool upstream, unsigned threads = 1) {
  const device_profile h100 = find_device("h100");
  rule_table rules = standard_rules();
  rules.add("relu_backward", pointwise_rule{});
  if (device_mesh::parse(mesh).rank() == 2) {
    // the sequence of queries is cut, keys and values are whole; what is saved is nobody's business
    const sharding cut = lying("S(0)S(2)"), whole = lying("S(0)R"), own = lying("RR");
    rules.add("region", local_region_rule{{cut, whole, whole}, {cut, own, own, own, own, own, own, own}},
              {.moves_data_only = true});
    rules.add("region_backward", local_region_rule{{own, own, own, own, own, own, own, cut}, {cut, whole, whole}},
              {.moves_data_only = true});
  }
  return {graph,
          device_mesh::parse(mesh),
          roofline{h100},
          upstream ? any_collectives(autoparallel_formula(h100)) : any_collectives(node_table<>(h100)),
          std::move(rules),
          {.reduce_after_cast = true, .redistribution = {.search = !upstream}, .threads = threads}};
}

assignment optimum(const model_type& model, const constraint_set& demands) {
  const auto solved = trws{}.solve(compile(describe(model.graph(), model, demands)));
  REQUIRE(solved.status == solve_status::optimal);
  return solved.choice;
}

/// The letter of an einsum that each mesh dimension cuts, - for none: "bn".
std::string letters_cut(const model_type& model, std::uint32_t v, strategy s) {
  const std::string& equation = model.operations().operations[v].with.equation;
  const mesh_strategy& chosen = model.strategies(v).strategies[s];
  std::string text;
  for (std::size_t d = 0; d < model.mesh().rank(); ++d) {
    char letter = '-';
    std::size_t begin = 0;
    for (const sharding& in : chosen.inputs) {
      if (in[d].is_sharded()) letter = equation[begin + in[d].dim()];
      begin = equation.find_first_of(",-", begin) + 1;
    }
    text += letter;
  }
  return text;
}

/// What a plan does, in words.
struct plan {
  placements parameters;
  std::vector<std::string> products;   ///< strategies, in order
  placements letters;                  ///< of products of the forward phase in repeated layers, by group
  std::set<std::string> stream;        ///< where what runs along the residuals, and norms, lie
  std::vector<std::string> attention;  ///< strategies
};

plan read(const model_type& model, const assignment& choice) {
  plan found;
  const auto& operations = model.operations().operations;
  for (std::uint32_t v = 0; v < operations.size(); ++v) {
    const operation& op = operations[v];
    const std::string label = model.label(v, choice[v]);
    if (op.kind == role::parameter) found.parameters[op.name] = label.substr(2);
    if (op.op == "einsum") found.products.push_back(label);
    if (op.op == "einsum" && op.when == phase::forward && op.layer >= 0)
      found.letters[op.group] += letters_cut(model, v, choice[v]) + " ";
    if (op.op.starts_with("sdpa") || op.op.starts_with("region")) found.attention.push_back(label);
    const bool is_norm = op.group.ends_with("norm") && op.op == "mul" && op.outputs.front().rank() == 3;
    if (op.group == "residual" || is_norm) found.stream.insert(label.substr(label.find("->") + 2));
  }
  return found;
}

plan best(const computation& graph, const char* mesh, bool upstream, const training_options& options) {
  const model_type model = model_of(graph, mesh, upstream);
  return read(model, optimum(model, training_constraints(model, options)));
}

training_options both(const char* where) { return {.inputs = lying(where), .results = lying(where)}; }
training_options replicated(const char* where) {
  return {.inputs = lying(where), .results = lying(where), .parameter_share = 1};
}

/// Sanitized builds plan the least by one policy: they look for other mistakes than wrong plans.
std::vector<bool> policies() { return is_small_scale ? std::vector{false} : std::vector{true, false}; }

/// What products of data parallelism do: `forward` of them from batch and whole weights, then gradients in pairs.
void check_data_parallel(const std::vector<std::string>& products, std::size_t forward, const char* weight_gradient) {
  for (std::size_t i = 0; i < products.size(); ++i) {
    CAPTURE(i);
    const bool is_of_weight = i >= forward && (i - forward) % 2 == 0;
    CHECK(products[i] == (is_of_weight ? weight_gradient : "S(0),R->S(0)"));
  }
}

}  // namespace

TEST_SUITE("known plans") {
  TEST_CASE("on one mesh dimension: sharded data parallelism, and with room for it replicas") {
    const computation small = feed_forward(2048 * 256), block = block_writer(8 * 256, false).write();
    for (const bool upstream : policies()) {
      CAPTURE(upstream);
      for (const auto& [options, where] : {std::pair(both("S(0)"), "S(0)"), std::pair(replicated("S(0)"), "R")}) {
        const plan two = best(small, "256", upstream, options);
        CHECK(two.parameters == placements{{"w1", where}, {"w2", where}});
        REQUIRE(two.products.size() == 5);
        check_data_parallel(two.products, 2, "S(1),S(0)->P");
        const plan six = best(block, "256", upstream, options);
        CHECK(six.parameters ==
              placements{{"wq", where}, {"wk", where}, {"wv", where}, {"wo", where}, {"w1", where}, {"w2", where}});
        REQUIRE(six.products.size() == 18);
        check_data_parallel(six.products, 6, "S(0),S(0)->P");
      }
    }
  }

  TEST_CASE("on two: tensor parallelism along the second, columns before rows") {
    const std::string m1 = "S(0)R,RS(1)->S(0)S(1)", m2 = "S(0)S(1),RS(0)->S(0)P";
    const std::string m3 = "S(1)R,S(0)S(1)->PS(1)", m4 = "S(1)S(0),S(0)R->PS(0)";
    // of the block, batch and sequence are two dimensions
    const std::string columns = "S(0)R,RS(1)->S(0)S(2)", rows = "S(0)S(2),RS(0)->S(0)P";
    const std::string of_rows = "S(0)R,S(0)S(2)->PS(1)", of_columns = "S(0)S(2),S(0)R->PS(0)";
    const computation small = feed_forward(2048 * 32), block = block_writer(8 * 32, false).write();
    for (const bool upstream : policies()) {
      CAPTURE(upstream);
      const plan two = best(small, "32x8", upstream, both("S(0)R"));
      CHECK(two.parameters == placements{{"w1", "S(0)S(0)"}, {"w2", "S(0)S(1)"}});
      CHECK(two.products == std::vector{m1, m2, m3, m1, m4});
      if (is_small_scale) continue;
      const plan six = best(block, "32x8", upstream, both("S(0)R"));
      CHECK(six.parameters == placements{{"wq", "S(0)S(0)"},
                                         {"wk", "S(0)S(0)"},
                                         {"wv", "S(0)S(0)"},
                                         {"wo", "S(0)S(1)"},
                                         {"w1", "S(0)S(0)"},
                                         {"w2", "S(0)S(1)"}});
      CHECK(six.products == std::vector{columns, columns, columns, rows, columns, rows,          // forward
                                        of_rows, columns, of_columns, rows, of_rows, columns,    // w2 w1 wo
                                        of_columns, rows, of_columns, rows, of_columns, rows});  // wv wk wq
      REQUIRE(six.attention.size() == 2);
      CHECK(six.attention[0] == "S(0)S(1),S(0)S(1),S(0)S(1)->[S(0)S(1),S(0)S(1),RR,RR]");
    }
  }

  TEST_CASE("a region that cuts the sequence is taken as it declares itself, forward and backward") {
    if (shardweave_test::skipped_at_small_scale()) return;
    const computation block = block_writer(8 * 32, true).write();
    for (const bool upstream : policies()) {
      const plan found = best(block, "32x8", upstream, both("S(0)S(1)"));
      REQUIRE(found.attention.size() == 2);
      CHECK(found.attention[0] == "S(0)S(2),S(0)R,S(0)R->[S(0)S(2),RR,RR,RR,RR,RR,RR,RR]");
      CHECK(found.attention[1] == "RR,RR,RR,RR,RR,RR,RR,S(0)S(2)->[S(0)S(2),S(0)R,S(0)R]");
    }
  }

  TEST_CASE(
      "what is broadcast is whole; parameters that no cut fits evenly, or at all, do not make a plan impossible") {
    graph_builder b("numbers");
    const value x = b.input("x", {{2048, 8, 256}, dtype::f32});
    const value w = b.parameter("w", {{1024, 256}, dtype::f32});
    const value numbers = b.view(b.constant("numbers", {{8}, dtype::f32}), {1, 8, 1});
    const value t = b.permute(w, {1, 0});
    const value y = b.add(b.einsum("bsk,kn->bsn", {x, t}), numbers);
    b.result(y);
    b.when(phase::backward);
    const value g = b.tangent("dy", y);
    b.gradient(w, b.einsum("bsn,bsk->nk", {g, x}));
    const computation constants = insert_aliases(b.finish());

    // 280 elements on 256 devices, 128 on as many
    const auto biased = [](std::int64_t size) {
      graph_builder made("bias");
      const value in = made.input("x", {{512, size}, dtype::f32});
      const value bias = made.parameter("bias", {{size}, dtype::f32});
      const value out = made.add(in, bias);
      made.result(out);
      made.when(phase::backward);
      made.gradient(bias, made.sum(made.tangent("dy", out), {0}));
      return insert_aliases(made.finish());
    };
    for (const bool upstream : policies()) {
      const model_type model = model_of(constants, "256", upstream);
      const assignment choice = optimum(model, training_constraints(model, both("S(0)")));
      const auto& operations = model.operations().operations;
      const auto at = std::ranges::find(operations, std::string("numbers"), &operation::name) - operations.begin();
      CHECK(model.label(static_cast<std::uint32_t>(at), choice[static_cast<std::size_t>(at)]) == "->R");
      CHECK(best(biased(128), "256", upstream, both("S(0)")).parameters == placements{{"bias", "R"}});
      // pieces of 9, then of 2: uneven, and the smallest that there are
      CHECK(best(biased(280), "32x8", upstream, both("S(0)R")).parameters == placements{{"bias", "S(0)S(0)"}});
    }
  }

  TEST_CASE(
      "long sequences: LLaMA-3 8B cuts them for wo, norms and residuals; shorter ones are left to rows and columns") {
    if (shardweave_test::skipped_at_small_scale()) return;
    const auto layers = [](std::int64_t d, std::int64_t heads, std::int64_t f, std::int64_t batch,
                           std::int64_t sequence) {
      return llama_training_graph(shardweave_test::published_llama(d, 2, heads, f, false), {batch, sequence});
    };
    const training_options options{.inputs = lying("S(0)R"), .results = lying("S(0)S(2)")};
    for (const bool upstream : policies()) {
      CAPTURE(upstream);
      const plan found = best(layers(4096, 32, 14336, 16, 8192), "8x8", upstream, options);
      CHECK(found.letters == placements{{"wq", "bn bn "},
                                        {"wk", "bn bn "},
                                        {"wv", "bn bn "},
                                        {"wo", "bs bs "},  // sequence cut, weight gathered
                                        {"w1", "bn bn "},
                                        {"w3", "bn bn "},
                                        {"w2", "bk bk "}});
      CHECK(found.stream == std::set<std::string>{"S(0)S(1)"});
      for (const std::string& s : found.attention) CHECK(s.starts_with("S(0)S(1),S(0)S(1),S(0)S(1)"));
    }
    const plan shorter = best(layers(2048, 32, 8192, 16, 2048), "8x8", true, options);
    CHECK(shorter.letters.at("wo") == "bn bn ");
    CHECK(shorter.stream == std::set<std::string>{"S(0)S(2)"});
    const plan longer = best(layers(2048, 32, 8192, 16, 8192), "8x8", true, options);
    CHECK(longer.letters.at("w2") == "bs bs ");  // wide sequences of a narrow model: weights come to them
    CHECK(longer.stream == std::set<std::string>{"S(0)S(1)"});
  }

  TEST_CASE(
      "70B with rows and columns everywhere, as noted upstream, is dearer by upstream's costs, by less than a per "
      "cent") {
    if (shardweave_test::skipped_at_small_scale()) return;
    const model_type model = model_of(
        llama_training_graph(shardweave_test::published_llama(8192, 2, 64, 28672, false), {16, 8192}), "8x8", true);
    constraint_set demands = training_constraints(model, {.inputs = lying("S(0)R"), .results = lying("S(0)S(2)")});
    const auto price = [&] { return trws{}.solve(compile(describe(model.graph(), model, demands))); };
    const auto free = price();
    const auto& operations = model.operations().operations;
    for (std::uint32_t v = 0; v < operations.size(); ++v) {
      const operation& op = operations[v];
      if (op.op != "einsum" || op.when != phase::forward || op.layer < 0) continue;
      fixed_strategies wanted{v, {}, "rows and columns"};
      for (strategy s = 0; s < model.strategy_count(v); ++s)
        if (letters_cut(model, v, s) == (op.group == "wo" || op.group == "w2" ? "bk" : "bn"))
          wanted.allowed.push_back(s);
      demands.fixed.push_back(std::move(wanted));
    }
    const auto forced = price();
    CHECK(forced.objective == doctest::Approx(130526).epsilon(1e-5));
    CHECK(forced.lower_bound == doctest::Approx(130526).epsilon(1e-5));
    CHECK(free.objective < 130219);
    CHECK(forced.lower_bound > free.objective);
    CHECK(forced.objective < free.lower_bound * 1.01);
  }

  TEST_CASE("a value that an operation uses twice is paid for in each argument") {
    graph_builder b("square");
    const tensor square{{64, 64}, dtype::f32};
    const value x = b.input("x", square);
    b.result(b.einsum("bk,kn->bn", {x, x}));
    const model_type model = model_of(b.finish(), "8", false);
    constraint_set demands;
    place_inputs(demands, model, lying("S(0)"), "rows");
    const auto solved = trws{}.solve(compile(describe(model.graph(), model, demands)));
    auto ways = model.new_redistributor();
    double least = HUGE_VAL, only_first = HUGE_VAL;
    for (strategy s = 0; s < model.strategy_count(1); ++s) {
      const auto& taken = model.strategies(1).strategies[s].inputs;
      const auto price = [&](const sharding& to) {
        return ways.plan(square, lying("S(0)"), to).cost_us + (to == lying("S(0)") ? 0 : 1);
      };
      least = std::min(least, model.vertex_cost(1, s) + price(taken[0]) + price(taken[1]));
      only_first = std::min(only_first, model.vertex_cost(1, s) + price(taken[0]));
    }
    CHECK(solved.objective == doctest::Approx(least).epsilon(1e-12));
    CHECK(least > only_first + 1);
  }

  TEST_CASE("the same plan on every run, however many threads price it") {
    const computation block = is_small_scale ? feed_forward(2048 * 32) : block_writer(8 * 32, false).write();
    const model_type first = model_of(block, "32x8", false);
    const assignment choice = optimum(first, training_constraints(first, both("S(0)R")));
    for (const unsigned threads : {1U, 3U}) {
      const model_type again = model_of(block, "32x8", false, threads);
      CHECK(optimum(again, training_constraints(again, both("S(0)R"))) == choice);
    }
  }
}

}  // namespace known_plans_tests
