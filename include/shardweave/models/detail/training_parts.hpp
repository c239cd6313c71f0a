#pragma once

#include <shardweave/models/graph_builder.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

/// \file
/// Norm, linear map, attention, gated feed-forward and rotation of mixed-precision training, forward and backward, as
/// most models have them.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Parameters are f32 and computed with in bf16. A forward part leaves behind what its backward part needs.
class training_parts {
 protected:
  using value = graph_builder::value;
  struct norm {
    value weight, x, cast_weight, inverse, y;
  };
  struct linear {
    value weight, x, transposed;
  };

  struct feed_weights {
    value w1, w2, w3;
  };
  struct feed_forward {
    value u, s, gate;
    linear w1, w2, w3;
  };

  struct attention_core {
    value q, k, v, out, sums, seed, offset;
  };

  explicit training_parts(std::string name) : b_(std::move(name)) {}

  value weight(const std::string& name, shape_vector shape, const std::string& prefix = "") {
    return b_.group(name).parameter(prefix + name, {std::move(shape), dtype::f32});
  }
  /// Of a gated feed-forward from `d` to `width` and back. Groups are w1, w2, w3 after `prefix`.
  feed_weights feed_weights_of(std::int64_t d, std::int64_t width, const std::string& at,
                               const std::string& prefix = "") {
    return {weight(prefix + "w1", {width, d}, at), weight(prefix + "w2", {d, width}, at),
            weight(prefix + "w3", {width, d}, at)};
  }

  /// y = x / sqrt(mean(x^2) + eps) * w, over the last of three dimensions, in f32.
  norm normalize(const std::string& group, value weight, value x, double eps) {
    b_.group(group);
    const value w = b_.cast(weight, dtype::bf16);
    const value x32 = b_.conv(x, dtype::f32);
    const value mean = b_.mean(b_.pow(x32, 2), {-1}, true);
    const value r = b_.rsqrt(b_.add_scalar(mean, eps));
    const value y = b_.conv(b_.mul(b_.mul(x32, r), w), dtype::bf16);
    return {weight, x, w, r, y};
  }
  value normalize_backward(const std::string& group, const norm& n, value dy, std::optional<value> residual = {}) {
    b_.group(group);
    const value g32 = b_.conv(dy, dtype::f32);
    const value x32 = b_.conv(n.x, dtype::f32);
    const value gw = b_.mul(g32, b_.conv(n.cast_weight, dtype::f32));
    const value xr = b_.mul(x32, n.inverse);
    const value along = b_.sum(b_.mul(xr, gw), {-1}, true);
    const value part = b_.mul(b_.div_scalar(xr, static_cast<double>(b_.of_value(n.x).shape.back())), along);
    const value dx32 = b_.mul(b_.sub(gw, part), n.inverse);
    const value dw32 = b_.sum(b_.mul(g32, xr), {0, 1});
    value dx = b_.conv(dx32, dtype::bf16);
    const value dw = b_.conv(dw32, dtype::bf16);
    if (residual) dx = b_.add(*residual, dx);
    b_.gradient(n.weight, b_.cast(dw, dtype::f32));
    return dx;
  }

  value project(const std::string& group, value weight, value x, linear& saved) {
    b_.group(group);
    const value t = b_.permute(b_.cast(weight, dtype::bf16), {1, 0});
    saved = {weight, x, t};
    return b_.einsum("bsk,kn->bsn", {x, t});
  }
  /// Gradients of weight and input. With `keep` the weight's gradient is left there for the caller to add up.
  value project_backward(const std::string& group, const linear& p, value g, std::optional<value>* keep = nullptr) {
    b_.group(group);
    const value dw = b_.cast(b_.permute(b_.einsum("bsn,bsk->kn", {g, p.x}), {1, 0}), dtype::f32);
    if (keep != nullptr)
      *keep = dw;
    else
      b_.gradient(p.weight, dw);
    return b_.einsum("bsn,nk->bsk", {g, b_.permute(p.transposed, {1, 0})});
  }

  /// Causal attention over [batch, head, position, width].
  attention_core attend_core(value q, value k, value v) {
    const value all = b_.sdpa(q, k, v);
    return {q, k, v, b_.getitem(all, 0), b_.getitem(all, 1), b_.getitem(all, 2), b_.getitem(all, 3)};  // in order
  }
  /// The tuple of the gradients of q, k and v.
  value attend_core_backward(const attention_core& a, value g) {
    return b_.sdpa_backward(g, a.q, a.k, a.v, a.out, a.sums, a.seed, a.offset);
  }

  /// silu(u) = u / (1 + exp(-u)) in f32.
  value silu(value u) {
    const value u32 = b_.conv(u, dtype::f32);
    return b_.conv(b_.div(u32, b_.add_scalar(b_.exp(b_.neg(u32)), 1)), dtype::bf16);
  }
  value silu_backward(value u, value ds) {
    const value ds32 = b_.conv(ds, dtype::f32);
    const value u32 = b_.conv(u, dtype::f32);
    const value sigma = b_.mul_scalar(b_.reciprocal(b_.add_scalar(b_.exp(b_.neg(u32)), 1)), 1);
    const value scaled = b_.mul(ds32, sigma);
    const value slope = b_.add_scalar(b_.mul(u32, b_.rsub_scalar(sigma, 1)), 1);
    return b_.conv(b_.mul(scaled, slope), dtype::bf16);
  }

  /// w2 (silu(w1 y) * (w3 y)). Groups are w1, w2, w3 after `prefix`.
  feed_forward feed(const feed_weights& w, value y, value& out, const std::string& prefix = "") {
    feed_forward f;
    f.u = project(prefix + "w1", w.w1, y, f.w1);
    b_.group("silu");
    f.s = silu(f.u);
    f.gate = project(prefix + "w3", w.w3, y, f.w3);
    b_.group("silu");
    const value z = b_.mul(f.s, f.gate);
    out = project(prefix + "w2", w.w2, z, f.w2);
    return f;
  }
  value feed_backward(const feed_forward& f, value g, const std::string& prefix = "") {
    const value dz = project_backward(prefix + "w2", f.w2, g);
    b_.group("silu");
    const value dgate = b_.mul(dz, f.s);
    const value ds = b_.mul(dz, f.gate);
    const value from_gate = project_backward(prefix + "w3", f.w3, dgate);
    b_.group("silu");
    const value du = silu_backward(f.u, ds);
    const value from_u = project_backward(prefix + "w1", f.w1, du);
    return b_.add(from_gate, from_u);
  }

  /// Neighbours along the last of four dimensions, as complex numbers.
  value as_pairs(value x) {
    const shape_vector shape = b_.of_value(x).shape;
    return b_.view_as_complex(b_.view(b_.conv(x, dtype::f32), {shape[0], shape[1], shape[2], shape[3] / 2, 2}));
  }
  value from_pairs(value x) {
    const shape_vector shape = b_.of_value(x).shape;
    return b_.view(b_.view_as_real(x), {shape[0], shape[1], shape[2], 2 * shape[3]});
  }
  /// Rotation of pairs by `angles`.
  value turned(value pairs, value angles) { return b_.conv(from_pairs(b_.mul(pairs, angles)), dtype::bf16); }
  /// Gradient of a rotation by `angles`: back by as much.
  value turned_back(value x, value angles) {
    const value pairs = as_pairs(x);
    return turned(pairs, b_.clone(b_.conj(angles)));
  }

  graph_builder b_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
