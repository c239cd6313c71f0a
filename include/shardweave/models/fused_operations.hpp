#pragma once

#include <shardweave/models/graph_writer.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Operations that work along a dimension, pick elements by number, or fuse what training needs.

namespace shardweave::inline v0 {

/// Shared part of the builder: every operation infers its shapes and refuses operands that do not fit.
/// Negative dimensions count from the last.
class fused_operations : public graph_writer {
 public:
  using graph_writer::graph_writer;

  // Along one dimension
  value softmax(value x, std::int64_t dim) { return along("softmax", {x}, dim); }
  value log_softmax(value x, std::int64_t dim) { return along("log_softmax", {x}, dim); }
  /// From the gradient of a softmax and its result.
  value softmax_backward(value gradient, value y, std::int64_t dim) {
    return along("softmax_backward", {gradient, y}, dim);
  }
  /// The same of a log_softmax.
  value log_softmax_backward(value gradient, value y, std::int64_t dim) {
    return along("log_softmax_backward", {gradient, y}, dim);
  }
  value cumsum(value x, std::int64_t dim) { return along("cumsum", {x}, dim); }
  /// Elements [first, first + length).
  value slice(value x, std::int64_t dim, std::int64_t first, std::int64_t length) {
    const std::size_t d = dim_of("slice", x, dim);
    tensor out = fresh(x);
    demand(first >= 0 && length > 0 && first + length <= out.shape[d], "slice",
           "elements [" + std::to_string(first) + ", " + std::to_string(first + length) + ") of dimension " +
               std::to_string(d) + " of " + text_of(out.shape));
    out.shape[d] = length;
    out.contiguous = d == 0;
    return apply("slice", {x}, {std::move(out)}, {.dims = {static_cast<std::int64_t>(d)}, .index = first});
  }
  /// The inverse of a slice: zeros around x, which starts at `first` of `length`.
  value pad(value x, std::int64_t dim, std::int64_t first, std::int64_t length) {
    const std::size_t d = dim_of("pad", x, dim);
    tensor out = fresh(x);
    demand(first >= 0 && first + out.shape[d] <= length, "pad",
           text_of(out.shape) + " from " + std::to_string(first) + " on does not fit in an extent of " +
               std::to_string(length));
    out.shape[d] = length;
    return apply("pad", {x}, {std::move(out)}, {.dims = {static_cast<std::int64_t>(d)}, .index = first});
  }
  /// Gives a tuple: consecutive parts of these lengths.
  value split(value x, const shape_vector& lengths, std::int64_t dim) {
    const std::size_t d = dim_of("split", x, dim);
    std::vector<tensor> parts;
    std::int64_t sum = 0;
    for (const std::int64_t length : lengths) {
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
  value cat(const std::vector<value>& parts, std::int64_t dim) {
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
                 " does not fit beside " + text_of(of_value(parts.front()).shape) + " " +
                 std::string(name_of(out.type)));
      out.shape[d] += length;
    }
    return apply("cat", parts, {std::move(out)}, {.dims = {static_cast<std::int64_t>(d)}});
  }
  /// Gives a tuple: the k largest elements, largest first, and their positions.
  value topk(value x, std::int64_t k, std::int64_t dim) {
    const std::size_t d = dim_of("topk", x, dim);
    tensor out = fresh(x);
    demand(k > 0 && k <= out.shape[d], "topk",
           std::to_string(k) + " elements of dimension " + std::to_string(d) + " of " + text_of(out.shape));
    out.shape[d] = k;
    return apply("topk", {x}, {out, {out.shape, dtype::i64}}, {.dims = {static_cast<std::int64_t>(d)}});
  }

  // By number
  /// Elements of x along one dimension; the result has the shape of `indices`.
  value gather(value x, value indices, std::int64_t dim) {
    const std::size_t d = dim_of("gather", x, dim);
    demand_alike("gather", of_value(x).shape, indices, d);
    return apply("gather", {x, indices}, {{of_value(indices).shape, of_value(x).type}},
                 {.dims = {static_cast<std::int64_t>(d)}});
  }
  /// Adds gradients of equal elements; gives `length` elements along the dimension.
  value gather_backward(value gradient, value indices, std::int64_t length, std::int64_t dim) {
    const std::size_t d = dim_of("gather_backward", gradient, dim);
    demand_alike("gather_backward", of_value(gradient).shape, indices, of_value(gradient).rank());
    tensor out = fresh(gradient);
    out.shape[d] = length;
    return apply("gather_backward", {gradient, indices}, {std::move(out)}, {.dims = {static_cast<std::int64_t>(d)}});
  }
  /// x with `values` added where the indices say.
  value scatter_add(value x, value indices, value values, std::int64_t dim) {
    const std::size_t d = dim_of("scatter_add", x, dim);
    demand_alike("scatter_add", of_value(x).shape, indices, d);
    demand_alike("scatter_add", of_value(values).shape, indices, of_value(values).rank());
    return apply("scatter_add", {x, indices, values}, {fresh(x)}, {.dims = {static_cast<std::int64_t>(d)}});
  }
  /// How often each number below `bins` comes.
  value histogram(value numbers, std::int64_t bins) {
    return apply("histogram", {numbers}, {{{bins}, dtype::i64}}, {.index = bins});
  }

