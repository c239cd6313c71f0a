#pragma once

#include <shardweave/models/detail/einsum_letters.hpp>
#include <shardweave/models/detail/pointwise_backward.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Backward rules of contractions, attention, embedding, fused norms, the loss, and mixtures of experts.

namespace shardweave::inline v0::detail {

/// The gradient of operand i: the gradient of the result times all other operands, over what i does not have. In a
/// product with a matrix, rows by [in, out], the matrix is transposed, so that this is such a product again.
inline gradient_value einsum_gradient(backward_pass& p, const std::vector<std::string>& of, std::size_t i) {
  graph_builder& b = p.builder();
  const std::string& out = of.back();
  std::vector<gradient_value> operands{p.gradient()};
  std::string equation = out;
  for (std::size_t k = 0; k < p.input_count(); ++k) {
    if (k == i) continue;
    std::string letters = of[k];
    gradient_value other = conjugate(b, p.input(k));
    const bool product =
        p.input_count() == 2 && k == 1 && letters.size() == 2 && of[0].back() == letters[0] && out.back() == letters[1];
    if (product) {
      other = b.permute(other, {1, 0});
      std::swap(letters[0], letters[1]);
    }
    operands.push_back(other);
    equation += "," + letters;
  }
  std::string known;  // what is summed over in operand i alone was the same for all
  const shape_vector whole = b.of_value(p.input(i)).shape;
  shape_vector kept = whole;
  for (std::size_t d = 0; d < of[i].size(); ++d) {
    if (equation.find(of[i][d]) != std::string::npos)
      known += of[i][d];
    else
      kept[d] = 1;
  }
  const gradient_value made = b.einsum(equation + "->" + known, operands);
  return kept == whole && known.size() == whole.size() ? made : b.expand(b.view(made, kept), whole);
}
inline void einsum_backward(backward_pass& p) {
  const std::vector<std::string> of = einsum_letters(p.with().equation);
  for (const std::string& letters : of)
    for (std::size_t d = 0; d < letters.size(); ++d)
      if (letters.find(letters[d], d + 1) != std::string::npos)
        p.wrong("no backward rule for an einsum that has letter '" + std::string(1, letters[d]) +
                "' twice in one place");
  for (std::size_t i = p.input_count(); i-- > 0;)
    if (p.wants(p.input(i))) p.give(p.input(i), einsum_gradient(p, of, i));
}

/// Further elements of a tuple are there for the backward operation, which takes no gradient of them.
inline gradient_value only_gradient(backward_pass& p, std::size_t elements) {
  for (std::size_t i = 1; i < elements; ++i)
    if (p.has_gradient(i)) p.wrong("no backward rule for element " + std::to_string(i) + " of its result");
  return p.gradient();
}
/// Gives elements 0, 1, ... of a tuple to these inputs.
inline void give_elements(backward_pass& p, gradient_value all, const std::vector<std::size_t>& inputs) {
  std::vector<gradient_value> parts;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    parts.push_back(p.wants(p.input(inputs[i])) ? p.builder().getitem(all, static_cast<std::int64_t>(i)) : all);
  for (std::size_t i = 0; i < inputs.size(); ++i) p.give(p.input(inputs[i]), parts[i]);
}
inline void attention_backward(backward_pass& p) {
  const gradient_value g = only_gradient(p, 4);
  const gradient_value out = p.output(0), sums = p.output(1), seed = p.output(2), offset = p.output(3);
  give_elements(p, p.builder().sdpa_backward(g, p.input(0), p.input(1), p.input(2), out, sums, seed, offset),
                {0, 1, 2});
}
/// Gradient, inputs but for the bias, and saved elements -> gradients of the inputs.
inline void norm_backward(backward_pass& p, const char* op, std::size_t saved) {
  graph_builder& b = p.builder();
  std::vector<gradient_value> operands{only_gradient(p, saved + 1), p.input(0), p.input(1)};
  for (std::size_t i = 1; i <= saved; ++i) operands.push_back(p.output(i));
  std::vector<tensor> made;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < p.input_count(); ++i) {
    const tensor& in = b.of_value(p.input(i));
    made.push_back({in.shape, in.type});
    all.push_back(i);
  }
  give_elements(p, b.apply(op, operands, std::move(made)), all);
}
inline void combine_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  const shape_vector slots = b.of_value(p.input(0)).shape;
  if (p.input_count() == 2)
    p.give(p.input(0), b.moe_dispatch(p.gradient(), p.input(1), slots[0], slots[2]));
  else
    give_elements(p, b.moe_combine_backward(p.gradient(), p.input(0), p.input(1), p.input(2)), {0, 2});
}

inline constexpr named_backward_rule product_backward_rules[] = {
    {"einsum", einsum_backward},
    {"sdpa", attention_backward},
    {"embedding",
     [](backward_pass& p) {
       const std::int64_t rows = p.builder().of_value(p.input(0)).shape[0];
       p.give(p.input(0), p.builder().embedding_backward(p.gradient(), p.input(1), rows));
     }},
    {"rms_norm", [](backward_pass& p) { norm_backward(p, "rms_norm_backward", 1); }},
    {"layer_norm", [](backward_pass& p) { norm_backward(p, "layer_norm_backward", 2); }},
    {"cross_entropy",
     [](backward_pass& p) {
       const gradient_value g = only_gradient(p, 2);
       p.give(p.input(0), p.builder().cross_entropy_backward(g, p.input(0), p.input(1), p.output(1)));
     }},
    {"moe_dispatch", [](backward_pass& p) { p.give(p.input(0), p.builder().moe_combine(p.gradient(), p.input(1))); }},
    {"moe_combine", combine_backward},
};

}  // namespace shardweave::inline v0::detail
