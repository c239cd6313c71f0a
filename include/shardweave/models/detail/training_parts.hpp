#pragma once

#include <shardweave/models/graph_builder.hpp>

#include <optional>
#include <string>
#include <utility>

/// \file
/// Norm and linear map of mixed-precision training, forward and backward, as most models have them.

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

  explicit training_parts(std::string name) : b_(std::move(name)) {}

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

  graph_builder b_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