  // The loss
  /// logits [..., C], classes [...] -> a tuple: loss of each row, and the logarithm of its sum of exponents.
  value cross_entropy(value logits, value classes) {
    shape_vector rows = of_value(logits).shape;
    demand(!rows.empty(), "cross_entropy", "found logits [], expected at least one dimension");
    rows.pop_back();
    demand(rows == of_value(classes).shape, "cross_entropy",
           "logits " + text_of(of_value(logits).shape) + " and classes " + text_of(of_value(classes).shape) +
               " do not match, expected one class for each row");
    return apply("cross_entropy", {logits, classes}, {{rows, dtype::f32}, {rows, dtype::f32}});
  }
  value cross_entropy_backward(value gradient, value logits, value classes, value sums) {
    return apply("cross_entropy_backward", {gradient, logits, classes, sums}, {fresh(logits)});
  }

  // Mixtures of experts, see `standard_rules`
  /// Tokens [G, S, D] and for each k experts [G, S, k] -> slots [E, G, capacity, D]: in each group the slots of an
  /// expert are taken in the order of tokens; a token that finds none is dropped there.
  value moe_dispatch(value tokens, value experts, std::int64_t count, std::int64_t capacity) {
    const shape_vector& x = of_value(tokens).shape;
    const shape_vector& e = of_value(experts).shape;
    demand(x.size() == 3 && e.size() == 3 && x[0] == e[0] && x[1] == e[1] && count > 0 && capacity > 0, "moe_dispatch",
           "tokens " + text_of(x) + " and experts " + text_of(e) + " with " + std::to_string(capacity) + " slots in " +
               std::to_string(count) + " experts do not match, expected [G, S, D] and [G, S, k]");
    return apply("moe_dispatch", {tokens, experts}, {{{count, x[0], capacity, x[2]}, of_value(tokens).type}});
  }
  /// The sum of a token's slots, each times its weight [G, S, k]; a dropped one counts as zero.
  value moe_combine(value slots, value experts, value weights) {
    return apply("moe_combine", {slots, experts, weights}, {combined(slots, experts)});
  }
  /// The same with weights of one: also the gradient of `moe_dispatch`.
  value moe_combine(value slots, value experts) {
    return apply("moe_combine", {slots, experts}, {combined(slots, experts)});
  }
  /// Gives a tuple: the gradients of slots and of weights.
  value moe_combine_backward(value gradient, value slots, value experts, value weights) {
    return apply("moe_combine_backward", {gradient, slots, experts, weights}, {fresh(slots), fresh(weights)});
  }

 protected:
  [[nodiscard]] tensor fresh(value like) const { return {of_value(like).shape, of_value(like).type}; }
  void demand(bool holds, std::string_view op, const std::string& what) const {
    if (!holds) refuse(error_category::input, next_name(op) + ": " + what);
  }

 private:
  [[nodiscard]] std::size_t dim_of(std::string_view op, value x, std::int64_t dim) const {
    const shape_vector dims{dim};
    return static_cast<std::size_t>(normalized_dims(next_name(op), of_value(x).shape, dims).front());
  }
  value along(const char* op, const std::vector<value>& inputs, std::int64_t dim) {
    const std::size_t d = dim_of(op, inputs.front(), dim);
    return apply(op, inputs, {fresh(inputs.front())}, {.dims = {static_cast<std::int64_t>(d)}});
  }
  /// Equal extents in all dimensions but d.
  void demand_alike(std::string_view op, const shape_vector& shape, value indices, std::size_t d) const {
    const shape_vector& by = of_value(indices).shape;
    bool alike = by.size() == shape.size();
    for (std::size_t k = 0; alike && k < by.size(); ++k) alike = k == d || by[k] == shape[k];
    demand(alike, op, "indices " + text_of(by) + " do not fit " + text_of(shape));
  }
  [[nodiscard]] tensor combined(value slots, value experts) const {
    const shape_vector& y = of_value(slots).shape;
    const shape_vector& e = of_value(experts).shape;
    demand(y.size() == 4 && e.size() == 3 && y[1] == e[0], "moe_combine",
           "slots " + text_of(y) + " and experts " + text_of(e) + " do not match, expected [E, G, C, D] and [G, S, k]");
    return {{e[0], e[1], y[3]}, of_value(slots).type};
  }
};

}  // namespace shardweave::inline v0
