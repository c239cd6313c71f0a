#include "models/written_gradients.hpp"
#include <shardweave/models/backward_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/joint_graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace backward_pass_tests {
namespace {

using namespace written_gradients;
namespace sw = shardweave;

}  // namespace

TEST_SUITE("backward_pass") {
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

}  // namespace backward_pass_tests
