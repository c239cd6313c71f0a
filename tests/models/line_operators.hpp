#pragma once

#include <shardweave/spmd/computation.hpp>

#include <models/arrays.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

/// Operators along one dimension, number by number.
namespace interpreter {

using line = std::vector<number>;

/// Calls f(k) for the lines of a shape along dimension d; `at(a, k)` is line k of an array, as offsets.
inline std::vector<std::size_t> line_of(const array& a, std::size_t d, std::size_t k) {
  std::size_t inner = 1;
  for (std::size_t later = d + 1; later < a.shape.size(); ++later) inner *= static_cast<std::size_t>(a.shape[later]);
  const auto length = static_cast<std::size_t>(a.shape[d]);
  std::vector<std::size_t> places(length);
  for (std::size_t i = 0; i < length; ++i) places[i] = k / inner * inner * length + i * inner + k % inner;
  return places;
}
inline std::size_t line_count(const array& a, std::size_t d) {
  return a.shape[d] == 0 ? 0 : a.data.size() / static_cast<std::size_t>(a.shape[d]);
}
inline line taken(const array& a, const std::vector<std::size_t>& places) {
  line result;
  for (const std::size_t p : places) result.push_back(a.data[p]);
  return result;
}

/// Results of one line: one per element of the result.
inline std::vector<line> of_line(const shardweave::operation& op, const line& x, const line& y, std::size_t length) {
  const auto first = static_cast<std::size_t>(op.with.index);
  line out = x;
  if (op.op == "softmax" || op.op == "log_softmax") {
    number total = 0;
    for (const number v : x) total += std::exp(v);
    for (number& v : out) v = op.op == "softmax" ? std::exp(v) / total : v - std::log(total);
  } else if (op.op == "softmax_backward") {
    number along = 0;
    for (std::size_t i = 0; i < x.size(); ++i) along += x[i] * y[i];
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = y[i] * (x[i] - along);
  } else if (op.op == "log_softmax_backward") {
    number along = 0;
    for (const number v : x) along += v;
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i] - std::exp(y[i]) * along;
  } else if (op.op == "cumsum") {
    std::partial_sum(x.begin(), x.end(), out.begin());
  } else if (op.op == "cumprod") {
    for (std::size_t i = 1; i < x.size(); ++i) out[i] = out[i - 1] * x[i];
  } else if (op.op == "flip") {
    std::ranges::reverse(out);
  } else if (op.op == "roll") {
    for (std::size_t i = 0; i < x.size(); ++i) out[(i + first) % x.size()] = x[i];
  } else if (op.op == "repeat") {
    out.clear();
    for (std::size_t i = 0; i < length; ++i) out.push_back(x[i % x.size()]);
  } else if (op.op == "slice") {
    out.assign(x.begin() + static_cast<std::ptrdiff_t>(first), x.begin() + static_cast<std::ptrdiff_t>(first + length));
  } else if (op.op == "pad") {
    out.assign(length, 0);
    std::ranges::copy(x, out.begin() + static_cast<std::ptrdiff_t>(first));
  } else if (op.op == "split") {
    std::vector<line> parts;
    auto at = x.begin();
    const auto d = static_cast<std::size_t>(op.with.dims[0]);
    for (const shardweave::tensor& t : op.outputs) {
      parts.emplace_back(at, at + static_cast<std::ptrdiff_t>(t.shape[d]));
      at += static_cast<std::ptrdiff_t>(t.shape[d]);
    }
    return parts;
  } else if (op.op == "sort" || op.op == "topk") {
    const double sign = op.op == "sort" ? 1 : -1;
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sign * x[i].real(); });
    order.resize(length);
    line numbers;
    out.clear();
    for (const std::size_t i : order) {
      out.push_back(x[i]);
      numbers.push_back(static_cast<double>(i));
    }
    return {out, numbers};
  } else {
    return {};
  }
  return {out};
}

/// False for an operator that is none of these. Numbers of elements that are out of range name none.
inline bool line_operator(const shardweave::operation& op, const std::vector<const array*>& in,
                          std::vector<array>& results) {
  if (op.op == "histogram") {
    array counts = zeros(op.outputs[0].shape);
    for (const number n : in[0]->data) counts.data[static_cast<std::size_t>(n.real())] += 1.0;
    results = {std::move(counts)};
    return true;
  }
  if (op.with.dims.size() != 1) return false;
  const auto d = static_cast<std::size_t>(op.with.dims[0]);
  std::vector<array> made;
  for (const shardweave::tensor& t : op.outputs) made.push_back(zeros(t.shape));
  if (op.op == "cat") {
    std::int64_t first = 0;
    for (const array* part : in) {
      each(part->shape, [&](const indices& at) {
        indices to = at;
        to[d] += first;
        made[0].data[offset(made[0], to)] = part->data[offset(*part, at)];
      });
      first += part->shape[d];
    }
  } else if (op.op == "gather" || op.op == "gather_backward" || op.op == "scatter" || op.op == "scatter_add") {
    const bool has_base = op.op.starts_with("scatter");
    const array& numbers = *in[1];
    if (has_base) made[0].data = in[0]->data;
    const std::int64_t length = (op.op == "gather" ? in[0]->shape : made[0].shape)[d];
    each(numbers.shape, [&](const indices& at) {
      indices there = at;
      there[d] = static_cast<std::int64_t>(numbers.data[offset(numbers, at)].real());
      if (there[d] >= length) return;
      if (op.op == "gather")
        made[0].data[offset(made[0], at)] = in[0]->data[offset(*in[0], there)];
      else if (op.op == "scatter")
        made[0].data[offset(made[0], there)] = in[2]->data[offset(*in[2], at)];
      else
        made[0].data[offset(made[0], there)] += in[has_base ? 2 : 0]->data[offset(*in[has_base ? 2 : 0], at)];
    });
  } else {
    for (std::size_t k = 0; k < line_count(*in[0], d); ++k) {
      const line second = in.size() > 1 ? taken(*in[1], line_of(*in[1], d, k)) : line{};
      const auto length = static_cast<std::size_t>(made[0].shape[d]);
      const std::vector<line> found = of_line(op, taken(*in[0], line_of(*in[0], d, k)), second, length);
      if (found.empty()) return false;
      for (std::size_t r = 0; r < made.size(); ++r) {
        const std::vector<std::size_t> places = line_of(made[r], d, k);
        for (std::size_t i = 0; i < places.size(); ++i) made[r].data[places[i]] = found[r][i];
      }
    }
  }
  results = std::move(made);
  return true;
}

}  // namespace interpreter
