#pragma once

#include <shardweave/models/fused_operations.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The operations of training graphs, with their shapes inferred: how a host describes its own model.

namespace shardweave::inline v0 {

/// A graph writer that knows the operations for which the library has placement rules.
///
/// ```
/// graph_builder b("two layers");
/// const auto x = b.input("x", {{64, 512}, dtype::bf16});
/// const auto w = b.group("w1").parameter("w1", {{512, 2048}, dtype::bf16});
/// b.result(b.einsum("bk,kn->bn", {x, w}));
/// const computation graph = joint_graph(std::move(b));  // with the backward half; insert_aliases(b.finish()): without
/// ```
class graph_builder : public fused_operations {
 public:
  using fused_operations::fused_operations;

  // Contractions and attention
  value einsum(const std::string& equation, const std::vector<value>& operands) {
    const std::string who = next_name("einsum");
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
  /// Causal attention of q [B, H, S, h] on k [B, KV, S, h] and v [B, KV, S, h'], where H is a multiple of KV.
  /// Gives a tuple: output [B, H, S, h'], log-sum-exp [B, H, S], and two elements of random state.
  value sdpa(value q, value k, value v) {
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
  /// Gives a tuple: the gradients of q, k and v.
  value sdpa_backward(value gradient, value q, value k, value v, value out, value sums, value seed, value offset) {
    return apply("sdpa_backward", {gradient, q, k, v, out, sums, seed, offset}, {fresh(q), fresh(k), fresh(v)});
  }
  value getitem(value tuple, std::int64_t index) {
    const std::vector<tensor>& elements = elements_of(tuple);
    if (index < 0 || static_cast<std::size_t>(index) >= elements.size())
      refuse(error_category::input, next_name("getitem") + ": element " + std::to_string(index) + " of a tuple of " +
                                        std::to_string(elements.size()));
    return apply("getitem", {tuple}, {elements[static_cast<std::size_t>(index)]}, {.index = index});
  }
  /// Rows of `weight` [V, D] chosen by whole numbers.
  value embedding(value weight, value indices) {
    if (of_value(weight).rank() != 2)
      refuse(error_category::input, next_name("embedding") + ": found a weight " + text_of(of_value(weight).shape) +
                                        ", expected two dimensions");
    shape_vector shape = of_value(indices).shape;
    shape.push_back(of_value(weight).shape.back());
    return apply("embedding", {weight, indices}, {{std::move(shape), of_value(weight).type}});
  }
  /// Adds up the gradients of equal rows; gives [rows, D].
  value embedding_backward(value gradient, value indices, std::int64_t rows) {
    const tensor& g = of_value(gradient);
    return apply("embedding_backward", {gradient, indices}, {{{rows, g.shape.back()}, g.type}});
  }

  // Element by element
  value add(value a, value b) { return binary("add", a, b); }
  value sub(value a, value b) { return binary("sub", a, b); }
  value mul(value a, value b) { return binary("mul", a, b); }
  value div(value a, value b) { return binary("div", a, b); }
  value maximum(value a, value b) { return binary("maximum", a, b); }
  value minimum(value a, value b) { return binary("minimum", a, b); }
  value neg(value x) { return unary("neg", x); }
  value exp(value x) { return unary("exp", x); }
  value log(value x) { return unary("log", x); }
  value sigmoid(value x) { return unary("sigmoid", x); }
  value rsqrt(value x) { return unary("rsqrt", x); }
  value reciprocal(value x) { return unary("reciprocal", x); }
  value conj(value x) { return unary("conj", x); }
  value clone(value x) { return unary("clone", x); }
  value alias(value x) { return unary("alias", x); }
  value pow(value x, double exponent) { return unary("pow", x, exponent); }
  value add_scalar(value x, double constant) { return unary("add_scalar", x, constant); }
  value mul_scalar(value x, double constant) { return unary("mul_scalar", x, constant); }
  value div_scalar(value x, double constant) { return unary("div_scalar", x, constant); }
  /// constant - x
  value rsub_scalar(value x, double constant) { return unary("rsub_scalar", x, constant); }
  /// A conversion that the model itself asks for.
  value conv(value x, dtype to) { return converted("conv", x, to, of_value(x).contiguous); }
  /// A conversion that mixed precision adds: of a parameter, or of its gradient. It writes a tensor of its own, which
  /// is contiguous.
  value cast(value x, dtype to) { return converted("cast", x, to, true); }

  // Reductions and shapes; negative dimensions count from the last
  value sum(value x, shape_vector dims, bool keep_dims = false) { return reduce("sum", x, dims, keep_dims); }
  value mean(value x, shape_vector dims, bool keep_dims = false) { return reduce("mean", x, dims, keep_dims); }
  value amax(value x, shape_vector dims, bool keep_dims = false) { return reduce("amax", x, dims, keep_dims); }
  value amin(value x, shape_vector dims, bool keep_dims = false) { return reduce("amin", x, dims, keep_dims); }
  value permute(value x, const shape_vector& dims) {
    tensor out{permuted_shape(next_name("permute"), of_value(x).shape, dims), of_value(x).type};
    out.contiguous = false;
    return apply("permute", {x}, {std::move(out)}, {.dims = dims});
  }
  value view(value x, shape_vector shape) {
    tensor out{std::move(shape), of_value(x).type};
    if (out.element_count() != of_value(x).element_count())
      refuse(error_category::input, next_name("view") + ": " + text_of(of_value(x).shape) + " cannot be seen as " +
                                        text_of(out.shape) + ", which has another number of elements");
    return apply("view", {x}, {std::move(out)});
  }
  /// Repeats extents of 1, and adds leading dimensions.
  value expand(value x, shape_vector shape) {
    const tensor& from = of_value(x);
    demand(broadcast_shape(next_name("expand"), from.shape, shape) == shape, "expand",
           text_of(from.shape) + " cannot be repeated to " + text_of(shape));
    tensor out{std::move(shape), from.type};
    out.contiguous = false;
    return apply("expand", {x}, {std::move(out)});
  }
  /// [..., 2] of f32 as [...] of c64.
  value view_as_complex(value x) {
    tensor out = of_value(x);
    if (out.shape.empty() || out.shape.back() != 2 || out.type != dtype::f32)
      refuse(error_category::input, next_name("view_as_complex") + ": found " + std::string(name_of(out.type)) + " " +
                                        text_of(out.shape) + ", expected f32 with a last extent of 2");
    out.shape.pop_back();
    out.type = dtype::c64;
    return apply("view_as_complex", {x}, {std::move(out)});
  }
  value view_as_real(value x) {
    tensor out = of_value(x);
    if (out.type != dtype::c64)
      refuse(error_category::input,
             next_name("view_as_real") + ": found " + std::string(name_of(out.type)) + ", expected c64");
    out.shape.push_back(2);
    out.type = dtype::f32;
    return apply("view_as_real", {x}, {std::move(out)});
  }

 private:
  value unary(const std::string& op, value x, double scalar = 0) {
    return apply(op, {x}, {of_value(x)}, {.scalar = scalar});
  }
  value binary(const std::string& op, value a, value b) {
    const tensor& x = of_value(a);
    const tensor& y = of_value(b);
    tensor out{broadcast_shape(next_name(op), x.shape, y.shape), promoted(x.type, y.type)};
    out.contiguous = (x.contiguous || x.shape != out.shape) && (y.contiguous || y.shape != out.shape);
    return apply(op, {a, b}, {std::move(out)});
  }
  value converted(const char* op, value x, dtype to, bool contiguous) {
    tensor out{of_value(x).shape, to, contiguous};
    return apply(op, {x}, {std::move(out)});
  }
  value reduce(const char* op, value x, const shape_vector& dims, bool keep_dims) {
    const tensor& from = of_value(x);
    shape_vector normal = normalized_dims(next_name(op), from.shape, dims);
    tensor out{reduced_shape(from.shape, normal, keep_dims), from.type};
    return apply(op, {x}, {std::move(out)}, {.dims = std::move(normal), .keep_dims = keep_dims});
  }
};

}  // namespace shardweave::inline v0
