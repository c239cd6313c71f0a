#include <shardweave/core/random.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/shape_inference.hpp>

#include <doctest/doctest.h>
#include <models/finite_difference.hpp>
#include <models/interpreter.hpp>
#include <support/refusal.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

// The operations that training fuses: their shapes, their refusals, and that the backward ones give the gradients
// that finite differences of the forward ones give.

namespace operations_of_training_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::refusal_of;
using builder = sw::graph_builder;
using value = builder::value;
using interpreter::array;
using sw::dtype;
using sw::shape_vector;

using shapes = std::vector<shape_vector>;
using arguments = const std::vector<value>&;
using forward_function = std::function<value(builder&, arguments)>;
using backward_function = std::function<std::vector<value>(builder&, arguments, value)>;

/// A graph of `write`, which gets the inputs and returns what to look at.
sw::computation graph_of(const shapes& reals, const shapes& wholes, const forward_function& write) {
  builder b("test");
  std::vector<value> in;
  for (const shape_vector& shape : reals) in.push_back(b.input("x" + std::to_string(in.size()), {shape, dtype::f32}));
  for (const shape_vector& shape : wholes) in.push_back(b.input("x" + std::to_string(in.size()), {shape, dtype::i64}));
  b.result(write(b, in));
  return b.finish();
}

/// Checks d(sum of g * forward(x)) / dx against the results of `backward`, one per real input; g is the last input of
/// `backward`. Whole numbers are below 4.
double worst_gradient(const shapes& reals, const shapes& wholes, const forward_function& forward,
                      const backward_function& backward) {
  sw::random_source random(11);
  std::map<std::string, array> sources;
  const auto add = [&](std::size_t i, const shape_vector& shape, bool whole) {
    array a = interpreter::zeros(shape);
    for (auto& e : a.data) e = whole ? static_cast<double>(random.below(4)) : 2 * random.unit() - 1;
    sources["x" + std::to_string(i)] = std::move(a);
  };
  for (std::size_t i = 0; i < reals.size(); ++i) add(i, reals[i], false);
  for (std::size_t i = 0; i < wholes.size(); ++i) add(reals.size() + i, wholes[i], true);
  const sw::computation there = graph_of(reals, wholes, forward);
  const shape_vector out = there.operations[there.results[0]].outputs[0].shape;
  const std::size_t count = reals.size() + wholes.size();
  add(count, out, false);
  const array g = sources["x" + std::to_string(count)];

  sw::computation back;
  {
    builder b("back");
    std::vector<value> in;
    for (const shape_vector& s : reals) in.push_back(b.input("x" + std::to_string(in.size()), {s, dtype::f32}));
    for (const shape_vector& s : wholes) in.push_back(b.input("x" + std::to_string(in.size()), {s, dtype::i64}));
    const value gradient = b.input("x" + std::to_string(count), {out, dtype::f32});
    for (const value v : backward(b, in, gradient)) b.result(v);
    back = b.finish();
  }
  const auto values = interpreter::run(back, sources);
  const auto loss = [&] {
    const array y = interpreter::run(there, sources)[there.results[0]].front();
    double sum = 0;
    for (std::size_t i = 0; i < y.data.size(); ++i) sum += (y.data[i] * g.data[i]).real();
    return sum;
  };
  REQUIRE(back.results.size() == reals.size());
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < reals.size(); ++i) {
    auto& x = sources["x" + std::to_string(i)].data;
    const auto& found = values[back.results[i]].front().data;
    REQUIRE(found.size() == x.size());
    for (std::size_t e = 0; e < x.size(); ++e) {
      const double expected = finite_difference::slope(x[e], loss);
      worst = std::max(worst, std::abs(found[e].real() - expected) / (1 + std::abs(expected)));
      largest = std::max(largest, std::abs(expected));
    }
  }
  CHECK(largest > 0.1);  // otherwise nothing was compared
  return worst;
}

/// Norms have no builder call of their own: a model writes them out, a host applies them.
value norm(builder& b, const char* op, const std::vector<value>& in, std::size_t outputs) {
  const sw::tensor x = b.of_value(in[0]);
  shape_vector rows = x.shape;
  rows.pop_back();
  std::vector<sw::tensor> made(outputs, {rows, dtype::f32});
  made[0] = x;
  return b.apply(op, in, made, {.scalar = 1e-2});
}

}  // namespace

