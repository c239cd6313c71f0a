#pragma once

#include <shardweave/spmd/computation.hpp>

#include <models/arrays.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Fused norms, the loss, and mixtures of experts, number by number.
namespace interpreter {

/// Norms over the last dimension: x, weight [, bias] -> y [, mean], 1 / root mean square.
inline std::vector<array> norm(const array& x, const array& weight, const array* bias, bool centred, double eps) {
  const std::size_t width = weight.data.size();
  indices outer(x.shape.begin(), x.shape.end() - 1);
  array y = zeros(x.shape), means = zeros(outer), inverses = zeros(outer);
  for (std::size_t row = 0; row < means.data.size(); ++row) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x.data[row * width + i].real() / static_cast<double>(width);
    if (!centred) mean = 0;
    for (std::size_t i = 0; i < width; ++i)
      square += std::pow(x.data[row * width + i].real() - mean, 2) / static_cast<double>(width);
    means.data[row] = mean;
    inverses.data[row] = 1 / std::sqrt(square + eps);
    for (std::size_t i = 0; i < width; ++i)
      y.data[row * width + i] = (x.data[row * width + i] - mean) * inverses.data[row] * weight.data[i] +
                                (bias != nullptr ? bias->data[i] : 0.0);
  }
  if (!centred) return {std::move(y), std::move(inverses)};
  return {std::move(y), std::move(means), std::move(inverses)};
}

/// g, x, weight [, mean], inverse -> dx, dweight [, dbias]. The width is that of the weight, as rows may be few.
inline std::vector<array> norm_backward(const array& g, const array& x, const array& weight, const array* means,
                                        const array& inverses) {
  const std::size_t width = weight.data.size();
  const auto n = static_cast<double>(width);
  array dx = zeros(x.shape), dw = zeros(weight.shape), db = zeros(weight.shape);
  for (std::size_t row = 0; row < inverses.data.size(); ++row) {
    const double mean = means != nullptr ? means->data[row].real() : 0;
    const double r = inverses.data[row].real();
    double along = 0, sum = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double xi = (x.data[row * width + i].real() - mean) * r;
      const double gi = g.data[row * width + i].real();
      along += gi * weight.data[i].real() * xi / n;
      sum += gi * weight.data[i].real() / n;
      dw.data[i] += gi * xi;
      db.data[i] += gi;
    }
    for (std::size_t i = 0; i < width; ++i) {
      const double xi = (x.data[row * width + i].real() - mean) * r;
      dx.data[row * width + i] = r * (g.data[row * width + i] * weight.data[i] - xi * along - (means ? sum : 0.0));
    }
  }
  if (means == nullptr) return {std::move(dx), std::move(dw)};
  return {std::move(dx), std::move(dw), std::move(db)};
}

/// logits [..., C], class [...] -> loss [...], log-sum-exp [...].
inline std::vector<array> cross_entropy(const array& logits, const array& classes) {
  const auto c = static_cast<std::size_t>(logits.shape.back());
  array loss = zeros(classes.shape), sums = zeros(classes.shape);
  for (std::size_t row = 0; row < loss.data.size(); ++row) {
    double total = 0;
    for (std::size_t i = 0; i < c; ++i) total += std::exp(logits.data[row * c + i].real());
    sums.data[row] = std::log(total);
    loss.data[row] = sums.data[row] - logits.data[row * c + static_cast<std::size_t>(classes.data[row].real())];
  }
  return {std::move(loss), std::move(sums)};
}
inline array cross_entropy_backward(const array& g, const array& logits, const array& classes, const array& sums) {
  const auto c = static_cast<std::size_t>(logits.shape.back());
  array d = zeros(logits.shape);
  for (std::size_t row = 0; row < g.data.size(); ++row)
    for (std::size_t i = 0; i < c; ++i)
      d.data[row * c + i] = g.data[row] * (std::exp(logits.data[row * c + i] - sums.data[row]) -
                                           (static_cast<double>(i) == classes.data[row].real() ? 1.0 : 0.0));
  return d;
}

/// Calls f(expert, group, slot, place, choice) for every choice that finds room: in each group the slots of an expert
/// are taken in the order of places, then of choices. Experts that are out of range are held elsewhere.
template <class F>
void each_slot(const array& experts, std::int64_t count, std::int64_t capacity, F f) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> taken;
  each(experts.shape, [&](const indices& at) {
    const auto expert = static_cast<std::int64_t>(experts.data[offset(experts, at)].real());
    const std::int64_t slot = taken[{at[0], expert}]++;
    if (slot < capacity && expert < count) f(expert, at[0], slot, at[1], at[2]);
  });
}

/// False for an operator that is none of these.
inline bool training_operator(const shardweave::operation& op, const std::vector<const array*>& in,
                              std::vector<array>& results) {
  const auto moe = [&](const indices& slots, std::size_t experts, auto f) {
    each_slot(*in[experts], slots[0], slots[2], [&](auto e, auto g, auto c, auto s, auto k) {
      for (std::int64_t d = 0; d < slots[3]; ++d) f(indices{e, g, c, d}, indices{g, s, d}, indices{g, s, k});
    });
  };
  if (op.op == "rms_norm" || op.op == "layer_norm") {
    results = norm(*in[0], *in[1], in.size() > 2 ? in[2] : nullptr, op.op == "layer_norm", op.with.scalar);
  } else if (op.op == "rms_norm_backward") {
    results = norm_backward(*in[0], *in[1], *in[2], nullptr, *in[3]);
  } else if (op.op == "layer_norm_backward") {
    results = norm_backward(*in[0], *in[1], *in[2], in[3], *in[4]);
  } else if (op.op == "cross_entropy") {
    results = cross_entropy(*in[0], *in[1]);
  } else if (op.op == "cross_entropy_backward") {
    results = {cross_entropy_backward(*in[0], *in[1], *in[2], *in[3])};
  } else if (op.op == "moe_dispatch") {
    array slots = zeros(op.outputs[0].shape);
    moe(slots.shape, 1, [&](const indices& slot, const indices& token, const indices&) {
      slots.data[offset(slots, slot)] = in[0]->data[offset(*in[0], token)];
    });
    results = {std::move(slots)};
  } else if (op.op == "moe_combine") {
    array out = zeros(op.outputs[0].shape);
    moe(in[0]->shape, 1, [&](const indices& slot, const indices& token, const indices& choice) {
      const number weight = in.size() > 2 ? in[2]->data[offset(*in[2], choice)] : 1.0;
      out.data[offset(out, token)] += weight * in[0]->data[offset(*in[0], slot)];
    });
    results = {std::move(out)};
  } else if (op.op == "moe_combine_backward") {
    array slots = zeros(op.outputs[0].shape), weights = zeros(op.outputs[1].shape);
    moe(slots.shape, 2, [&](const indices& slot, const indices& token, const indices& choice) {
      const number g = in[0]->data[offset(*in[0], token)];
      slots.data[offset(slots, slot)] = in[3]->data[offset(*in[3], choice)] * g;
      weights.data[offset(weights, choice)] += g * in[1]->data[offset(*in[1], slot)];
    });
    results = {std::move(slots), std::move(weights)};
  } else {
    return false;
  }
  return true;
}

}  // namespace interpreter
