#include "simulated_mesh.hpp"
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategies.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Every strategy that the rules offer is carried out on tiny tensors: the arguments are laid out as it says, the
// operator runs on each device's pieces, and the results put together must be the operator's result.

namespace rules_semantics_tests {
namespace {

using namespace shardweave;
using shardweave_test::is_sanitized;
using simulated::array;
using simulated::pieces;

/// An operation alone: sources in front of it, a value that it may follow among them in every way it can lie.
struct trial {
  std::string op;
  std::vector<tensor> inputs;
  std::vector<tensor> outputs;
  attributes with = {};
};

/// Gives the argument of a follower all placements, partial ones too.
std::vector<mesh_strategy> every_placement(const operation_view& view, const device_mesh& mesh) {
  std::vector<dim_placement> choices{dim_placement()};
  for (std::size_t d = 0; d < view.outputs.front().rank(); ++d) choices.push_back(dim_placement::shard(d));
  for (const auto kind : {partial_kind::sum, partial_kind::avg, partial_kind::max, partial_kind::min})
    choices.push_back(dim_placement::partial(kind));
  std::vector<mesh_strategy> all{{{sharding(mesh.rank())}, {}}};
  for (std::size_t d = 0; d < mesh.rank(); ++d) {
    std::vector<mesh_strategy> longer;
    for (const mesh_strategy& s : all)
      for (const dim_placement p : choices) longer.push_back({{s.outputs[0].with(d, p)}, {}});
    all = std::move(longer);
  }
  return all;
}

computation graph_of(const trial& t, const std::vector<std::vector<std::int64_t>>& in_shapes,
                     const std::vector<std::vector<std::int64_t>>& out_shapes) {
  computation graph;
  operation op{"tested", t.op, phase::forward, role::none, {}, t.outputs, t.with};
  for (std::size_t a = 0; a < t.inputs.size(); ++a) {
    tensor in = t.inputs[a];
    in.shape = in_shapes[a];
    graph.operations.push_back({"in" + std::to_string(a), "source", phase::forward, role::input, {}, {in}});
    op.inputs.push_back(static_cast<std::uint32_t>(a));
  }
  for (std::size_t k = 0; k < t.outputs.size(); ++k) op.outputs[k].shape = out_shapes[k];
  graph.operations.push_back(std::move(op));
  return graph;
}

computation graph_of(const trial& t) {
  std::vector<std::vector<std::int64_t>> in;
  std::vector<std::vector<std::int64_t>> out;
  for (const tensor& x : t.inputs) in.push_back(x.shape);
  for (const tensor& x : t.outputs) out.push_back(x.shape);
  return graph_of(t, in, out);
}

/// The operator on plain arrays. `rows` says which rows of a whole embedding table the weight holds.
std::vector<array> execute(const trial& t, std::vector<array> inputs, const std::vector<std::vector<std::int64_t>>& out,
                           const array* rows) {
  if (interpreter::count(inputs[0].shape) == 0) {  // a device without elements
    std::vector<array> nothing;
    for (const auto& shape : out) nothing.push_back(interpreter::zeros(shape));
    return nothing;
  }
  if (t.op == "expand") {
    array result = interpreter::zeros(out[0]);
    interpreter::each(out[0], [&](const auto& at) {
      result.data[interpreter::offset(result, at)] = inputs[0].data[interpreter::offset(inputs[0], at)];
    });
    return {result};
  }
  if (t.op == "sigmoid" || t.op == "tanh" || t.op == "relu") {
    for (auto& x : inputs[0].data)
      x = t.op == "tanh"   ? std::tanh(x.real())
          : t.op == "relu" ? std::max(0.0, x.real())
                           : 1 / (1 + std::exp(-x.real()));
    return {inputs[0]};
  }
  if (rows != nullptr) {  // look rows up by their global number; a row of zeros stands for those held elsewhere
    array& weight = inputs[0];
    weight.shape[0] += 1;
    weight.data.resize(weight.data.size() + static_cast<std::size_t>(weight.shape[1]));
    for (auto& index : inputs[1].data) {
      std::size_t local = 0;
      while (local < rows->data.size() && rows->data[local] != index) ++local;
      index = static_cast<double>(local);
    }
  }
  std::map<std::string, array> sources;
  std::vector<std::vector<std::int64_t>> in;
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    in.push_back(inputs[a].shape);
    sources["in" + std::to_string(a)] = std::move(inputs[a]);
  }
  return interpreter::run(graph_of(t, in, out), sources).back();
}

/// Carries out all strategies of the trial on the mesh; returns their labels.
std::set<std::string> check(const trial& t, const std::string& mesh_text) {
  const device_mesh mesh = device_mesh::parse(mesh_text);
  rule_table rules = standard_rules();
  rules.add("source", &every_placement, {.is_view = true, .flops = {}});
  const computation graph = graph_of(t);
  const strategy_space space = enumerate_strategies(graph, mesh, roofline{find_device("h100")}, rules);
  random_source random(7);

  std::vector<array> whole_in;
  for (std::size_t a = 0; a < t.inputs.size(); ++a) {
    array x = interpreter::zeros(t.inputs[a].shape);
    const bool is_index = t.inputs[a].type == dtype::i64;
    const auto table = static_cast<std::size_t>(t.op == "embedding" ? t.inputs[0].shape[0] : t.outputs[0].shape[0]);
    for (auto& e : x.data) e = is_index ? static_cast<double>(random.below(table)) : 0.5 + random.unit();
    whole_in.push_back(std::move(x));
  }
  std::vector<std::vector<std::int64_t>> whole_out;
  for (const tensor& out : t.outputs) whole_out.push_back(out.shape);
  array row_numbers = interpreter::zeros({t.inputs[0].shape.empty() ? 1 : t.inputs[0].shape[0]});
  for (std::size_t r = 0; r < row_numbers.data.size(); ++r) row_numbers.data[r] = static_cast<double>(r);
  const bool by_rows = t.op == "embedding";
  const std::vector<array> expected = execute(t, whole_in, whole_out, by_rows ? &row_numbers : nullptr);

  std::set<std::string> labels;
  for (const mesh_strategy& s : space.of(t.inputs.size()).strategies) {
    std::string label;
    for (const sharding& in : s.inputs) label += (label.empty() ? "" : ",") + in.to_string();
    label += "->" + s.outputs.front().to_string();
    CAPTURE(t.op);
    CAPTURE(mesh_text);
    CAPTURE(label);
    CHECK(labels.insert(label).second);

    std::vector<pieces> held;
    for (std::size_t a = 0; a < whole_in.size(); ++a)
      held.push_back(simulated::distribute(whole_in[a], s.inputs[a], mesh, random));
    pieces rows;
    if (by_rows) {
      sharding by_row(mesh.rank());
      for (std::size_t d = 0; d < mesh.rank(); ++d)
        if (s.inputs[0][d] == dim_placement::shard(0)) by_row.set(d, dim_placement::shard(0));
      rows = simulated::distribute(row_numbers, by_row, mesh, random);
    }
    std::vector<pieces> shapes;
    for (std::size_t k = 0; k < t.outputs.size(); ++k)
      shapes.push_back(simulated::distribute(interpreter::zeros(whole_out[k]), s.outputs[k], mesh, random));

    std::vector<pieces> results(t.outputs.size());
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(mesh.size()); ++rank) {
      std::vector<array> mine;
      for (const pieces& p : held) mine.push_back(p[rank]);
      std::vector<std::vector<std::int64_t>> out;
      for (const pieces& p : shapes) out.push_back(p[rank].shape);
      std::vector<array> made = execute(t, std::move(mine), out, by_rows ? &rows[rank] : nullptr);
      for (std::size_t k = 0; k < results.size(); ++k) results[k].push_back(std::move(made[k]));
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
      const auto together = simulated::collect(results[k], s.outputs[k], mesh);
      REQUIRE(together.has_value());
      CHECK(simulated::close(expected[k], *together));
    }
  }
  return labels;
}

