#pragma once

#include <shardweave/models/backward_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama_config.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// \file
/// Norm, linear map, attention, gated feed-forward and rotation of mixed-precision training, as most models have them.

namespace shardweave::inline v0::detail {

/// Parameters are f32 and computed with in bf16. Gradients of norms and of silu are those of frameworks, which write
/// them for the whole and not for its operations.
class training_parts {
 public:
  using value = graph_builder::value;

  struct feed_weights {
    value w1, w2, w3;
  };

  explicit training_parts(std::string name) : b_(std::move(name)) {}

  [[nodiscard]] graph_builder& builder() { return b_; }

  graph_builder& in(const std::string& group) {
    b_.group(group);
    return b_;
  }
  value weight(const std::string& name, shape_vector shape, const std::string& prefix = "") {
    return in(name).parameter(prefix + name, {std::move(shape), dtype::f32});
  }
  /// Of a feed-forward from `d` to `width` and back. Groups are w1, w2, w3 after `prefix`; w3 with a gate alone.
  feed_weights feed_weights_of(std::int64_t d, std::int64_t width, const std::string& at,
                               const std::string& prefix = "", bool gated = true) {
    feed_weights w{weight(prefix + "w1", {width, d}, at), weight(prefix + "w2", {d, width}, at), {}};
    if (gated) w.w3 = weight(prefix + "w3", {width, d}, at);
    return w;
  }

  /// y = x / sqrt(mean(x^2) + eps) * w, over the last dimension, in f32.
  value normalize(const std::string& group, value weight, value x, double eps) {
    const value w = in(group).cast(weight, dtype::bf16);
    const value x32 = b_.conv(x, dtype::f32);
    const value mean = b_.mean(b_.pow(x32, 2), {-1}, true);
    const value r = b_.rsqrt(b_.add_scalar(mean, eps));
    const value y = b_.conv(b_.mul(b_.mul(x32, r), w), dtype::bf16);
    b_.with_gradient(y, [x, w, r](backward_pass& p) {
      graph_builder& b = p.builder();
      const value g32 = b.conv(p.gradient(), dtype::f32);
      const value again = b.conv(x, dtype::f32);  // not kept, as it is cheap
      const value gw = b.mul(g32, b.conv(w, dtype::f32));
      const value xr = b.mul(again, r);
      const value along = b.sum(b.mul(xr, gw), {-1}, true);
      const value part = b.mul(b.div_scalar(xr, static_cast<double>(b.of_value(x).shape.back())), along);
      const value dx = b.mul(b.sub(gw, part), r);
      shape_vector others;
      for (std::size_t d = 0; d + 1 < b.of_value(x).shape.size(); ++d) others.push_back(static_cast<std::int64_t>(d));
      const value dw = b.sum(b.mul(g32, xr), others);
      const value narrow_dx = b.conv(dx, dtype::bf16);
      const value narrow_dw = b.conv(dw, dtype::bf16);
      p.give(x, narrow_dx);
      p.give(w, narrow_dw);
    });
    return y;
  }

  /// A weight [out, in] as it is computed with.
  value transposed(const std::string& group, value weight) {
    return b_.permute(in(group).cast(weight, dtype::bf16), {1, 0});
  }
  value project(const std::string& group, value weight, value x) {
    const value t = transposed(group, weight);
    return b_.einsum("bsk,kn->bsn", {x, t});
  }

  /// Causal attention over [batch, head, position, width].
  value attend(value q, value k, value v) {
    const value all = b_.sdpa(q, k, v);
    const value out = b_.getitem(all, 0);
    for (const std::int64_t kept : {1, 2, 3}) (void)b_.getitem(all, kept);  // for the backward pass
    return out;
  }

  /// The same by its parts.
  /// \param mask  [position, position]: added to the scores, very negative where they are hidden
  value attend_plainly(value q, value k, value v, value mask) {
    const shape_vector heads = b_.of_value(q).shape, key_heads = b_.of_value(k).shape;
    const std::int64_t share = heads[1] / key_heads[1];
    const value by_key = b_.view(q, {heads[0], key_heads[1], share, heads[2], heads[3]});
    const value scores = b_.conv(b_.einsum("bgrqd,bgkd->bgrqk", {by_key, k}), dtype::f32);
    const value scaled = b_.mul_scalar(scores, 1 / std::sqrt(static_cast<double>(heads[3])));
    const value shares = b_.conv(b_.softmax(b_.add(scaled, mask), -1), dtype::bf16);
    return b_.view(b_.einsum("bgrqk,bgkd->bgrqd", {shares, v}), heads);
  }

  /// silu(u) = u / (1 + exp(-u)) in f32.
  value silu(value u) {
    const value u32 = b_.conv(u, dtype::f32);
    const value s = b_.conv(b_.div(u32, b_.add_scalar(b_.exp(b_.neg(u32)), 1)), dtype::bf16);
    b_.with_gradient(s, [u](backward_pass& p) {
      graph_builder& b = p.builder();
      const value g32 = b.conv(p.gradient(), dtype::f32);
      const value again = b.conv(u, dtype::f32);
      const value sigma = b.mul_scalar(b.reciprocal(b.add_scalar(b.exp(b.neg(again)), 1)), 1);
      const value scaled = b.mul(g32, sigma);
      const value slope = b.add_scalar(b.mul(again, b.rsub_scalar(sigma, 1)), 1);
      p.give(u, b.conv(b.mul(scaled, slope), dtype::bf16));
    });
    return s;
  }

  /// w2 (silu(w1 y) * (w3 y)). Groups are w1, w2, w3 after `prefix`.
  value feed(const feed_weights& w, value y, const std::string& prefix = "") {
    const value u = project(prefix + "w1", w.w1, y);
    b_.group("silu");
    const value s = silu(u);
    const value gate = project(prefix + "w3", w.w3, y);
    const value z = in("silu").mul(s, gate);
    return project(prefix + "w2", w.w2, z);
  }

  /// w2 gelu(w1 y), or w2 relu(w1 y)^2. Groups are w1, activation, w2.
  value plain_feed(const feed_weights& w, value y, bool squared_relu) {
    const value u = project("w1", w.w1, y);
    b_.group("activation");
    const tensor like = b_.of_value(u);
    value a;
    if (squared_relu) {
      const value r = b_.apply("relu", {u}, {like});
      a = b_.mul(r, r);
      b_.with_gradient(a, [u, like](backward_pass& p) {
        graph_builder& b = p.builder();
        p.give(u, b.mul(p.gradient(), b.mul_scalar(b.apply("relu", {u}, {like}), 2)));
      });
    } else {
      a = b_.apply("gelu", {u}, {like});
      b_.with_gradient(a, [u, like](backward_pass& p) {
        p.give(u, p.builder().apply("gelu_backward", {p.gradient(), u}, {like}));
      });
    }
    return project("w2", w.w2, a);
  }

  /// Neighbours along the last of four dimensions, as complex numbers.
  value as_pairs(value x) {
    const shape_vector shape = b_.of_value(x).shape;
    return b_.view_as_complex(b_.view(b_.conv(x, dtype::f32), {shape[0], shape[1], shape[2], shape[3] / 2, 2}));
  }
  /// Rotation of pairs by `angles`.
  value turned(value pairs, value angles) {
    const value real = b_.view_as_real(b_.mul(pairs, angles));
    const shape_vector shape = b_.of_value(pairs).shape;
    return b_.conv(b_.view(real, {shape[0], shape[1], shape[2], 2 * shape[3]}), dtype::bf16);
  }

 private:
  graph_builder b_;
};

}  // namespace shardweave::inline v0::detail
