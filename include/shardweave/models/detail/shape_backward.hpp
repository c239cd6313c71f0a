#pragma once

#include <shardweave/models/detail/pointwise_backward.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Backward rules of views, reductions, operators along a dimension, and those that pick elements by number.

namespace shardweave::inline v0::detail {

/// What a reduction gave, with an extent of 1 for each reduced dimension of its input.
inline gradient_value kept_dims(backward_pass& p, gradient_value reduced) {
  const attributes with = p.with();
  if (with.keep_dims) return reduced;
  shape_vector shape = p.builder().of_value(p.input(0)).shape;
  for (const std::int64_t d : with.dims) shape[static_cast<std::size_t>(d)] = 1;
  return p.builder().view(reduced, shape);
}
inline gradient_value expanded(backward_pass& p, gradient_value kept) {
  return p.builder().expand(kept, p.builder().of_value(p.input(0)).shape);
}
inline void mean_backward(backward_pass& p) {
  const auto& in = p.builder().of_value(p.input(0));
  const double terms =
      static_cast<double>(in.element_count()) / static_cast<double>(p.builder().of_value(p.output()).element_count());
  p.give(p.input(0), expanded(p, p.builder().div_scalar(kept_dims(p, p.gradient()), terms)));
}
/// Elements that are the extremum share the gradient evenly.
inline void extremes_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  const dtype type = b.of_value(p.input(0)).type;
  const gradient_value others = b.conv(b.sub(p.input(0), kept_dims(p, p.output())), dtype::boolean);
  const gradient_value marks = b.rsub_scalar(b.conv(others, type), 1);
  const gradient_value count = b.sum(marks, p.with().dims, true);
  const gradient_value share = b.div(kept_dims(p, p.gradient()), count);
  p.give(p.input(0), b.mul(marks, share));
}
inline void permute_backward(backward_pass& p) {
  const shape_vector dims = p.with().dims;
  shape_vector back(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) back[static_cast<std::size_t>(dims[d])] = static_cast<std::int64_t>(d);
  p.give(p.input(0), p.builder().permute(p.gradient(), back));
}
inline void view_backward(backward_pass& p) {
  p.give(p.input(0), p.builder().view(p.gradient(), p.builder().of_value(p.input(0)).shape));
}

inline std::int64_t dim_of(backward_pass& p) { return p.with().dims.at(0); }
inline std::int64_t extent_along(backward_pass& p, gradient_value x) {
  return p.builder().of_value(x).shape[static_cast<std::size_t>(dim_of(p))];
}
/// log_softmax(x) = x - log(sum(exp(x)))
inline void log_softmax_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  const gradient_value sum = b.sum(p.gradient(), {dim_of(p)}, true);
  p.give(p.input(0), b.sub(p.gradient(), b.mul(b.exp(p.output()), sum)));
}
/// Sums from an element to the last: all, without those up to it, and itself again.
inline void cumsum_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  const gradient_value all = b.sum(p.gradient(), {dim_of(p)}, true);
  p.give(p.input(0), b.add(b.sub(all, b.cumsum(p.gradient(), dim_of(p))), p.gradient()));
}
/// The gradients of all parts side by side, zeros for those that have none.
inline void split_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  const std::vector<tensor> parts = b.elements_of(p.whole_output());
  std::vector<gradient_value> found;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (p.has_gradient(i)) found.push_back(p.gradient(i));
  if (found.size() == parts.size()) {
    p.give(p.input(0), b.cat(found, dim_of(p)));
    return;
  }
  const std::int64_t length = extent_along(p, p.input(0));
  std::optional<gradient_value> sum;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (p.has_gradient(i)) {
      const gradient_value padded = b.pad(p.gradient(i), dim_of(p), first, length);
      sum = sum ? b.add(*sum, padded) : padded;
    }
    first += parts[i].shape[static_cast<std::size_t>(dim_of(p))];
  }
  p.give(p.input(0), *sum);
}
/// Chosen elements, beside the numbers by which they were chosen.
inline void choice_backward(backward_pass& p) {
  const gradient_value numbers = p.output(1);
  p.give(p.input(0), p.builder().gather_backward(p.gradient(), numbers, extent_along(p, p.input(0)), dim_of(p)));
}
inline void cat_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  shape_vector lengths;
  for (std::size_t i = 0; i < p.input_count(); ++i) lengths.push_back(extent_along(p, p.input(i)));
  const gradient_value parts = b.split(p.gradient(), lengths, dim_of(p));
  for (std::size_t i = 0; i < p.input_count(); ++i)
    if (p.wants(p.input(i))) p.give(p.input(i), b.getitem(parts, static_cast<std::int64_t>(i)));
}

inline constexpr named_backward_rule shape_backward_rules[] = {
    {"getitem", [](backward_pass& p) { p.give(p.input(0), p.gradient(), static_cast<std::size_t>(p.with().index)); }},
    {"sum", [](backward_pass& p) { p.give(p.input(0), expanded(p, kept_dims(p, p.gradient()))); }},
    {"mean", mean_backward},
    {"amax", extremes_backward},
    {"amin", extremes_backward},
    {"permute", permute_backward},
    {"view", view_backward},
    {"expand", unchanged_backward},  // what was stretched is summed up where it is given
    {"view_as_complex", [](backward_pass& p) { p.give(p.input(0), p.builder().view_as_real(p.gradient())); }},
    {"view_as_real", [](backward_pass& p) { p.give(p.input(0), p.builder().view_as_complex(p.gradient())); }},
    {"softmax",
     [](backward_pass& p) { p.give(p.input(0), p.builder().softmax_backward(p.gradient(), p.output(), dim_of(p))); }},
    {"log_softmax", log_softmax_backward},
    {"cumsum", cumsum_backward},
    {"slice",
     [](backward_pass& p) {
       p.give(p.input(0), p.builder().pad(p.gradient(), dim_of(p), p.with().index, extent_along(p, p.input(0))));
     }},
    {"pad",
     [](backward_pass& p) {
       p.give(p.input(0), p.builder().slice(p.gradient(), dim_of(p), p.with().index, extent_along(p, p.input(0))));
     }},
    {"split", split_backward},
    {"cat", cat_backward},
    {"topk", choice_backward},
    {"sort", choice_backward},
    {"gather",
     [](backward_pass& p) {
       p.give(p.input(0),
              p.builder().gather_backward(p.gradient(), p.input(1), extent_along(p, p.input(0)), dim_of(p)));
     }},
    {"gather_backward",
     [](backward_pass& p) { p.give(p.input(0), p.builder().gather(p.gradient(), p.input(1), dim_of(p))); }},
    {"scatter_add",
     [](backward_pass& p) {
       if (p.wants(p.input(2))) p.give(p.input(2), p.builder().gather(p.gradient(), p.input(1), dim_of(p)));
       p.give(p.input(0), p.gradient());
     }},
};

}  // namespace shardweave::inline v0::detail
