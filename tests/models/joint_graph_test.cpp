#include "finite_difference.hpp"
#include "interpreter.hpp"
#include "model_checks.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/models/backward_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/joint_graph.hpp>
#include <shardweave/models/standard_backward_rules.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

// Every backward rule against finite differences of the forward graph, and what the pass makes of whole graphs.

namespace joint_graph_tests {
namespace {

namespace sw = shardweave;
using builder = sw::graph_builder;
using value = builder::value;
using interpreter::array;
using sw::dtype;
using sw::shape_vector;

std::string next_name(const builder& b) { return "x" + std::to_string(b.so_far().operations.size()); }
value real(builder& b, shape_vector shape) { return b.parameter(next_name(b), {std::move(shape), dtype::f32}); }
/// Drawn below 4.
value whole(builder& b, shape_vector shape) { return b.input(next_name(b), {std::move(shape), dtype::i64}); }
value complex(builder& b, shape_vector shape) {
  shape.push_back(2);
  return b.view_as_complex(real(b, std::move(shape)));
}
value positive(builder& b, shape_vector shape) { return b.add_scalar(real(b, std::move(shape)), 2); }
/// An operator that the builder has no call for, whose first result is like its first input.
value applied(builder& b, const char* op, const std::vector<value>& in, std::vector<sw::tensor> more = {}) {
  more.insert(more.begin(), b.of_value(in[0]));
  return b.apply(op, in, std::move(more), {.scalar = 1e-2});
}

struct comparison {
  double worst = 0;    ///< relative, of all elements of all gradients
  double largest = 0;  ///< of what was expected: 0 if nothing was compared
};

/// Gradients of the sum of tangents times results, as the graph computes them and by differences of its forward half.
comparison compare(const sw::computation& graph, std::uint64_t seed = 11,
                   std::size_t stride = shardweave_test::sized<std::size_t>(1, 3)) {
  sw::random_source random(seed);
  std::map<std::string, array> sources;
  sw::computation forward = graph;
  forward.operations.clear();
  bool tangents_seen = false;
  for (const sw::operation& op : graph.operations) {
    tangents_seen = tangents_seen || op.kind == sw::role::tangent;
    if (!tangents_seen) forward.operations.push_back(op);
    if (op.kind == sw::role::none) continue;
    array a = interpreter::zeros(op.outputs[0].shape);
    for (auto& e : a.data)
      e = sw::has_gradients(op.outputs[0].type) ? 2 * random.unit() - 1 : static_cast<double>(random.below(4));
    sources[op.name] = std::move(a);
  }
  const auto values = interpreter::run(graph, sources);
  const auto loss = [&] {
    const auto found = interpreter::run(forward, sources);
    double sum = 0;
    for (const auto& [y, tangent] : graph.tangent_of)
      for (std::size_t i = 0; i < found[y].front().data.size(); ++i)
        sum += (found[y].front().data[i] * sources[graph.operations[tangent].name].data[i]).real();
    return sum;
  };
  comparison made;
  for (const auto& [of, gradient] : graph.gradient_of) {
    std::vector<interpreter::number>& x = sources[graph.operations[of].name].data;
    const std::vector<interpreter::number>& found = values[gradient].front().data;
    REQUIRE(found.size() == x.size());
    for (std::size_t e = 0; e < x.size(); e += stride) {
      const double expected = finite_difference::slope(x[e], loss);
      made.worst = std::max(made.worst, std::abs(found[e].real() - expected) / (1 + std::abs(expected)));
      made.largest = std::max(made.largest, std::abs(expected));
    }
  }
  return made;
}

/// What is differentiated: an operator, and a graph that has it.
struct operator_case {
  std::string op;
  value (*write)(builder&);
};

value with_weight(builder& b, const char* op, std::size_t saved, bool bias) {
  const value x = real(b, {2, 3, 4});
  std::vector<value> in{x, real(b, {4})};
  if (bias) in.push_back(real(b, {4}));
  return b.getitem(applied(b, op, in, std::vector<sw::tensor>(saved, {{2, 3}, dtype::f32})), 0);
}
value product(builder& b, const char* equation, const std::vector<shape_vector>& shapes) {
  std::vector<value> in;
  for (const shape_vector& shape : shapes) in.push_back(real(b, shape));
  return b.einsum(equation, in);
}
value pair_of(builder& b, value (builder::*op)(value, value), shape_vector x, shape_vector y) {
  const value first = real(b, std::move(x));
  return (b.*op)(first, real(b, std::move(y)));
}
value chosen(builder& b, const char* op) {
  const value x = real(b, {3, 5});
  return b.getitem(b.apply(op, {x}, {{{3, 5}}, {{3, 5}, dtype::i64}}, {.dims = {1}}), 0);
}

const operator_case cases[] = {
    {"add",
     [](builder& b) {
       return pair_of(b, &builder::add, {2, 3}, {2, 3});
     }},
    {"add",
     [](builder& b) {
       return pair_of(b, &builder::add, {3}, {2, 1});
     }},
    {"sub",
     [](builder& b) {
       return pair_of(b, &builder::sub, {4, 2, 3}, {2, 1});
     }},
    {"mul",
     [](builder& b) {
       return pair_of(b, &builder::mul, {2, 3}, {2, 3});
     }},
    {"mul",
     [](builder& b) {
       return pair_of(b, &builder::mul, {1, 3}, {4, 2, 1});
     }},
    {"mul",
     [](builder& b) {
       const value x = complex(b, {3});
       return b.view_as_real(b.mul(x, complex(b, {2, 3})));
     }},
    {"mul",
     [](builder& b) {
       const value x = real(b, {2, 1});
       return b.view_as_real(b.mul(x, complex(b, {3})));
     }},
    {"div",
     [](builder& b) {
       const value x = real(b, {2, 3});
       return b.div(x, positive(b, {3}));
     }},
    {"div",
     [](builder& b) {
       const value x = complex(b, {3});
       return b.view_as_real(b.div(x, complex(b, {3})));
     }},
    {"maximum",
     [](builder& b) {
       return pair_of(b, &builder::maximum, {3, 4}, {4});
     }},
    {"minimum",
     [](builder& b) {
       return pair_of(b, &builder::minimum, {3, 4}, {3, 4});
     }},
    {"neg", [](builder& b) { return b.neg(real(b, {3})); }},
    {"exp", [](builder& b) { return b.exp(real(b, {3})); }},
    {"exp", [](builder& b) { return b.view_as_real(b.exp(complex(b, {3}))); }},
    {"log", [](builder& b) { return b.log(positive(b, {3})); }},
    {"sigmoid", [](builder& b) { return b.sigmoid(real(b, {3})); }},
    {"tanh", [](builder& b) { return applied(b, "tanh", {real(b, {3})}); }},
    {"silu", [](builder& b) { return applied(b, "silu", {real(b, {3})}); }},
    {"relu", [](builder& b) { return applied(b, "relu", {real(b, {8})}); }},
    {"abs", [](builder& b) { return applied(b, "abs", {real(b, {8})}); }},
    {"sqrt", [](builder& b) { return applied(b, "sqrt", {positive(b, {3})}); }},
    {"rsqrt", [](builder& b) { return b.rsqrt(positive(b, {3})); }},
    {"reciprocal", [](builder& b) { return b.reciprocal(positive(b, {3})); }},
    {"pow", [](builder& b) { return b.pow(real(b, {3}), 2); }},
    {"pow", [](builder& b) { return b.pow(positive(b, {3}), 2.5); }},
    {"conj", [](builder& b) { return b.view_as_real(b.conj(complex(b, {3}))); }},
    {"clone", [](builder& b) { return b.clone(real(b, {3})); }},
    {"alias", [](builder& b) { return b.alias(real(b, {3})); }},
    {"add_scalar", [](builder& b) { return b.add_scalar(real(b, {3}), 2); }},
    {"rsub_scalar", [](builder& b) { return b.rsub_scalar(real(b, {3}), 2); }},
    {"mul_scalar", [](builder& b) { return b.mul_scalar(real(b, {3}), 3); }},
    {"div_scalar", [](builder& b) { return b.div_scalar(real(b, {3}), 3); }},
    {"where",
     [](builder& b) {
       const value condition = b.conv(b.slice(whole(b, {3, 4}), 1, 0, 4), dtype::boolean);
       const value yes = real(b, {3, 4});
       return b.apply("where", {condition, yes, real(b, {4})}, {{{3, 4}}});
     }},
    {"conv", [](builder& b) { return b.conv(real(b, {3}), dtype::bf16); }},
    {"cast", [](builder& b) { return b.cast(real(b, {3}), dtype::bf16); }},

    {"getitem",
     [](builder& b) {
       return b.getitem(b.split(real(b, {5}), {2, 3}, 0), 1);
     }},
    {"sum",
     [](builder& b) {
       return b.sum(real(b, {2, 3, 4}), {0, 2});
     }},
    {"sum",
     [](builder& b) {
       return b.sum(real(b, {2, 3, 4}), {1}, true);
     }},
    {"mean",
     [](builder& b) {
       return b.mean(real(b, {2, 3, 4}), {0, -1});
     }},
    {"mean", [](builder& b) { return b.mean(real(b, {3}), {0}); }},
    {"amax",
     [](builder& b) {
       return b.amax(real(b, {4, 5}), {1});
     }},
    {"amin",
     [](builder& b) {
       return b.amin(real(b, {4, 5}), {0, 1}, true);
     }},
    {"permute",
     [](builder& b) {
       return b.permute(real(b, {2, 3, 4}), {2, 0, 1});
     }},
    {"view",
     [](builder& b) {
       return b.view(real(b, {2, 6}), {3, 4});
     }},
    {"expand",
     [](builder& b) {
       return b.expand(real(b, {2, 1, 3}), {4, 2, 5, 3});
     }},
    {"expand",
     [](builder& b) {
       return b.expand(real(b, {3}), {2, 3});
     }},
    {"view_as_complex", [](builder& b) { return b.view_as_real(b.conj(complex(b, {3}))); }},
    {"view_as_real",
     [](builder& b) {
       return b.view_as_real(complex(b, {2, 3}));
     }},
    {"softmax",
     [](builder& b) {
       return b.softmax(real(b, {3, 4}), 0);
     }},
    {"log_softmax",
     [](builder& b) {
       return b.log_softmax(real(b, {3, 4}), 1);
     }},
    {"cumsum",
     [](builder& b) {
       return b.cumsum(real(b, {3, 4}), 1);
     }},
    {"slice",
     [](builder& b) {
       return b.slice(real(b, {2, 5}), 1, 1, 3);
     }},
    {"pad",
     [](builder& b) {
       return b.pad(real(b, {2, 3}), 1, 1, 5);
     }},
    {"split",
     [](builder& b) {
       const value parts = b.split(real(b, {2, 5}), {1, 3, 1}, 1);
       const value first = b.sum(b.getitem(parts, 0), {1}, true);
       return b.mul(first, b.getitem(parts, 1));  // of the third part nothing is used
     }},
    {"split",
     [](builder& b) {
       const value parts = b.split(real(b, {4}), {2, 2}, 0);
       const value first = b.getitem(parts, 0);
       return b.mul(first, b.getitem(parts, 1));
     }},
    {"cat",
     [](builder& b) {
       const value x = real(b, {2, 1});
       const value y = b.input(next_name(b), {{2, 2}, dtype::f32});
       return b.cat({x, y, real(b, {2, 3})}, 1);
     }},
    {"topk",
     [](builder& b) {
       return b.getitem(b.topk(real(b, {3, 5}), 2, 1), 0);
     }},
    {"sort", [](builder& b) { return chosen(b, "sort"); }},
    {"gather",
     [](builder& b) {
       const value x = real(b, {4, 3});
       return b.gather(x, whole(b, {6, 3}), 0);
     }},
    {"gather_backward",
     [](builder& b) {
       const value x = real(b, {6, 3});
       return b.gather_backward(x, whole(b, {6, 3}), 4, 0);
     }},
    {"scatter_add",
     [](builder& b) {
       const value x = real(b, {4, 3});
       const value at = whole(b, {6, 3});
       return b.scatter_add(x, at, real(b, {6, 3}), 0);
     }},

    {"einsum",
     [](builder& b) {
       return product(b, "bsk,kn->bsn", {{2, 3, 4}, {4, 5}});
     }},
    {"einsum",
     [](builder& b) {
       return product(b, "ab,cb->ca", {{2, 3}, {4, 3}});
     }},
    {"einsum",
     [](builder& b) {
       return product(b, "egcd,edf->egcf", {{2, 3, 2, 4}, {2, 4, 3}});
     }},
    {"einsum",
     [](builder& b) {
       return product(b, "ab,bc,cd->ad", {{2, 3}, {3, 4}, {4, 2}});
     }},
    {"einsum",
     [](builder& b) {
       return product(b, "xab,bc->c", {{2, 3, 4}, {4, 2}});
     }},  // x and a are summed over
    {"einsum",
     [](builder& b) {
       return product(b, "abc->ca", {{2, 3, 4}});
     }},
    {"einsum",
     [](builder& b) {
       const value x = complex(b, {2, 3});
       return b.view_as_real(b.einsum("ab,bc->ac", {x, complex(b, {3, 2})}));
     }},
    {"sdpa",
     [](builder& b) {
       const value q = real(b, {1, 4, 3, 2});
       const value k = real(b, {1, 2, 3, 2});
       return b.getitem(b.sdpa(q, k, real(b, {1, 2, 3, 3})), 0);
     }},
    {"embedding",
     [](builder& b) {
       const value table = real(b, {4, 3});
       return b.embedding(table, whole(b, {2, 4}));
     }},
    {"rms_norm", [](builder& b) { return with_weight(b, "rms_norm", 1, false); }},
    {"layer_norm", [](builder& b) { return with_weight(b, "layer_norm", 2, true); }},
    {"cross_entropy",
     [](builder& b) {
       const value logits = real(b, {2, 3, 5});
       return b.getitem(b.cross_entropy(logits, whole(b, {2, 3})), 0);
     }},
    {"moe_dispatch",
     [](builder& b) {
       const value tokens = real(b, {2, 3, 2});
       return b.moe_dispatch(tokens, whole(b, {2, 3, 2}), 4, 2);
     }},
    {"moe_combine",
     [](builder& b) {
       const value slots = real(b, {4, 2, 2, 3});
       const value experts = whole(b, {2, 3, 2});
       return b.moe_combine(slots, experts, real(b, {2, 3, 2}));
     }},
    {"moe_combine",
     [](builder& b) {
       const value slots = real(b, {4, 2, 2, 3});
       return b.moe_combine(slots, whole(b, {2, 3, 2}));
     }},
};

std::vector<std::string> names_of(const sw::computation& graph) {
  std::vector<std::string> names;
  for (const sw::operation& op : graph.operations) names.push_back(op.name);
  return names;
}
std::string refusal(builder b, const sw::joint_options& options = {}) {
  return shardweave_test::refusal_of([&] { return sw::joint_graph(std::move(b), options); });
}

/// Operations on whatever is there, so that values have many users.
sw::computation random_graph(std::uint64_t seed) {
  sw::random_source random(seed);
  builder b("random");
  std::vector<value> all{real(b, {3, 4}), real(b, {3, 4}), real(b, {4, 4}), real(b, {3, 1})};
  const auto any = [&] { return all[random.below(all.size())]; };
  const auto rows = [&] {  // a value of shape [3, 4]
    const value v = any();
    const shape_vector shape = b.of_value(v).shape;
    if (shape == shape_vector{4, 4}) return b.slice(v, 0, static_cast<std::int64_t>(random.below(2)), 3);
    return shape == shape_vector{3, 1} ? b.expand(v, {3, 4}) : v;
  };
  for (int i = 0; i < 14; ++i) {
    const value x = rows();
    const value y = rows();
    switch (random.below(9)) {
      case 0:
        all.push_back(b.add(x, y));
        break;
      case 1:
        all.push_back(b.mul(x, b.sigmoid(y)));
        break;
      case 2:
        all.push_back(b.sub(x, b.mean(y, {-1}, true)));
        break;
      case 3:
        all.push_back(b.einsum("ab,bc->ac", {x, b.softmax(all[2], 1)}));
        break;
      case 4:
        all.push_back(b.softmax(b.einsum("ab,ac->bc", {x, y}), 0));
        break;
      case 5:
        all.push_back(b.amax(x, {1}, true));
        break;
      case 6:
        all.push_back(b.permute(b.view(b.softmax(x, 1), {4, 3}), {1, 0}));
        break;
      case 7:
        all.push_back(b.div(x, b.add_scalar(b.mul(y, y), 1)));
        break;
      default:
        all.push_back(b.slice(b.cat({x, y}, 1), 1, 2, 4));
        break;
    }
  }
  b.result(all.back());
  b.result(b.sum(all[all.size() - 2], {0, 1}));
  return sw::joint_graph(std::move(b));
}

}  // namespace

TEST_SUITE("standard_backward_rules") {
  TEST_CASE("every rule gives the gradients that finite differences give") {
    std::set<std::string> seen;
    for (const operator_case& c : cases) {
      CAPTURE(c.op);
      CAPTURE(&c - cases);
      builder b("case");
      b.result(c.write(b));
      const bool there = std::ranges::any_of(b.so_far().operations, [&](const auto& op) { return op.op == c.op; });
      CHECK(there);
      const sw::computation graph = sw::joint_graph(std::move(b));
      model_checks::check_order(graph);
      std::size_t parameters = 0;
      for (const sw::operation& op : graph.operations) parameters += op.kind == sw::role::parameter ? 1U : 0U;
      CHECK(graph.gradient_of.size() == parameters);
      const comparison made = compare(graph);
      CHECK(made.worst < 1e-6);
      CHECK(made.largest > 1e-3);  // otherwise nothing was compared
      seen.insert(c.op);
    }
    const auto all = sw::standard_backward_rules().operators();
    CHECK(seen == std::set<std::string>(all.begin(), all.end()));
  }

  TEST_CASE(
      "operators that can be placed can be differentiated, but for those of captured graphs; gradients can be placed") {
    const std::set<std::string> sources{"parameter", "input", "constant", "tangent"};
    std::set<std::string> without;
    const sw::backward_rules rules = sw::standard_backward_rules();
    for (const std::string& op : sw::standard_rules().operators())
      if (!sources.contains(op) && !op.ends_with("_backward") && rules.of(op) == nullptr) without.insert(op);
    // a histogram is of whole numbers; captured graphs come with their gradients
    CHECK(without == std::set<std::string>{"all",
                                           "any",
                                           "argmax",
                                           "argmin",
                                           "channelwise",
                                           "convolution",
                                           "convolution_backward_input",
                                           "convolution_backward_weight",
                                           "cumprod",
                                           "flip",
                                           "gelu",
                                           "histogram",
                                           "index",
                                           "index_put",
                                           "logsumexp",
                                           "prod",
                                           "quantize",
                                           "repeat",
                                           "roll",
                                           "scatter",
                                           "transposed_convolution",
                                           "transposed_convolution_backward_input",
                                           "transposed_convolution_backward_weight"});

    const sw::rule_table placed = sw::standard_rules();
    for (const operator_case& c : cases) {
      builder b("case");
      b.result(c.write(b));
      for (const sw::operation& op : sw::joint_graph(std::move(b)).operations)
        CHECK_MESSAGE((op.op == "output" || placed.contains(op.op)), op.op);
    }
  }

  TEST_CASE("equal elements share the gradient of an extremum, of two equal values the first has it") {
    builder b("ties");
    const value x = b.parameter("x", {{2, 2}, dtype::f32});
    const value y = b.parameter("y", {{1}, dtype::f32});
    b.result(b.amax(x, {1}));
    b.result(b.maximum(y, b.alias(y)));
    b.result(b.maximum(b.alias(y), b.parameter("z", {{1}, dtype::f32})));
    const sw::computation graph = sw::joint_graph(std::move(b));
    const auto values = interpreter::run(graph, {{"x", {{2, 2}, {3, 3, 1, 2}}},
                                                 {"y", {{1}, {5}}},
                                                 {"z", {{1}, {5}}},
                                                 {"tangent.0", {{2}, {4, 6}}},
                                                 {"tangent.1", {{1}, {7}}},
                                                 {"tangent.2", {{1}, {9}}}});
    for (const auto& [of, gradient] : graph.gradient_of) {
      const auto& found = values[gradient].front().data;
      if (graph.operations[of].name == "x") CHECK(found == std::vector<interpreter::number>{2, 2, 0, 6});
      if (graph.operations[of].name == "y") CHECK(found == std::vector<interpreter::number>{16});
      if (graph.operations[of].name == "z") CHECK(found == std::vector<interpreter::number>{0});
    }
    CHECK(graph.gradient_of.size() == 3);
  }
}

TEST_SUITE("joint_graph") {
  TEST_CASE("a forward graph becomes a joint graph, gradients of parameters first") {
    builder b("two layers");
    const value x = b.input("x", {{2, 3}, dtype::bf16});
    std::vector<value> w;
    for (int l = 0; l < 2; ++l)
      w.push_back(b.layer(l).group("w").parameter("w" + std::to_string(l), {{3, 3}, dtype::f32}));
    value y = x;
    for (int l = 0; l < 2; ++l) {
      b.layer(l).group("w");
      const value narrow = b.cast(w[static_cast<std::size_t>(l)], dtype::bf16);
      b.group("mix");
      y = b.sigmoid(b.einsum("bk,kn->bn", {y, narrow}));
    }
    b.layer(-1).group("").result(y);
    sw::backward_pass(b, sw::standard_backward_rules()).run();
    const sw::computation plain = b.finish();
    CHECK(names_of(plain) ==
          std::vector<std::string>{"x",
                                   "w0",
                                   "w1",
                                   "layers.0.w.cast",
                                   "layers.0.mix.einsum",
                                   "layers.0.mix.sigmoid",
                                   "layers.1.w.cast",
                                   "layers.1.mix.einsum",
                                   "layers.1.mix.sigmoid",
                                   "tangent",
                                   "backward.layers.1.mix.rsub_scalar",
                                   "backward.layers.1.mix.mul",
                                   "backward.layers.1.mix.mul_1",
                                   "backward.layers.1.mix.einsum",
                                   "backward.layers.1.w.cast",  // the weight's gradient is ready to go
                                   "backward.layers.1.mix.permute",
                                   "backward.layers.1.mix.einsum_1",
                                   "backward.layers.0.mix.rsub_scalar",
                                   "backward.layers.0.mix.mul",
                                   "backward.layers.0.mix.mul_1",
                                   "backward.layers.0.mix.einsum",
                                   "backward.layers.0.w.cast",
                                   "results"});
    CHECK(plain.operations[13].with.equation == "bn,bk->kn");
    CHECK(plain.operations[13].inputs == std::vector<std::uint32_t>{12, 5});
    CHECK(plain.operations[16].with.equation == "bn,nk->bk");
    CHECK(plain.operations[14].outputs[0] == sw::tensor{{3, 3}, dtype::f32});
    CHECK(plain.results == std::vector<std::uint32_t>{8, 14, 21});
    CHECK(plain.gradient_of == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 14}, {1, 21}});
    CHECK(plain.tangent_of == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{8, 9}});
    // layers are alike in the backward half, too, though the first has no gradient of its input
    for (const std::size_t v : {10U, 11U, 12U, 13U, 14U})
      CHECK(plain.operations[v].site == plain.operations[v + 7].site);
    CHECK(plain.operations[11].site != plain.operations[12].site);
    CHECK(plain.operations[11].layer == 1);
    CHECK(plain.operations.back().when == sw::phase::backward);
    CHECK(compare(plain).worst < 1e-6);
  }

  TEST_CASE("random graphs have the gradients that finite differences give") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(15); ++seed) {
      CAPTURE(seed);
      const comparison made = compare(random_graph(seed), seed, 3);
      CHECK(made.worst < 1e-5);
      CHECK(made.largest > 1e-3);
    }
  }

  TEST_CASE("a value that is used twice adds up its gradients, by one operation or by two") {
    for (const int way : {0, 1, 2}) {
      builder b("twice");
      const value x = real(b, {2, 3});
      b.result(way == 0 ? b.mul(x, x) : way == 1 ? b.add(x, x) : b.mul(b.neg(x), b.exp(x)));
      const sw::computation graph = sw::joint_graph(std::move(b));
      CHECK(graph.gradient_of.size() == 1);
      CHECK(compare(graph).worst < 1e-6);
    }
  }

  TEST_CASE("what was stretched is summed up, and element types are those of the values") {
    builder b("types");
    const value x = b.input("x", {{2, 3}, dtype::f32});
    const value bias = b.parameter("bias", {{3}, dtype::bf16});
    const value scale = b.parameter("scale", {{2, 1}, dtype::f32});
    b.result(b.mul(b.add(x, bias), b.expand(scale, {4, 2, 1})));
    const sw::computation graph = sw::joint_graph(std::move(b));
    CHECK(graph.gradient_of.size() == 2);
    for (const auto& [of, gradient] : graph.gradient_of)
      CHECK(graph.operations[gradient].outputs[0] == graph.operations[of].outputs[0]);
    CHECK(compare(graph).worst < 1e-6);
  }

  TEST_CASE("every result has a tangent, also one that is returned twice or used; whole numbers have none") {
    builder b("results");
    const value x = real(b, {3, 2});
    const value n = whole(b, {3});
    const value y = b.exp(x);
    const value first = b.topk(y, 1, 1);
    b.result(y);
    b.result(b.getitem(first, 1));
    b.result(b.sum(y, {0, 1}));
    b.result(y);
    b.result(b.conv(n, dtype::f32));  // depends on no parameter
    const sw::computation graph = sw::joint_graph(std::move(b));
    std::vector<std::string> tangents;
    for (const auto& [of, tangent] : graph.tangent_of) tangents.push_back(graph.operations[tangent].name);
    CHECK(tangents == std::vector<std::string>{"tangent.0", "tangent.2", "tangent.3"});
    CHECK(graph.gradient_of.size() == 1);
    CHECK(compare(graph).worst < 1e-6);
  }

  TEST_CASE("gradients are those of parameters, and of real inputs where they are asked for") {
    for (const bool of_inputs : {false, true}) {
      builder b("inputs");
      const value x = b.input("x", {{2, 4}, dtype::f32});
      const value n = whole(b, {2, 4});
      const value angle = b.constant("angle", {{4}, dtype::f32});
      const value w = real(b, {2, 4});
      (void)real(b, {5});  // that nothing uses
      b.result(b.mul(b.mul(b.gather(x, n, 1), angle), w));
      const sw::computation graph = sw::joint_graph(std::move(b), {.of_inputs = of_inputs});
      std::vector<std::string> with_gradient;
      for (const auto& [of, gradient] : graph.gradient_of) with_gradient.push_back(graph.operations[of].name);
      CHECK(with_gradient == (of_inputs ? std::vector<std::string>{"x3", "x"} : std::vector<std::string>{"x3"}));
      CHECK(graph.results.size() == with_gradient.size() + 1);
      const bool scatters =
          std::ranges::any_of(graph.operations, [](const auto& op) { return op.op == "gather_backward"; });
      CHECK(scatters == of_inputs);  // nothing is written that leads nowhere
      CHECK(compare(graph).worst < 1e-6);
    }
  }

  TEST_CASE("where only one argument leads to a parameter, the gradient of the other is not written") {
    const std::vector<std::pair<std::string, std::function<value(builder&, value, value)>>> operators{
        {"sub", [](builder& b, value x, value y) { return b.sub(x, y); }},
        {"mul", [](builder& b, value x, value y) { return b.mul(x, y); }},
        {"div", [](builder& b, value x, value y) { return b.div(x, b.add_scalar(b.mul(y, y), 1)); }},
        {"maximum", [](builder& b, value x, value y) { return b.maximum(x, y); }},
        {"einsum",
         [](builder& b, value x, value y) {
           return b.einsum("ab,ab->a", {x, y});
         }},
        {"where", [](builder& b, value x, value y) {
           return b.apply("where", {b.input("c", {{3, 4}, dtype::boolean}), x, y}, {{{3, 4}}});
         }}};
    for (const auto& [name, write] : operators) {
      CAPTURE(name);
      std::size_t operations[3] = {};
      for (const std::size_t constant : {0U, 1U, 2U}) {  // the first, the second, none
        builder b(name);
        const auto argument = [&](std::size_t i) {
          return i == constant ? b.constant("k", {{3, 4}, dtype::f32}) : real(b, {3, 4});
        };
        const value x = argument(0), y = argument(1);
        b.result(write(b, x, y));
        const sw::computation graph = sw::joint_graph(std::move(b));
        CHECK(graph.gradient_of.size() == (constant == 2 ? 2 : 1));
        const auto made = compare(graph);
        CHECK(made.worst < 1e-6);
        CHECK(made.largest > 1e-3);
        operations[constant] = graph.operations.size();
      }
      CHECK(operations[0] < operations[2]);
      CHECK(operations[1] < operations[2]);
    }
    builder b("a power that is a constant");
    b.result(b.pow(real(b, {3}), 0));
    CHECK(compare(sw::joint_graph(std::move(b))).worst < 1e-6);
  }

  TEST_CASE("elements of a tuple that the forward pass picked are used again, others are picked when they are needed") {
    const auto picked = [](bool early) {
      builder b("tuple");
      const value q = real(b, {1, 2, 3, 2});
      const value all = b.sdpa(q, q, q);
      b.result(b.getitem(all, 0));
      if (early)
        for (const std::int64_t i : {1, 2, 3}) (void)b.getitem(all, i);
      const sw::computation graph = sw::joint_graph(std::move(b));
      CHECK(compare(graph).worst < 1e-6);
      return std::ranges::count(graph.operations, std::string("getitem"), &sw::operation::op);
    };
    CHECK(picked(true) == 7);
    CHECK(picked(false) == 7);
  }

  TEST_CASE("a host adds an operator in a few lines") {
    sw::joint_options options;
    options.rules.add("square", [](sw::backward_pass& p) {
      p.give(p.input(0), p.builder().mul(p.gradient(), p.builder().mul_scalar(p.input(0), 2)));
    });
    builder b("own");
    const value x = real(b, {3});
    b.result(applied(b, "square", {x}));
    CHECK(
        refusal(b) ==
        "operation 'square' (vertex 1): no backward rule for operator 'square'; add one to the backward rules, or give "
        "the value a gradient of its own");
    sw::computation graph = sw::joint_graph(b, options);
    for (sw::operation& op : graph.operations)
      if (op.op == "square") op.op = "pow", op.with.scalar = 2;  // for the interpreter
    CHECK(compare(graph).worst < 1e-6);
  }

  TEST_CASE("a value with a gradient of its own is differentiated by that, and an empty rule stops") {
    builder b("own");
    const value x = b.parameter("x", {{3}, dtype::f32});
    const value w = b.parameter("w", {{3}, dtype::f32});
    const value y = applied(b, "gelu", {b.mul(x, w)});  // has no rule
    b.with_gradient(y, [x](sw::backward_pass& p) { p.give(x, p.builder().mul_scalar(p.gradient(), 3)); });
    const value stopped = b.exp(w);
    b.with_gradient(stopped, {});
    b.result(b.add(y, stopped));
    const sw::computation graph = sw::joint_graph(std::move(b));
    CHECK(names_of(graph) == std::vector<std::string>{"x", "w", "w.shared", "mul", "gelu", "exp", "add", "add.result",
                                                      "tangent", "backward.mul_scalar", "backward.mul_scalar.result",
                                                      "results"});
    CHECK(graph.gradient_of == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 10}});
  }

  TEST_CASE("what cannot be differentiated is refused by name, but only where a gradient comes to it") {
    builder b("wrong");
    const value x = real(b, {2, 2});
    const value n = b.layer(1).apply("histogram", {b.conv(x, dtype::i64)}, {{{4}, dtype::i64}});
    b.layer(-1).result(n);
    b.result(x);
    CHECK(refusal(b).empty());

    builder diagonal("wrong");
    diagonal.result(diagonal.einsum("aa->a", {real(diagonal, {2, 2})}));
    CHECK(refusal(diagonal) ==
          "operation 'einsum' (vertex 1): no backward rule for an einsum that has letter 'a' twice in one place");

    builder sums("wrong");
    const value q = real(sums, {1, 2, 3, 2});
    sums.layer(2).group("attention");
    sums.result(sums.getitem(sums.sdpa(q, q, q), 1));
    CHECK(refusal(sums) ==
          "operation 'layers.2.attention.sdpa' (vertex 1): no backward rule for element 1 of its result");

    const auto told = [](auto&& rule) {
      sw::joint_options options;
      options.rules.add("own", rule);
      builder own("wrong");
      own.result(own.neg(applied(own, "own", {real(own, {2, 3})})));
      return refusal(own, options);
    };
    CHECK(told([](sw::backward_pass& p) {
            p.give(p.input(0), p.builder().permute(p.gradient(), {1, 0}));
          }) == "operation 'own' (vertex 1): gives 'x0' a gradient of shape [3, 2], expected [2, 3]");
    CHECK(told([](sw::backward_pass& p) { p.give(p.input(0), p.builder().sum(p.gradient(), {0})); }) ==
          "operation 'own' (vertex 1): gives 'x0' a gradient of shape [3], expected [2, 3]");
    CHECK(told([](sw::backward_pass& p) { p.give(p.input(0), p.gradient(1)); }) ==
          "operation 'own' (vertex 1): no gradient has come to element 1");
    CHECK(told([](sw::backward_pass& p) {
            for (int twice = 0; twice < 2; ++twice) p.give(p.input(0), p.gradient());
          }) == "operation 'own' (vertex 1): gives a gradient to 'x0' too late");
    CHECK(refusal(builder("empty")) == "graph 'empty' has no results, expected one");
  }
}

}  // namespace joint_graph_tests
