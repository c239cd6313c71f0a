#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/rules/contraction.hpp>
#include <shardweave/spmd/rules/convolution.hpp>
#include <shardweave/spmd/rules/indexing.hpp>
#include <shardweave/spmd/rules/letters.hpp>
#include <shardweave/spmd/rules/selection.hpp>
#include <shardweave/spmd/rules/shape.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <string>
#include <utility>

/// \file
/// What the library does with each operator.

namespace shardweave::inline v0 {

namespace detail {

/// Operators along a dimension, and those that pick elements by number.
inline void add_line_rules(rule_table& rules) {
  const operator_cost moves{.moves_data_only = true};
  for (const char* op : {"softmax", "log_softmax", "softmax_backward", "log_softmax_backward", "sort", "topk"})
    rules.add(op, line_rule{}, moves);
  rules.add("cumsum", line_rule{partial_passing::linear}, moves);
  rules.add("cumprod", line_rule{}, moves);
  for (const char* op : {"slice", "split", "pad", "flip", "roll", "repeat"})
    rules.add(op, line_rule{partial_passing::all}, moves);
  rules.add("cat", cat_rule{});
  rules.add("gather", gather_rule{});
  rules.add("gather_backward", scatter_rule{.adds = true, .has_base = false});
  rules.add("scatter", scatter_rule{.adds = false});
  rules.add("scatter_add", scatter_rule{});
  rules.add("histogram", histogram_rule{});
  rules.add("index", indexing_rule{index_action::pick});
  rules.add("index_backward", indexing_rule{index_action::add});
  rules.add("index_put", indexing_rule{index_action::put});
}

/// Scaled dot-product attention, forward and backward.
inline void add_attention_rules(rule_table& rules, const standard_rule_options& options) {
  const auto add = [&](const char* op, attention_flops all, kernel_kind kernel) {
    const attention_rule rule{
        .query = all.query, .by_positions = options.attention_by_positions, .in_rings = options.attention_in_rings};
    rules.add(op, rule,
              {.flops = [all, causal = options.causal](const operation_view& view) { return all(view) * causal; },
               .kernel = kernel,
               .ring = rule.ring()});
  };
  add("sdpa", {}, kernel_kind::attention);
  add("sdpa_backward", {.query = 1, .with_keys = 3, .with_values = 2}, kernel_kind::attention_backward);
}

/// Convolutions and what else works on pictures.
inline void add_picture_rules(rule_table& rules) {
  using results = convolution_results;
  const std::pair<const char*, results> suffixes[] = {{"", results::forward},
                                                      {"_backward", results::both_gradients},
                                                      {"_backward_input", results::input_gradient},
                                                      {"_backward_weight", results::weight_gradient}};
  for (const bool is_transposed : {false, true})
    for (const auto& [suffix, of] : suffixes)
      rules.add(std::string(is_transposed ? "transposed_convolution" : "convolution") + suffix,
                convolution_rule{of, is_transposed}, {.is_view = false, .flops = convolution_flops{of, is_transposed}});
  rules.add("channelwise", channelwise_rule{});
}

/// Fused norms, the loss, and mixtures of experts: tokens [group, place, width], k chosen experts for each, and slots
/// [expert, group, place, width] that hold what an expert is to compute.
inline void add_training_rules(rule_table& rules) {
  const operator_cost moves{.moves_data_only = true};
  rules.add("rms_norm", letter_rule{"...d,d->...d,...", "d"}, moves);
  rules.add("rms_norm_backward", letter_rule{"...d,...d,d,...->...d,d", "d"}, moves);
  rules.add("layer_norm", letter_rule{"...d,d,d->...d,...,...", "d"}, moves);
  rules.add("layer_norm_backward", letter_rule{"...d,...d,d,...,...->...d,d,d", "d"}, moves);
  rules.add("cross_entropy", letter_rule{"...c,...->...,...", "c"}, moves);
  rules.add("cross_entropy_backward", letter_rule{"...,...c,...,...->...c", "c"}, moves);

  const dim_placement whole;
  const dim_placement sums = dim_placement::partial();
  rules.add("moe_dispatch", letter_rule{"gsd,gsk->egcd", "eskc", {{{sums}, {sums, whole}}}}, moves);
  rules.add("moe_combine",
            letter_rule{"egcd,gsk,gsk->gsd",
                        "csk",
                        {{{sums}, {sums, whole}}, {{sums}, {sums, whole, whole}}, {{sums}, {whole, whole, sums}}}},
            moves);
  rules.add("moe_combine_backward", letter_rule{"gsd,egcd,gsk,gsk->egcd,gsk", "csk"}, moves);
}

}  // namespace detail

SHARDWEAVE_INLINE rule_table standard_rules(const standard_rule_options& options) {
  const operator_cost view{.is_view = true, .flops = {}};
  rule_table rules;
  for (const char* source : {"parameter", "input", "constant", "tangent"})
    rules.add(source, any_placement_rule{}, view);
  rules.add("alias", any_placement_rule{}, view);

  rules.add("einsum", einsum_rule{}, {.is_view = false, .flops = einsum_flops{}});
  detail::add_attention_rules(rules, options);
  rules.add("embedding", embedding_rule{});
  rules.add("embedding_backward", embedding_backward_rule{});

  rules.add("add", addition_rule());
  rules.add("sub", subtraction_rule());
  rules.add("mul", product_rule());
  rules.add("div", quotient_rule());
  rules.add("neg", negation_rule());
  for (const char* op : {"mul_scalar", "div_scalar"}) rules.add(op, linear_rule());
  for (const char* op : {"exp", "sigmoid", "tanh", "relu"}) rules.add(op, increasing_rule());
  rules.add("maximum", extremum_rule(partial_kind::max));
  rules.add("minimum", extremum_rule(partial_kind::min));
  rules.add("where", choice_rule());
  for (const char* op : {"pow", "rsqrt", "reciprocal", "add_scalar", "rsub_scalar", "silu", "gelu", "gelu_backward",
                         "log", "sqrt", "abs"})
    rules.add(op, pointwise_rule{});
  for (const char* op : {"view_as_complex", "view_as_real"}) rules.add(op, complex_view_rule{}, view);

  for (const char* op : {"conv", "cast"}) rules.add(op, conversion_rule{});
  // reads its argument as often as it says: once more where nothing else has measured it
  rules.add("quantize", conversion_rule{}, {.moves_data_only = true, .moved = [](const operation_view& read) {
                                              return read.inputs.front().size() * read.op.with.index +
                                                     read.outputs.front().size();
                                            }});
  rules.add("clone", same_placement_rule{});
  for (const char* op : {"conj", "getitem"}) rules.add(op, same_placement_rule{}, view);
  rules.add("permute", permute_rule{}, view);
  rules.add("view", view_rule{}, view);
  rules.add("expand", expand_rule{}, view);
  rules.add("sum", reduction_rule{partial_kind::sum});
  rules.add("mean", reduction_rule{partial_kind::avg});
  rules.add("amax", reduction_rule{partial_kind::max});
  rules.add("amin", reduction_rule{partial_kind::min});
  for (const char* op : {"prod", "any", "all", "argmax", "argmin", "logsumexp"}) rules.add(op, whole_reduction_rule{});

  detail::add_line_rules(rules);
  detail::add_picture_rules(rules);
  detail::add_training_rules(rules);
  return rules;
}

}  // namespace shardweave::inline v0