const std::vector<std::string> meshes =
    is_sanitized ? std::vector<std::string>{"3", "2x2"} : std::vector<std::string>{"2", "3", "2x2", "2x3"};

}  // namespace

TEST_SUITE("standard_rules") {
  TEST_CASE("every strategy of a contraction gives the product") {
    for (const std::string& mesh : meshes) {
      check({"einsum", {{{4, 6}}, {{6, 5}}}, {{{4, 5}}}, {.equation = "mk,kn->mn"}}, mesh);
      check({"einsum", {{{4, 6, 5}}, {{5, 4}}}, {{{4, 6, 4}}}, {.equation = "bsk,kn->bsn"}}, mesh);
      check({"einsum", {{{4, 6, 5}}, {{4, 6, 3}}}, {{{3, 5}}}, {.equation = "bsn,bsk->kn"}}, mesh);
      check({"einsum", {{{4, 3, 5}}, {{4, 5, 6}}}, {{{4, 3, 6}}}, {.equation = "bmk,bkn->bmn"}}, mesh);
    }
    CHECK(check({"einsum", {{{4, 6, 5}}, {{5, 4}}}, {{{4, 6, 4}}}, {.equation = "bsk,kn->bsn"}}, "2") ==
          std::set<std::string>{"R,R->R", "S(0),R->S(0)", "S(1),R->S(1)", "S(2),S(0)->P", "R,S(1)->S(2)"});
    CHECK(check({"einsum", {{{4, 6}}, {{6, 5}}}, {{{4, 5}}}, {.equation = "mk,kn->mn"}}, "2") ==
          std::set<std::string>{"R,R->R", "S(0),R->S(0)", "S(1),S(0)->P", "R,S(1)->S(1)"});
  }

  TEST_CASE("every strategy of an element-wise operation gives its result") {
    for (const std::string& mesh : meshes) {
      for (const char* op : {"add", "sub", "mul", "div"}) {
        check({op, {{{4, 6}}, {{4, 6}}}, {{{4, 6}}}}, mesh);
        check({op, {{{4, 6}}, {{4, 1}}}, {{{4, 6}}}}, mesh);
        check({op, {{{6}}, {{4, 6}}}, {{{4, 6}}}}, mesh);
      }
      for (const char* op : {"neg", "exp", "rsqrt", "reciprocal", "sigmoid", "tanh", "relu", "conv", "cast", "clone"})
        check({op, {{{4, 6}}}, {{{4, 6}}}}, mesh);
      for (const char* op : {"pow", "add_scalar", "mul_scalar", "div_scalar", "rsub_scalar"})
        check({op, {{{4, 6}}}, {{{4, 6}}}, {.scalar = 3}}, mesh);
    }
  }

  TEST_CASE("partial results pass where the function lets them") {
    const tensor x{{4, 6}};
    CHECK(check({"add", {x, x}, {x}}, "2") ==
          std::set<std::string>{"R,R->R", "S(0),S(0)->S(0)", "S(1),S(1)->S(1)", "P,P->P", "P(avg),P(avg)->P(avg)",
                                "P(avg),R->P(avg)", "R,P(avg)->P(avg)", "P(max),R->P(max)", "P(min),R->P(min)"});
    CHECK(check({"mul", {x, {{4, 1}}}, {x}}, "2") == std::set<std::string>{"R,R->R", "S(0),S(0)->S(0)", "S(1),R->S(1)",
                                                                           "P,R->P", "R,P->P", "P(avg),R->P(avg)",
                                                                           "R,P(avg)->P(avg)"});
    CHECK(check({"neg", {x}, {x}}, "2") == std::set<std::string>{"R->R", "S(0)->S(0)", "S(1)->S(1)", "P->P",
                                                                 "P(avg)->P(avg)", "P(max)->P(min)", "P(min)->P(max)"});
    CHECK(check({"rsqrt", {x}, {x}}, "2") == std::set<std::string>{"R->R", "S(0)->S(0)", "S(1)->S(1)"});
    // sums and averages mix along two mesh dimensions, other kinds do not
    const auto labels = check({"conv", {x}, {x}}, "2x2");
    CHECK(labels.contains("PP(avg)->PP(avg)"));
    CHECK(labels.contains("P(max)P(max)->P(max)P(max)"));
    CHECK_FALSE(labels.contains("P(max)P->P(max)P"));
    CHECK_FALSE(labels.contains("P(max)P(min)->P(max)P(min)"));
  }

  TEST_CASE("every strategy of a reduction gives its result") {
    for (const std::string& mesh : meshes)
      for (const char* op : {"sum", "mean"}) {
        check({op, {{{4, 6, 3}}}, {{{4, 6}}}, {.dims = {2}}}, mesh);
        check({op, {{{4, 6, 3}}}, {{{4, 6, 1}}}, {.dims = {2}, .keep_dims = true}}, mesh);
        check({op, {{{4, 6, 3}}}, {{{3}}}, {.dims = {0, 1}}}, mesh);
        check({op, {{{4, 5, 3}}}, {{{1, 1, 3}}}, {.dims = {0, 1}, .keep_dims = true}}, mesh);
      }
    // an average of uneven pieces would not be the average: 5 on 2 devices
    CHECK_FALSE(check({"mean", {{{5, 4}}}, {{{4}}}, {.dims = {0}}}, "2").contains("S(0)->P(avg)"));
    CHECK(check({"mean", {{{6, 4}}}, {{{4}}}, {.dims = {0}}}, "2").contains("S(0)->P(avg)"));
    CHECK(check({"sum", {{{5, 4}}}, {{{4}}}, {.dims = {0}}}, "2").contains("S(0)->P"));
  }

  TEST_CASE("sums along two mesh dimensions are independent") {
    const auto labels = check({"sum", {{{4, 6, 4}}}, {{{4}}}, {.dims = {0, 1}}}, "2x2");
    CHECK(labels.contains("S(0)S(1)->PP"));
    CHECK(labels.contains("S(2)S(2)->S(0)S(0)"));
    CHECK(labels.contains("S(0)S(2)->PS(0)"));
    CHECK(labels.contains("PS(2)->PS(0)"));
    CHECK(check({"mean", {{{4, 8, 4}}}, {{{4}}}, {.dims = {0, 1}}}, "2x2").contains("S(0)S(1)->P(avg)P(avg)"));
  }

  TEST_CASE("every strategy of a change of shape gives its result") {
    for (const std::string& mesh : meshes) {
      check({"permute", {{{4, 6, 3}}}, {{{3, 4, 6}}}, {.dims = {2, 0, 1}}}, mesh);
      check({"view", {{{4, 6, 12}}}, {{{4, 6, 6, 2}}}}, mesh);
      check({"view", {{{4, 6, 12}}}, {{{24, 12}}}}, mesh);
      check({"view", {{{24, 12}}}, {{{4, 6, 12}}}}, mesh);
      check({"view", {{{6, 4}}}, {{{1, 6, 1, 4}}}}, mesh);
      check({"view", {{{1, 6, 1, 4}}}, {{{6, 4}}}}, mesh);
      check({"view", {{{6, 4}}}, {{{4, 6}}}}, mesh);
      check({"view", {{{12}}}, {{{3, 4}}}}, mesh);
      check({"view", {{{5, 8}}}, {{{5, 2, 4}}}}, mesh);
      check({"expand", {{{4, 1, 6}}}, {{{3, 4, 5, 6}}}}, mesh);
      check({"view_as_complex", {{{4, 6, 2}}}, {{{4, 6}, dtype::c64}}}, mesh);
      check({"view_as_real", {{{4, 6}, dtype::c64}}, {{{4, 6, 2}}}}, mesh);
    }
    CHECK(check({"view", {{{4, 6, 12}}}, {{{4, 6, 6, 2}}}}, "2") ==
          std::set<std::string>{"R->R", "S(0)->S(0)", "S(1)->S(1)", "S(2)->S(2)", "P->P", "P(avg)->P(avg)",
                                "P(max)->P(max)", "P(min)->P(min)"});
    // the inner of two merged dimensions cannot stay cut, nor a dimension whose pieces would be uneven
    CHECK_FALSE(check({"view", {{{4, 6}}}, {{{24}}}}, "2").contains("S(1)->S(0)"));
    CHECK_FALSE(check({"view", {{{4, 6}}}, {{{24}}}}, "3").contains("S(0)->S(0)"));
    CHECK(check({"view", {{{5, 8}}}, {{{5, 2, 4}}}}, "3").contains("S(0)->S(0)"));
  }

  TEST_CASE("every strategy of an embedding gives its rows") {
    for (const std::string& mesh : meshes) {
      check({"embedding", {{{7, 6}}, {{4, 6}, dtype::i64}}, {{{4, 6, 6}}}}, mesh);
      check({"embedding_backward", {{{4, 6, 6}}, {{4, 6}, dtype::i64}}, {{{7, 6}}}}, mesh);
    }
    CHECK(check({"embedding", {{{8, 4}}, {{4, 6}, dtype::i64}}, {{{4, 6, 4}}}}, "2") ==
          std::set<std::string>{"R,R->R", "S(1),R->S(2)", "S(0),R->P(mask)", "R,S(0)->S(0)", "R,S(1)->S(1)"});
    CHECK(check({"embedding_backward", {{{4, 6, 4}}, {{4, 6}, dtype::i64}}, {{{8, 4}}}}, "2") ==
          std::set<std::string>{"R,R->R", "S(2),R->S(1)", "S(0),S(0)->P", "S(1),S(1)->P", "P,R->P"});
  }

  TEST_CASE("every strategy of attention gives its result") {
    for (const std::string& mesh : meshes)
      for (const std::int64_t key_heads : {8, 4, 2}) {
        const tensor q{{4, 8, 3, 2}};
        const tensor k{{4, key_heads, 3, 2}};
        const tensor sums{{4, 8, 3}};
        const tensor seed{{2}, dtype::i32};
        const tensor offset{{}, dtype::i32};
        const auto labels = check({"sdpa", {q, k, k}, {q, sums, seed, offset}}, mesh);
        check({"sdpa_backward", {q, q, k, k, q, sums, seed, offset}, {q, k, k}}, mesh);
        if (mesh == "3") CHECK(labels.contains("S(1),S(1),S(1)->S(1)") == (key_heads == 8));
        if (mesh == "2") CHECK(labels.contains("S(1),S(1),S(1)->S(1)"));
      }
  }
}

}  // namespace rules_semantics_tests
