#pragma once

#include <shardweave/spmd/computation.hpp>

#include <models/arrays.hpp>
#include <models/convolutions.hpp>
#include <models/indexing.hpp>
#include <models/line_operators.hpp>
#include <models/training_operators.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Executes a computation on one device, number by number, in double precision but for conversions to whole numbers:
/// what the graph means, written without regard to speed.
namespace interpreter {

inline array einsum(const std::string& equation, const std::vector<const array*>& in, const indices& out_shape) {
  const std::size_t arrow = equation.find("->");
  const std::string of_out = equation.substr(arrow + 2);
  std::vector<std::string> of;
  std::map<char, std::int64_t> extent;
  for (std::size_t at = 0; at < arrow;) {
    const std::size_t end = std::min(equation.find(',', at), arrow);
    of.push_back(equation.substr(at, end - at));
    for (std::size_t d = 0; d < of.back().size(); ++d) extent[of.back()[d]] = in[of.size() - 1]->shape[d];
    at = end + 1;
  }
  std::string letters;
  indices all;
  for (const auto& [letter, size] : extent) {
    letters += letter;
    all.push_back(size);
  }
  array out = zeros(out_shape);
  // how far a step along each letter goes in an argument, and in the result
  const auto steps_of = [&](const std::string& which, const array& a) {
    std::vector<std::size_t> steps(letters.size());
    std::size_t step = 1;
    for (std::size_t d = which.size(); d-- > 0; step *= static_cast<std::size_t>(a.shape[d]))
      steps[letters.find(which[d])] += a.shape[d] == 1 ? 0 : step;
    return steps;
  };
  std::vector<std::vector<std::size_t>> steps;
  for (std::size_t a = 0; a < in.size(); ++a) steps.push_back(steps_of(of[a], *in[a]));
  steps.push_back(steps_of(of_out, out));
  std::vector<std::size_t> places(steps.size());
  each(all, [&](const indices& at) {
    for (std::size_t a = 0; a < steps.size(); ++a) {
      places[a] = 0;
      for (std::size_t l = 0; l < at.size(); ++l) places[a] += static_cast<std::size_t>(at[l]) * steps[a][l];
    }
    number product = 1;
    for (std::size_t a = 0; a < in.size(); ++a) product *= in[a]->data[places[a]];
    out.data[places.back()] += product;
  });
  return out;
}

/// Probabilities of attention: [B, H, S, S], and their log-sum-exp [B, H, S]. Without a mask it is causal; a mask is
/// added.
inline std::pair<array, array> attention_probabilities(const array& q, const array& k, const array* mask) {
  const std::int64_t share = q.shape[1] / k.shape[1];
  const double scale = 1 / std::sqrt(static_cast<double>(q.shape[3]));
  array p = zeros({q.shape[0], q.shape[1], q.shape[2], k.shape[2]});
  array sums = zeros({q.shape[0], q.shape[1], q.shape[2]});
  each(sums.shape, [&](const indices& at) {
    double total = 0;
    const std::int64_t last = mask == nullptr ? at[2] : k.shape[2] - 1;
    for (std::int64_t t = 0; t <= last; ++t) {
      double dot = 0;
      for (std::int64_t c = 0; c < q.shape[3]; ++c)
        dot += (q.data[offset(q, {at[0], at[1], at[2], c})] * k.data[offset(k, {at[0], at[1] / share, t, c})]).real();
      dot *= scale;
      if (mask != nullptr) dot += mask->data[offset(*mask, {at[0], at[1], at[2], t})].real();
      p.data[offset(p, {at[0], at[1], at[2], t})] = std::exp(dot);
      total += std::exp(dot);
    }
    for (std::int64_t t = 0; t <= last; ++t) p.data[offset(p, {at[0], at[1], at[2], t})] /= total;
    sums.data[offset(sums, at)] = std::log(total);
  });
  return {std::move(p), std::move(sums)};
}

inline std::vector<array> sdpa(const array& q, const array& k, const array& v, const array* mask) {
  auto [p, sums] = attention_probabilities(q, k, mask);
  const std::int64_t share = q.shape[1] / k.shape[1];
  array out = zeros({q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
  each(p.shape, [&](const indices& at) {
    for (std::int64_t c = 0; c < v.shape[3]; ++c)
      out.data[offset(out, {at[0], at[1], at[2], c})] +=
          p.data[offset(p, at)] * v.data[offset(v, {at[0], at[1] / share, at[3], c})];
  });
  return {std::move(out), std::move(sums), zeros({2}), zeros({})};
}

/// dV = P' dO, dS = P * (dO V' - sum(dO * O)), dQ = dS K, dK = dS' Q, scaled.
inline std::vector<array> sdpa_backward(const array& go, const array& q, const array& k, const array& v,
                                        const array& out, const array* mask) {
  const array p = attention_probabilities(q, k, mask).first;
  const std::int64_t share = q.shape[1] / k.shape[1];
  const double scale = 1 / std::sqrt(static_cast<double>(q.shape[3]));
  std::vector<array> d{zeros(q.shape), zeros(k.shape), zeros(v.shape)};
  each(p.shape, [&](const indices& at) {
    const number weight = p.data[offset(p, at)];
    number slope = 0;
    for (std::int64_t c = 0; c < v.shape[3]; ++c) {
      const indices row{at[0], at[1], at[2], c};
      const indices key{at[0], at[1] / share, at[3], c};
      slope += go.data[offset(go, row)] * (v.data[offset(v, key)] - out.data[offset(out, row)]);
      d[2].data[offset(v, key)] += weight * go.data[offset(go, row)];
    }
    for (std::int64_t c = 0; c < q.shape[3]; ++c) {
      const indices row{at[0], at[1], at[2], c};
      const indices key{at[0], at[1] / share, at[3], c};
      d[0].data[offset(q, row)] += weight * slope * scale * k.data[offset(k, key)];
      d[1].data[offset(k, key)] += weight * slope * scale * q.data[offset(q, row)];
    }
  });
  return d;
}

/// Products, the number of the first largest or least, and their like over `dims`, or over all.
inline array whole_reduction(const shardweave::operation& op, const array& x) {
  indices kept = x.shape;
  for (std::size_t d = 0; d < kept.size(); ++d)
    if (op.with.dims.empty() || std::ranges::find(op.with.dims, static_cast<std::int64_t>(d)) != op.with.dims.end())
      kept[d] = 1;
  array found = zeros(kept), best = zeros(kept), seen = zeros(kept);
  each(x.shape, [&](const indices& at) {
    const std::size_t place = offset(found, at);
    const number value = x.data[offset(x, at)];
    const bool is_first = seen.data[place] == 0.0;
    number& so_far = found.data[place];
    if (op.op == "prod") {
      so_far = is_first ? value : so_far * value;
    } else if (op.op == "any" || op.op == "all") {
      const bool is_true = value != 0.0, before = so_far != 0.0;
      so_far = is_first ? is_true : op.op == "any" ? before || is_true : before && is_true;
    } else if (op.op == "logsumexp") {
      so_far = is_first ? value : std::log(std::exp(so_far) + std::exp(value));
    } else {
      const double sign = op.op == "argmax" ? 1 : -1;
      if (is_first || sign * value.real() > sign * best.data[place].real()) {
        best.data[place] = value;
        so_far = seen.data[place];
      }
    }
    seen.data[place] += 1.0;
  });
  found.shape = op.outputs.front().shape;
  return found;
}

/// The value of every operation (of a tuple: its elements), given those of the sources by name.
inline std::vector<std::vector<array>> run(const shardweave::computation& graph,
                                           const std::map<std::string, array>& sources) {
  std::vector<std::vector<array>> values(graph.operations.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const shardweave::operation& op = graph.operations[i];
    if (op.op == "output") continue;
    const auto in = [&](std::size_t slot) -> const array& { return values[op.inputs.at(slot)].front(); };
    std::vector<const array*> inputs;
    for (const std::uint32_t input : op.inputs) inputs.push_back(&values[input].front());
    const indices shape = op.outputs.front().shape;
    array out = zeros(shape);
    const auto unary = [&](auto f) { std::ranges::transform(in(0).data, out.data.begin(), f); };
    const auto binary = [&](auto f) {
      each(shape, [&](const indices& at) {
        out.data[offset(out, at)] = f(in(0).data[offset(in(0), at)], in(1).data[offset(in(1), at)]);
      });
    };
    const double c = op.with.scalar;
    if (op.inputs.empty())
      out = sources.at(op.name);
    else if (op.op == "einsum")
      out = einsum(op.with.equation, inputs, shape);
    else if (op.op == "add")
      binary([](number a, number b) { return a + b; });
    else if (op.op == "sub")
      binary([](number a, number b) { return a - b; });
    else if (op.op == "mul")
      binary([](number a, number b) { return a * b; });
    else if (op.op == "div")
      binary([](number a, number b) { return a / b; });
    else if (op.op == "maximum")
      binary([](number a, number b) { return std::max(a.real(), b.real()); });
    else if (op.op == "minimum")
      binary([](number a, number b) { return std::min(a.real(), b.real()); });
    else if (op.op == "where")
      each(shape, [&](const indices& at) {
        const array& from = in(0).data[offset(in(0), at)] != 0.0 ? in(1) : in(2);
        out.data[offset(out, at)] = from.data[offset(from, at)];
      });
    else if (op.op == "neg")
      unary([](number a) { return -a; });
    else if (op.op == "exp")
      unary([](number a) { return std::exp(a); });
    else if (op.op == "rsqrt")
      unary([](number a) { return 1.0 / std::sqrt(a); });
    else if (op.op == "reciprocal")
      unary([](number a) { return 1.0 / a; });
    else if (op.op == "conj")
      unary([](number a) { return std::conj(a); });
    else if (op.op == "log")
      unary([](number a) { return std::log(a); });
    else if (op.op == "sqrt")
      unary([](number a) { return std::sqrt(a); });
    else if (op.op == "abs")
      unary([](number a) { return std::abs(a); });
    else if (op.op == "tanh")
      unary([](number a) { return std::tanh(a.real()); });
    else if (op.op == "relu")
      unary([](number a) { return std::max(0.0, a.real()); });
    else if (op.op == "sigmoid")
      unary([](number a) { return 1.0 / (1.0 + std::exp(-a)); });
    else if (op.op == "silu")
      unary([](number a) { return a / (1.0 + std::exp(-a)); });
    else if (op.op == "gelu")
      unary([](number a) { return a.real() / 2 * (1 + std::erf(a.real() / std::sqrt(2.0))); });
    else if (op.op == "gelu_backward")
      binary([](number g, number a) {
        const double x = a.real(), root = std::sqrt(2.0);
        return g * ((1 + std::erf(x / root)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0)));
      });
    else if (op.op == "pow")
      unary([&](number a) { return c == 2 ? a * a : std::pow(a, c); });
    else if (op.op == "add_scalar")
      unary([&](number a) { return a + c; });
    else if (op.op == "mul_scalar")
      unary([&](number a) { return a * c; });
    else if (op.op == "div_scalar")
      unary([&](number a) { return a / c; });
    else if (op.op == "rsub_scalar")
      unary([&](number a) { return c - a; });
    else if ((op.op == "conv" || op.op == "cast") && op.outputs[0].type == shardweave::dtype::boolean)
      unary([](number a) { return a == 0.0 ? 0.0 : 1.0; });
    else if ((op.op == "conv" || op.op == "cast") && op.outputs[0].type == shardweave::dtype::i64)
      unary([](number a) { return std::trunc(a.real()); });
    else if (op.op == "conv" || op.op == "cast" || op.op == "quantize" || op.op == "clone" || op.op == "alias" ||
             op.op == "view")
      out.data = in(0).data;
    else if (op.op == "permute") {
      each(shape, [&](const indices& at) {
        indices from(at.size());
        for (std::size_t d = 0; d < at.size(); ++d) from[static_cast<std::size_t>(op.with.dims[d])] = at[d];
        out.data[offset(out, at)] = in(0).data[offset(in(0), from)];
      });
    } else if (op.op == "expand") {
      each(shape, [&](const indices& at) { out.data[offset(out, at)] = in(0).data[offset(in(0), at)]; });
    } else if (op.op == "amax" || op.op == "amin") {
      const double sign = op.op == "amax" ? 1 : -1;
      indices kept = in(0).shape;
      for (const std::int64_t d : op.with.dims) kept[static_cast<std::size_t>(d)] = 1;
      array found = zeros(kept);
      std::ranges::fill(found.data, -sign * std::numeric_limits<double>::infinity());
      each(in(0).shape, [&](const indices& at) {
        number& so_far = found.data[offset(found, at)];
        so_far = sign * std::max(sign * so_far.real(), sign * in(0).data[offset(in(0), at)].real());
      });
      out.data = found.data;
    } else if (op.op == "sum" || op.op == "mean") {
      indices kept = in(0).shape;
      for (const std::int64_t d : op.with.dims) kept[static_cast<std::size_t>(d)] = 1;
      array sums = zeros(kept);
      each(in(0).shape, [&](const indices& at) { sums.data[offset(sums, at)] += in(0).data[offset(in(0), at)]; });
      out.data = sums.data;
      const auto terms = static_cast<double>(in(0).data.size()) / static_cast<double>(out.data.size());
      if (op.op == "mean")
        for (number& x : out.data) x /= terms;
    } else if (op.op == "view_as_complex") {
      for (std::size_t e = 0; e < out.data.size(); ++e)
        out.data[e] = {in(0).data[2 * e].real(), in(0).data[2 * e + 1].real()};
    } else if (op.op == "view_as_real") {
      for (std::size_t e = 0; e < in(0).data.size(); ++e) {
        out.data[2 * e] = in(0).data[e].real();
        out.data[2 * e + 1] = in(0).data[e].imag();
      }
    } else if (op.op == "getitem") {
      out = values[op.inputs[0]].at(static_cast<std::size_t>(op.with.index));
    } else if (op.op == "embedding" || op.op == "embedding_backward") {
      const auto width = static_cast<std::size_t>(shape.back());
      for (std::size_t t = 0; t < in(1).data.size(); ++t) {
        const auto row = static_cast<std::size_t>(in(1).data[t].real());
        if (row >= static_cast<std::size_t>((op.op == "embedding" ? in(0).shape : shape)[0]))
          continue;  // held elsewhere
        for (std::size_t d = 0; d < width; ++d)
          if (op.op == "embedding")
            out.data[t * width + d] = in(0).data[row * width + d];
          else
            out.data[row * width + d] += in(0).data[t * width + d];
      }
    } else if (op.op == "sdpa") {
      values[i] = sdpa(in(0), in(1), in(2), inputs.size() > 3 ? inputs.back() : nullptr);
    } else if (op.op == "sdpa_backward") {  // behind the log-sum-exp random state, or a mask, or both
      const bool has_mask = inputs.size() > 6 && inputs.back()->shape.size() > 1;
      values[i] = sdpa_backward(in(0), in(1), in(2), in(3), in(4), has_mask ? inputs.back() : nullptr);
    } else if (op.op == "prod" || op.op == "any" || op.op == "all" || op.op == "argmax" || op.op == "argmin" ||
               op.op == "logsumexp") {
      values[i] = {whole_reduction(op, in(0))};
    } else if (indexing_operator(op, inputs, values[i]) || picture_operator(op, inputs, values[i]) ||
               line_operator(op, inputs, values[i]) || training_operator(op, inputs, values[i])) {
    } else {
      throw std::runtime_error("the interpreter does not know " + op.op);
    }
    if (values[i].empty()) values[i].push_back(std::move(out));
    for (std::size_t e = 0; e < op.outputs.size(); ++e)
      if (values[i].at(e).shape != op.outputs[e].shape)
        throw std::runtime_error(op.name + " has another shape than the graph says");
  }
  return values;
}

}  // namespace interpreter