TEST_SUITE("operations of training") {
  TEST_CASE("shapes and types follow") {
    builder b("shapes");
    const value x = b.input("x", {{4, 6, 8}, dtype::bf16});
    const value n = b.input("n", {{4, 6, 2}, dtype::i64});
    CHECK(b.of_value(b.softmax(x, -1)) == sw::tensor{{4, 6, 8}, dtype::bf16});
    CHECK(b.of_value(b.slice(x, 1, 2, 3)) == sw::tensor{{4, 3, 8}, dtype::bf16, false});
    CHECK(b.of_value(b.slice(x, 0, 0, 2)) == sw::tensor{{2, 6, 8}, dtype::bf16});
    CHECK(b.of_value(b.pad(x, 2, 3, 16)).shape == shape_vector{4, 6, 16});
    const value parts = b.split(x, {1, 5}, 1);
    CHECK(b.elements_of(parts)[0].shape == shape_vector{4, 1, 8});
    CHECK(b.of_value(b.cat({b.getitem(parts, 1), x, b.getitem(parts, 0)}, 1)).shape == shape_vector{4, 12, 8});
    const value top = b.topk(x, 2, -1);
    CHECK(b.elements_of(top)[1] == sw::tensor{{4, 6, 2}, dtype::i64});
    CHECK(b.of_value(b.gather(x, n, 2)) == sw::tensor{{4, 6, 2}, dtype::bf16});
    CHECK(b.of_value(b.gather_backward(b.getitem(top, 0), n, 8, 2)).shape == shape_vector{4, 6, 8});
    CHECK(b.of_value(b.scatter_add(x, n, b.getitem(top, 0), 2)).shape == shape_vector{4, 6, 8});
    CHECK(b.of_value(b.histogram(n, 5)) == sw::tensor{{5}, dtype::i64});
    CHECK(b.of_value(b.expand(b.sum(x, {1}, true), {3, 4, 6, 8})).shape == shape_vector{3, 4, 6, 8});
    const value classes = b.input("classes", {{4, 6}, dtype::i64});
    const value loss = b.cross_entropy(x, classes);
    CHECK(b.elements_of(loss)[0] == sw::tensor{{4, 6}, dtype::f32});
    CHECK(b.of_value(b.cross_entropy_backward(b.getitem(loss, 0), x, classes, b.getitem(loss, 1))) ==
          sw::tensor{{4, 6, 8}, dtype::bf16});
    const value slots = b.moe_dispatch(x, n, 16, 3);
    CHECK(b.of_value(slots) == sw::tensor{{16, 4, 3, 8}, dtype::bf16});
    CHECK(b.of_value(b.moe_combine(slots, n)) == sw::tensor{{4, 6, 8}, dtype::bf16});
    const value weights = b.input("weights", {{4, 6, 2}, dtype::f32});
    const value back = b.moe_combine_backward(x, slots, n, weights);
    CHECK(b.elements_of(back)[0].shape == shape_vector{16, 4, 3, 8});
    CHECK(b.elements_of(back)[1] == sw::tensor{{4, 6, 2}, dtype::f32});
  }

  TEST_CASE("what does not fit is refused by name") {
    builder b("wrong");
    b.group("router");
    const value x = b.input("x", {{4, 6, 8}, dtype::bf16});
    const value n = b.input("n", {{4, 5, 2}, dtype::i64});
    CHECK(refusal_of([&] { return b.softmax(x, 3); }) == "router.softmax: dimension 3 does not exist in [4, 6, 8]");
    CHECK(refusal_of([&] { return b.slice(x, 1, 4, 3); }) ==
          "router.slice: 3 elements from 4 on of dimension 1 of [4, 6, 8]");
    CHECK(refusal_of([&] { return b.slice(x, 1, -1, 3); }) ==
          "router.slice: 3 elements from -1 on of dimension 1 of [4, 6, 8]");
    CHECK(refusal_of([&] { return b.pad(x, 0, 2, 5); }) ==
          "router.pad: [4, 6, 8] from 2 on does not fit in an extent of 5");
    CHECK(refusal_of([&] {
            return b.split(x, {2, 2}, 1);
          }) == "router.split: lengths [2, 2] do not add up to dimension 1 of [4, 6, 8]");
    CHECK(refusal_of([&] { return b.cat({}, 0); }) == "router.cat: found no parts, expected at least one");
    CHECK(refusal_of([&] {
            return b.cat({x, n}, 0);
          }) == "router.cat: a part of [4, 5, 2] i64 does not fit beside [4, 6, 8] bf16");
    CHECK(refusal_of([&] { return b.topk(x, 9, 2); }) == "router.topk: 9 elements of dimension 2 of [4, 6, 8]");
    CHECK(refusal_of([&] { return b.gather(x, n, 2); }) == "router.gather: indices [4, 5, 2] do not fit [4, 6, 8]");
    CHECK(refusal_of([&] { return b.gather(x, n, 1); }) == "router.gather: indices [4, 5, 2] do not fit [4, 6, 8]");
    CHECK(refusal_of([&] { return b.cross_entropy(x, n); }) ==
          "router.cross_entropy: logits [4, 6, 8] and classes [4, 5, 2] do not match, expected one class for each row");
    CHECK(refusal_of([&] { return b.moe_dispatch(x, n, 4, 2); }) ==
          "router.moe_dispatch: tokens [4, 6, 8] and experts [4, 5, 2] with 2 slots in 4 experts do not match, "
          "expected [G, S, D] and [G, S, k]");
    CHECK(refusal_of([&] { return b.moe_combine(x, n); }) ==
          "router.moe_combine: slots [4, 6, 8] and experts [4, 5, 2] do not match, expected [E, G, C, D] and "
          "[G, S, k]");
    CHECK(refusal_of([&] {
            return b.expand(x, {4, 6, 16});
          }) ==
          "router.expand: shapes [4, 6, 8] and [4, 6, 16] do not match in dimension -1, expected equal extents or 1");
    CHECK(refusal_of([&] { return b.expand(x, {6, 8}); }) == "router.expand: [4, 6, 8] cannot be repeated to [6, 8]");
  }

  TEST_CASE("backward operations give the gradients of forward ones") {
    const auto small = [](double error) { CHECK(error < 1e-7); };
    small(worst_gradient(
        {{3, 4}}, {}, [](builder& b, arguments in) { return b.softmax(in[0], 1); },
        [](builder& b, arguments in, value g) { return std::vector{b.softmax_backward(g, b.softmax(in[0], 1), 1)}; }));
    small(worst_gradient(
        {{3, 4}}, {{3}}, [](builder& b, arguments in) { return b.getitem(b.cross_entropy(in[0], in[1]), 0); },
        [](builder& b, arguments in, value g) {
          const value sums = b.getitem(b.cross_entropy(in[0], in[1]), 1);
          return std::vector{b.cross_entropy_backward(g, in[0], in[1], sums)};
        }));
    small(worst_gradient(
        {{4, 3}}, {{5, 3}}, [](builder& b, arguments in) { return b.gather(in[0], in[1], 0); },
        [](builder& b, arguments in, value g) { return std::vector{b.gather_backward(g, in[1], 4, 0)}; }));
    small(worst_gradient(
        {{4, 6}}, {}, [](builder& b, arguments in) { return b.slice(in[0], 1, 2, 3); },
        [](builder& b, arguments, value g) { return std::vector{b.pad(g, 1, 2, 6)}; }));
    small(worst_gradient(
        {{4, 2}, {4, 3}}, {},
        [](builder& b, arguments in) {
          return b.cat({in[0], in[1]}, 1);
        },
        [](builder& b, arguments, value g) {
          const value parts = b.split(g, {2, 3}, 1);
          return std::vector{b.getitem(parts, 0), b.getitem(parts, 1)};
        }));
    small(worst_gradient(
        {{2, 5, 3}}, {{2, 5, 2}}, [](builder& b, arguments in) { return b.moe_dispatch(in[0], in[1], 4, 2); },
        [](builder& b, arguments in, value g) { return std::vector{b.moe_combine(g, in[1])}; }));
    small(worst_gradient(
        {{4, 2, 2, 3}, {2, 5, 2}}, {{2, 5, 2}},
        [](builder& b, arguments in) { return b.moe_combine(in[0], in[2], in[1]); },
        [](builder& b, arguments in, value g) {
          const value back = b.moe_combine_backward(g, in[0], in[2], in[1]);
          return std::vector{b.getitem(back, 0), b.getitem(back, 1)};
        }));
    small(worst_gradient(
        {{5, 4}, {4}}, {}, [](builder& b, arguments in) { return b.getitem(norm(b, "rms_norm", in, 2), 0); },
        [](builder& b, arguments in, value g) {
          const value r = b.getitem(norm(b, "rms_norm", in, 2), 1);
          const value back = b.apply("rms_norm_backward", {g, in[0], in[1], r}, {b.of_value(in[0]), b.of_value(in[1])});
          return std::vector{b.getitem(back, 0), b.getitem(back, 1)};
        }));
    small(worst_gradient(
        {{5, 4}, {4}, {4}}, {}, [](builder& b, arguments in) { return b.getitem(norm(b, "layer_norm", in, 3), 0); },
        [](builder& b, arguments in, value g) {
          const value all = norm(b, "layer_norm", in, 3);
          const value back = b.apply("layer_norm_backward", {g, in[0], in[1], b.getitem(all, 1), b.getitem(all, 2)},
                                     {b.of_value(in[0]), b.of_value(in[1]), b.of_value(in[2])});
          return std::vector{b.getitem(back, 0), b.getitem(back, 1), b.getitem(back, 2)};
        }));
  }

  TEST_CASE("attention with values of another width has its gradients") {
    CHECK(worst_gradient(
              {{1, 2, 3, 2}, {1, 1, 3, 2}, {1, 1, 3, 4}}, {},
              [](builder& b, arguments in) { return b.getitem(b.sdpa(in[0], in[1], in[2]), 0); },
              [](builder& b, arguments in, value g) {
                const value all = b.sdpa(in[0], in[1], in[2]);
                const value back = b.sdpa_backward(g, in[0], in[1], in[2], b.getitem(all, 0), b.getitem(all, 1),
                                                   b.getitem(all, 2), b.getitem(all, 3));
                return std::vector{b.getitem(back, 0), b.getitem(back, 1), b.getitem(back, 2)};
              }) < 1e-7);
  }
}

}  // namespace operations_of_training_tests
