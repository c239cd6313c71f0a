#pragma once

#include <shardweave/spmd/computation.hpp>

#include <models/arrays.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Convolutions with step 1 and without padding, number by number.
namespace interpreter {

/// What a window of weights [many, each, space...] sees: `wide` [picture, groups * each, space...] under it, and
/// `narrow` [picture, many, space...]. Calls f(wide, narrow, weight), places in their data, for every product.
template <class F>
void each_product(const array& wide, const array& narrow, const array& weight, F f) {
  if (wide.data.empty() || narrow.data.empty() || weight.data.empty()) return;  // a device without elements
  const std::int64_t groups = wide.shape[1] / weight.shape[1], many = narrow.shape[1] / groups;
  each(narrow.shape, [&](const indices& at) {
    each(weight.shape, [&](const indices& w) {
      if (w[0] != at[1]) return;
      indices under = at;
      under[1] = at[1] / many * weight.shape[1] + w[1];
      for (std::size_t d = 2; d < at.size(); ++d) under[d] = at[d] + w[d];
      f(offset(wide, under), offset(narrow, at), offset(weight, w));
    });
  });
}

/// False for an operator that is no convolution. `channelwise` mixes the places of a channel, each in its own way.
inline bool picture_operator(const shardweave::operation& op, const std::vector<const array*>& in,
                             std::vector<array>& results) {
  std::vector<array> made;
  for (const shardweave::tensor& t : op.outputs) made.push_back(zeros(t.shape));
  if (op.op == "channelwise") {
    array& out = made.front();
    const indices& s = out.shape;
    for (const array* x : in)
      each(x->shape, [&](const indices& at) {
        std::size_t place = 0;
        for (std::size_t d = 2; d < at.size(); ++d)
          place = place * static_cast<std::size_t>(x->shape[d]) + static_cast<std::size_t>(at[d]);
        const std::size_t size = out.data.size() / static_cast<std::size_t>(s[0] * s[1]);
        for (std::size_t k = 0; k < size; ++k)
          out.data[static_cast<std::size_t>(at[0] * s[1] + at[1]) * size + k] +=
              x->data[offset(*x, at)] * static_cast<double>(1 + (3 * k + 7 * place) % 5);
      });
    results = std::move(made);
    return true;
  }
  const bool turned = op.op.starts_with("transposed_");
  const std::string name = turned ? op.op.substr(11) : op.op;
  if (!name.starts_with("convolution")) return false;
  if (name == "convolution") {
    if (turned)
      each_product(made[0], *in[0], *in[1],
                   [&](auto y, auto x, auto w) { made[0].data[y] += in[0]->data[x] * in[1]->data[w]; });
    else
      each_product(*in[0], made[0], *in[1],
                   [&](auto x, auto y, auto w) { made[0].data[y] += in[0]->data[x] * in[1]->data[w]; });
    results = std::move(made);
    return true;
  }
  const array &gradient = *in[0], &x = *in[1], &weight = *in[2];
  array for_x = zeros(x.shape), for_weight = zeros(weight.shape);
  each_product(turned ? gradient : x, turned ? x : gradient, weight, [&](auto wide, auto narrow, auto w) {
    const std::size_t of_x = turned ? narrow : wide, of_y = turned ? wide : narrow;
    for_x.data[of_x] += gradient.data[of_y] * weight.data[w];
    for_weight.data[w] += gradient.data[of_y] * x.data[of_x];
  });
  results.clear();
  if (name != "convolution_backward_weight") results.push_back(std::move(for_x));
  if (name != "convolution_backward_input") results.push_back(std::move(for_weight));
  return true;
}

}  // namespace interpreter
