#pragma once

#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/rules/contraction.hpp>
#include <shardweave/spmd/rules/pointwise.hpp>
#include <shardweave/spmd/rules/shape.hpp>

/// \file
/// The operators for which the library knows what to do.

namespace shardweave {
inline namespace v0 {

/// A table with the operators of transformer training graphs. Its strategies are those that PyTorch's
/// DTensor offers, but for an embedding cut by rows, whose indices are whole here (a partial result cannot be
/// made from whole indices, so that upstream can never choose it).
[[nodiscard]] inline rule_table standard_rules() {
  const operator_cost view{.is_view = true, .flops = {}};
  rule_table rules;
  for (const char* source : {"parameter", "input", "constant", "tangent"})
    rules.add(source, any_placement_rule{}, view);
  rules.add("alias", any_placement_rule{}, view);

  rules.add("einsum", einsum_rule{}, {.is_view = false, .flops = einsum_flops{}});
  rules.add("sdpa", attention_rule{}, {.is_view = false, .flops = attention_flops{}});
  rules.add("sdpa_backward", attention_rule{.query = 1},
            {.is_view = false, .flops = attention_flops{.query = 1, .products = 5}});
  rules.add("embedding", embedding_rule{});
  rules.add("embedding_backward", embedding_backward_rule{});

  rules.add("add", addition_rule());
  rules.add("sub", subtraction_rule());
  rules.add("mul", product_rule());
  rules.add("div", quotient_rule());
  rules.add("neg", negation_rule());
  for (const char* op : {"mul_scalar", "div_scalar"}) rules.add(op, linear_rule());
  for (const char* op : {"exp", "sigmoid", "tanh", "relu"}) rules.add(op, increasing_rule());
  for (const char* op : {"pow", "rsqrt", "reciprocal", "add_scalar", "rsub_scalar", "silu", "gelu"})
    rules.add(op, pointwise_rule{});
  for (const char* op : {"view_as_complex", "view_as_real"}) rules.add(op, complex_view_rule{}, view);

  for (const char* op : {"conv", "cast", "clone"}) rules.add(op, same_placement_rule{});
  for (const char* op : {"conj", "getitem"}) rules.add(op, same_placement_rule{}, view);
  rules.add("permute", permute_rule{}, view);
  rules.add("view", view_rule{}, view);
  rules.add("expand", expand_rule{}, view);
  rules.add("sum", reduction_rule{partial_kind::sum});
  rules.add("mean", reduction_rule{partial_kind::avg});
  return rules;
}

}  // namespace v0
}  // namespace shardweave
