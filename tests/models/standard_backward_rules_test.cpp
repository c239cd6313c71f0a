#include "models/model_checks.hpp"
#include "models/written_gradients.hpp"
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/joint_graph.hpp>
#include <shardweave/models/standard_backward_rules.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace standard_backward_rules_tests {
namespace {

using namespace written_gradients;
namespace sw = shardweave;

/// What is differentiated: an operator, and a graph that has it.
struct operator_case {
  std::string op;
  value (*write)(builder&);
};

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

}  // namespace standard_backward_rules_tests
