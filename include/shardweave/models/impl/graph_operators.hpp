#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/models/graph_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What each operator of `graph_builder` demands of its arguments, and what it gives.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE graph_builder::value graph_builder::einsum(const std::string& equation,
                                                             const std::vector<value>& operands) {
  const std::string who = next_name("einsum");
  demand(!operands.empty(), "einsum", "found no operands, expected at least one");
  std::vector<shape_vector> shapes;
  for (const value v : operands) {
    shapes.push_back(of_value(v).shape);
    if (of_value(v).type != of_value(operands.front()).type)
      refuse(error_category::input, who + ": operands have element types " +
                                        std::string(name_of(of_value(operands.front()).type)) + " and " +
                                        std::string(name_of(of_value(v).type)) + ", expected one");
  }
  tensor out{einsum_shape(who, equation, shapes), of_value(operands.front()).type};
  return apply("einsum", operands, {std::move(out)}, {.equation = equation});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::sdpa(value q, value k, value v) {
  const tensor& like = of_value(q);
  const tensor& keys = of_value(k);
  shape_vector matching = keys.shape;  // of values, which may be of another width
  if (matching.size() == 4 && of_value(v).rank() == 4) matching[3] = of_value(v).shape[3];
  if (like.rank() != 4 || keys.rank() != 4 || keys.shape[1] == 0 || like.shape[1] % keys.shape[1] != 0 ||
      like.shape[0] != keys.shape[0] || like.shape[3] != keys.shape[3] || matching != of_value(v).shape)
    refuse(error_category::input, next_name("sdpa") + ": q " + text_of(like.shape) + ", k " + text_of(keys.shape) +
                                      " and v " + text_of(of_value(v).shape) +
                                      " do not match, expected [B, H, S, h] and twice [B, KV, S, h]");
  const tensor sums{{like.shape[0], like.shape[1], like.shape[2]}, dtype::f32};
  const tensor out{{like.shape[0], like.shape[1], like.shape[2], matching[3]}, like.type};
  return apply("sdpa", {q, k, v}, {out, sums, {{2}, dtype::i64}, {{}, dtype::i64}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::sdpa_backward(value gradient, value q, value k, value v,
                                                                    value out, value sums, value seed, value offset) {
  return apply("sdpa_backward", {gradient, q, k, v, out, sums, seed, offset}, {fresh(q), fresh(k), fresh(v)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::getitem(value tuple, std::int64_t index) {
  const std::vector<tensor>& elements = elements_of(tuple);
  if (index < 0 || static_cast<std::size_t>(index) >= elements.size())
    refuse(error_category::input, next_name("getitem") + ": element " + std::to_string(index) + " of a tuple of " +
                                      std::to_string(elements.size()));
  return apply("getitem", {tuple}, {elements[static_cast<std::size_t>(index)]}, {.index = index});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::embedding(value weight, value indices) {
  if (of_value(weight).rank() != 2)
    refuse(error_category::input, next_name("embedding") + ": found a weight " + text_of(of_value(weight).shape) +
                                      ", expected two dimensions");
  shape_vector shape = of_value(indices).shape;
  shape.push_back(of_value(weight).shape.back());
  return apply("embedding", {weight, indices}, {{std::move(shape), of_value(weight).type}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::embedding_backward(value gradient, value indices,
                                                                         std::int64_t rows) {
  const tensor& g = of_value(gradient);
  demand(!g.shape.empty(), "embedding_backward", "found a gradient [], expected at least one dimension");
  return apply("embedding_backward", {gradient, indices}, {{{rows, g.shape.back()}, g.type}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::permute(value x, const shape_vector& dims) {
  tensor out{permuted_shape(next_name("permute"), of_value(x).shape, dims), of_value(x).type};
  out.contiguous = false;
  return apply("permute", {x}, {std::move(out)}, {.dims = dims});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::view(value x, shape_vector shape) {
  tensor out{std::move(shape), of_value(x).type};
  if (out.element_count() != of_value(x).element_count())
    refuse(error_category::input, next_name("view") + ": " + text_of(of_value(x).shape) + " cannot be seen as " +
                                      text_of(out.shape) + ", which has another number of elements");
  return apply("view", {x}, {std::move(out)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::expand(value x, shape_vector shape) {
  const tensor& from = of_value(x);
  demand(broadcast_shape(next_name("expand"), from.shape, shape) == shape, "expand",
         text_of(from.shape) + " cannot be repeated to " + text_of(shape));
  tensor out{std::move(shape), from.type};
  out.contiguous = false;
  return apply("expand", {x}, {std::move(out)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::view_as_complex(value x) {
  tensor out = of_value(x);
  if (out.shape.empty() || out.shape.back() != 2 || out.type != dtype::f32)
    refuse(error_category::input, next_name("view_as_complex") + ": found " + std::string(name_of(out.type)) + " " +
                                      text_of(out.shape) + ", expected f32 with a last extent of 2");
  out.shape.pop_back();
  out.type = dtype::c64;
  return apply("view_as_complex", {x}, {std::move(out)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::view_as_real(value x) {
  tensor out = of_value(x);
  if (out.type != dtype::c64)
    refuse(error_category::input,
           next_name("view_as_real") + ": found " + std::string(name_of(out.type)) + ", expected c64");
  out.shape.push_back(2);
  out.type = dtype::f32;
  return apply("view_as_real", {x}, {std::move(out)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::unary(const std::string& op, value x, double scalar) {
  return apply(op, {x}, {of_value(x)}, {.scalar = scalar});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::binary(const std::string& op, value a, value b) {
  const tensor& x = of_value(a);
  const tensor& y = of_value(b);
  tensor out{broadcast_shape(next_name(op), x.shape, y.shape), promoted(x.type, y.type)};
  out.contiguous = (x.contiguous || x.shape != out.shape) && (y.contiguous || y.shape != out.shape);
  return apply(op, {a, b}, {std::move(out)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::converted(const char* op, value x, dtype to, bool contiguous) {
  tensor out{of_value(x).shape, to, contiguous};
  return apply(op, {x}, {std::move(out)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::reduce(const char* op, value x, const shape_vector& dims,
                                                             bool keep_dims) {
  const tensor& from = of_value(x);
  shape_vector normal = normalized_dims(next_name(op), from.shape, dims);
  if (dims.empty())  // everything, as the rule has it
    for (std::size_t d = 0; d < from.rank(); ++d) normal.push_back(static_cast<std::int64_t>(d));
  tensor out{reduced_shape(from.shape, normal, keep_dims), from.type};
  return apply(op, {x}, {std::move(out)}, {.dims = std::move(normal), .keep_dims = keep_dims});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::softmax_backward(value gradient, value y, std::int64_t dim) {
  return along("softmax_backward", {gradient, y}, dim);
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::log_softmax_backward(value gradient, value y, std::int64_t dim) {
  return along("log_softmax_backward", {gradient, y}, dim);
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::slice(value x, std::int64_t dim, std::int64_t first,
                                                            std::int64_t length) {
  const std::size_t d = dim_of("slice", x, dim);
  tensor out = fresh(x);
  demand(first >= 0 && length > 0 && length <= out.shape[d] && first <= out.shape[d] - length, "slice",
         std::to_string(length) + " elements from " + std::to_string(first) + " on of dimension " + std::to_string(d) +
             " of " + text_of(out.shape));
  out.shape[d] = length;
  out.contiguous = d == 0;
  return apply("slice", {x}, {std::move(out)}, {.dims = {static_cast<std::int64_t>(d)}, .index = first});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::pad(value x, std::int64_t dim, std::int64_t first,
                                                          std::int64_t length) {
  const std::size_t d = dim_of("pad", x, dim);
  tensor out = fresh(x);
  demand(first >= 0 && out.shape[d] <= length && first <= length - out.shape[d], "pad",
         text_of(out.shape) + " from " + std::to_string(first) + " on does not fit in an extent of " +
             std::to_string(length));
  out.shape[d] = length;
  return apply("pad", {x}, {std::move(out)}, {.dims = {static_cast<std::int64_t>(d)}, .index = first});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::split(value x, const shape_vector& lengths, std::int64_t dim) {
  const std::size_t d = dim_of("split", x, dim);
  std::vector<tensor> parts;
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths) {
    demand(length >= 0 && length <= of_value(x).shape[d] - sum, "split",
           "lengths " + text_of(lengths) + " do not add up to dimension " + std::to_string(d) + " of " +
               text_of(of_value(x).shape));
    parts.push_back(fresh(x));
    parts.back().shape[d] = length;
    parts.back().contiguous = d == 0;
    sum += length;
  }
  demand(sum == of_value(x).shape[d], "split",
         "lengths " + text_of(lengths) + " do not add up to dimension " + std::to_string(d) + " of " +
             text_of(of_value(x).shape));
  return apply("split", {x}, std::move(parts), {.dims = {static_cast<std::int64_t>(d)}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::cat(const std::vector<value>& parts, std::int64_t dim) {
  demand(!parts.empty(), "cat", "found no parts, expected at least one");
  const std::size_t d = dim_of("cat", parts.front(), dim);
  tensor out = fresh(parts.front());
  out.shape[d] = 0;
  for (const value part : parts) {
    shape_vector shape = of_value(part).shape;
    const bool fits = shape.size() == out.rank() && of_value(part).type == out.type;
    const std::int64_t length = fits ? std::exchange(shape[d], out.shape[d]) : 0;
    demand(fits && shape == out.shape, "cat",
           "a part of " + text_of(of_value(part).shape) + " " + std::string(name_of(of_value(part).type)) +
               " does not fit beside " + text_of(of_value(parts.front()).shape) + " " + std::string(name_of(out.type)));
    out.shape[d] += length;
  }
  return apply("cat", parts, {std::move(out)}, {.dims = {static_cast<std::int64_t>(d)}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::topk(value x, std::int64_t k, std::int64_t dim) {
  const std::size_t d = dim_of("topk", x, dim);
  tensor out = fresh(x);
  demand(k > 0 && k <= out.shape[d], "topk",
         std::to_string(k) + " elements of dimension " + std::to_string(d) + " of " + text_of(out.shape));
  out.shape[d] = k;
  return apply("topk", {x}, {out, {out.shape, dtype::i64}}, {.dims = {static_cast<std::int64_t>(d)}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::gather(value x, value indices, std::int64_t dim) {
  const std::size_t d = dim_of("gather", x, dim);
  demand_alike("gather", of_value(x).shape, indices, d);
  return apply("gather", {x, indices}, {{of_value(indices).shape, of_value(x).type}},
               {.dims = {static_cast<std::int64_t>(d)}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::gather_backward(value gradient, value indices,
                                                                      std::int64_t length, std::int64_t dim) {
  const std::size_t d = dim_of("gather_backward", gradient, dim);
  demand_alike("gather_backward", of_value(gradient).shape, indices, of_value(gradient).rank());
  tensor out = fresh(gradient);
  out.shape[d] = length;
  return apply("gather_backward", {gradient, indices}, {std::move(out)}, {.dims = {static_cast<std::int64_t>(d)}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::scatter_add(value x, value indices, value values,
                                                                  std::int64_t dim) {
  const std::size_t d = dim_of("scatter_add", x, dim);
  demand_alike("scatter_add", of_value(x).shape, indices, d);
  demand_alike("scatter_add", of_value(values).shape, indices, of_value(values).rank());
  return apply("scatter_add", {x, indices, values}, {fresh(x)}, {.dims = {static_cast<std::int64_t>(d)}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::histogram(value numbers, std::int64_t bins) {
  return apply("histogram", {numbers}, {{{bins}, dtype::i64}}, {.index = bins});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::cross_entropy(value logits, value classes) {
  shape_vector rows = of_value(logits).shape;
  demand(!rows.empty(), "cross_entropy", "found logits [], expected at least one dimension");
  rows.pop_back();
  demand(rows == of_value(classes).shape, "cross_entropy",
         "logits " + text_of(of_value(logits).shape) + " and classes " + text_of(of_value(classes).shape) +
             " do not match, expected one class for each row");
  return apply("cross_entropy", {logits, classes}, {{rows, dtype::f32}, {rows, dtype::f32}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::cross_entropy_backward(value gradient, value logits,
                                                                             value classes, value sums) {
  return apply("cross_entropy_backward", {gradient, logits, classes, sums}, {fresh(logits)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::moe_dispatch(value tokens, value experts, std::int64_t count,
                                                                   std::int64_t capacity) {
  const shape_vector& x = of_value(tokens).shape;
  const shape_vector& e = of_value(experts).shape;
  demand(x.size() == 3 && e.size() == 3 && x[0] == e[0] && x[1] == e[1] && count > 0 && capacity > 0, "moe_dispatch",
         "tokens " + text_of(x) + " and experts " + text_of(e) + " with " + std::to_string(capacity) + " slots in " +
             std::to_string(count) + " experts do not match, expected [G, S, D] and [G, S, k]");
  return apply("moe_dispatch", {tokens, experts}, {{{count, x[0], capacity, x[2]}, of_value(tokens).type}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::moe_combine(value slots, value experts, value weights) {
  return apply("moe_combine", {slots, experts, weights}, {combined(slots, experts)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::moe_combine(value slots, value experts) {
  return apply("moe_combine", {slots, experts}, {combined(slots, experts)});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::moe_combine_backward(value gradient, value slots, value experts,
                                                                           value weights) {
  return apply("moe_combine_backward", {gradient, slots, experts, weights}, {fresh(slots), fresh(weights)});
}

SHARDWEAVE_INLINE void graph_builder::demand(bool holds, std::string_view op, const std::string& what) const {
  if (!holds) refuse(error_category::input, next_name(op) + ": " + what);
}

SHARDWEAVE_INLINE std::size_t graph_builder::dim_of(std::string_view op, value x, std::int64_t dim) const {
  const shape_vector dims{dim};
  return static_cast<std::size_t>(normalized_dims(next_name(op), of_value(x).shape, dims).front());
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::along(const char* op, const std::vector<value>& inputs,
                                                            std::int64_t dim) {
  const std::size_t d = dim_of(op, inputs.front(), dim);
  return apply(op, inputs, {fresh(inputs.front())}, {.dims = {static_cast<std::int64_t>(d)}});
}

SHARDWEAVE_INLINE void graph_builder::demand_alike(std::string_view op, const shape_vector& shape, value indices,
                                                   std::size_t d) const {
  const shape_vector& by = of_value(indices).shape;
  bool alike = by.size() == shape.size();
  for (std::size_t k = 0; alike && k < by.size(); ++k) alike = k == d || by[k] == shape[k];
  demand(alike, op, "indices " + text_of(by) + " do not fit " + text_of(shape));
}

SHARDWEAVE_INLINE tensor graph_builder::combined(value slots, value experts) const {
  const shape_vector& y = of_value(slots).shape;
  const shape_vector& e = of_value(experts).shape;
  demand(y.size() == 4 && e.size() == 3 && y[1] == e[0], "moe_combine",
         "slots " + text_of(y) + " and experts " + text_of(e) + " do not match, expected [E, G, C, D] and [G, S, k]");
  return {{e[0], e[1], y[3]}, of_value(slots).type};
}

}  // namespace shardweave::inline v0
