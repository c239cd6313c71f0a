#pragma once

#include "models/finite_difference.hpp"
#include "models/interpreter.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/joint_graph.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Gradients as a joint graph computes them, and by differences of its forward half.
namespace written_gradients {

namespace sw = shardweave;

using builder = sw::graph_builder;
using value = builder::value;
using interpreter::array;
using sw::dtype;
using sw::shape_vector;

inline std::string next_name(const builder& b) { return "x" + std::to_string(b.so_far().operations.size()); }
inline value real(builder& b, shape_vector shape) { return b.parameter(next_name(b), {std::move(shape), dtype::f32}); }
/// Drawn below 4.
inline value whole(builder& b, shape_vector shape) { return b.input(next_name(b), {std::move(shape), dtype::i64}); }
inline value complex(builder& b, shape_vector shape) {
  shape.push_back(2);
  return b.view_as_complex(real(b, std::move(shape)));
}
inline value positive(builder& b, shape_vector shape) { return b.add_scalar(real(b, std::move(shape)), 2); }
/// An operator that the builder has no call for, whose first result is like its first input.
inline value applied(builder& b, const char* op, const std::vector<value>& in, std::vector<sw::tensor> more = {}) {
  more.insert(more.begin(), b.of_value(in[0]));
  return b.apply(op, in, std::move(more), {.scalar = 1e-2});
}

struct comparison {
  double worst = 0;    ///< relative, of all elements of all gradients
  double largest = 0;  ///< of what was expected: 0 if nothing was compared
};

/// Gradients of the sum of tangents times results, as the graph computes them and by differences of its forward half.
inline comparison compare(const sw::computation& graph, std::uint64_t seed = 11,
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

inline value with_weight(builder& b, const char* op, std::size_t saved, bool bias) {
  const value x = real(b, {2, 3, 4});
  std::vector<value> in{x, real(b, {4})};
  if (bias) in.push_back(real(b, {4}));
  return b.getitem(applied(b, op, in, std::vector<sw::tensor>(saved, {{2, 3}, dtype::f32})), 0);
}
inline value product(builder& b, const char* equation, const std::vector<shape_vector>& shapes) {
  std::vector<value> in;
  for (const shape_vector& shape : shapes) in.push_back(real(b, shape));
  return b.einsum(equation, in);
}
inline value pair_of(builder& b, value (builder::*op)(value, value), shape_vector x, shape_vector y) {
  const value first = real(b, std::move(x));
  return (b.*op)(first, real(b, std::move(y)));
}
inline value chosen(builder& b, const char* op) {
  const value x = real(b, {3, 5});
  return b.getitem(b.apply(op, {x}, {{{3, 5}}, {{3, 5}, dtype::i64}}, {.dims = {1}}), 0);
}

inline std::vector<std::string> names_of(const sw::computation& graph) {
  std::vector<std::string> names;
  for (const sw::operation& op : graph.operations) names.push_back(op.name);
  return names;
}
inline std::string refusal(builder b, const sw::joint_options& options = {}) {
  return shardweave_test::refusal_of([&] { return sw::joint_graph(std::move(b), options); });
}

}  // namespace written_gradients
