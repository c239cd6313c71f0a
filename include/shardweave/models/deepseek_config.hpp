#pragma once

#include <shardweave/models/detail/config_checks.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

/// \file
/// The figures of a DeepSeek-style model, by their names in public configs.

namespace shardweave::inline v0 {

/// How good a group of experts is for a token (`topk_method`).
enum class group_merit : std::uint8_t {
  best_two,  ///< the sum of the two best scores ("noaux_tc")
  best       ///< the best score ("group_limited_greedy")
};

/// A transformer with latent attention and, after the first layers, mixtures of experts.
struct deepseek_config {
  std::string name = "deepseek";
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t first_k_dense_replace = 0;  ///< so many layers at the beginning have no experts
  std::int64_t num_attention_heads = 0;
  std::int64_t q_lora_rank = 0;  ///< width to which queries are compressed; 0 = they are not
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t moe_intermediate_size = 0;
  std::int64_t n_routed_experts = 0;
  std::int64_t n_shared_experts = 0;
  std::int64_t num_experts_per_tok = 0;
  std::int64_t vocab_size = 0;
  std::int64_t n_group = 1;     ///< experts fall in so many groups of equal size; 1 = all are one
  std::int64_t topk_group = 1;  ///< of which a token chooses so many first, and its experts from those
  group_merit merit = group_merit::best_two;
  /// Modules that predict further tokens, one layer with experts each. Counts are those of the model without them.
  std::int64_t num_nextn_predict_layers = 0;
  bool sigmoid_scores = true;        ///< else softmax over the experts (`scoring_func`)
  bool norm_topk_prob = true;        ///< the weights of a token's experts add up to `routed_scaling_factor`
  double routed_scaling_factor = 1;  ///< of all weights
  double rms_norm_eps = 1e-6;
  /// Room in each expert, as a multiple of what it takes if all are chosen alike.
  double capacity_factor = 1;

  /// Number of weights that are trained; the bias of sigmoid scores is none.
  [[nodiscard]] std::int64_t parameter_count() const { return weights<std::int64_t>(); }
  /// Weights of the modules that predict further tokens, without embedding and output, which are those of the model.
  [[nodiscard]] std::int64_t further_parameter_count() const {
    deepseek_config one = *this;
    one.first_k_dense_replace = 0;
    one.num_hidden_layers = 1;
    const std::int64_t layer = one.parameter_count() - 2 * vocab_size * hidden_size;  // and a last norm
    return num_nextn_predict_layers * (layer + 2 * hidden_size * (hidden_size + 1));
  }
  /// Weights that take part in the computation of one token.
  [[nodiscard]] std::int64_t active_parameter_count() const {
    deepseek_config one = *this;
    one.n_routed_experts = num_experts_per_tok;
    const std::int64_t sparse = num_hidden_layers - std::min(first_k_dense_replace, num_hidden_layers);
    return one.parameter_count() + sparse * (n_routed_experts - num_experts_per_tok) * hidden_size;  // the router
  }
  /// Slots that an expert has for the tokens of one sequence.
  [[nodiscard]] std::int64_t capacity(std::int64_t sequence) const {
    const double even = static_cast<double>(sequence) * static_cast<double>(num_experts_per_tok) /
                        static_cast<double>(n_routed_experts);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(capacity_factor * even)));
  }

  /// What is wrong: the field that is not positive or beyond any model, or two that do not fit. Empty if nothing is.
  [[nodiscard]] std::string problem() const {
    std::string wrong = detail::first_not_positive<std::int64_t>({{"hidden_size", hidden_size},
                                                                  {"num_hidden_layers", num_hidden_layers},
                                                                  {"num_attention_heads", num_attention_heads},
                                                                  {"kv_lora_rank", kv_lora_rank},
                                                                  {"qk_nope_head_dim", qk_nope_head_dim},
                                                                  {"qk_rope_head_dim", qk_rope_head_dim},
                                                                  {"v_head_dim", v_head_dim},
                                                                  {"intermediate_size", intermediate_size},
                                                                  {"moe_intermediate_size", moe_intermediate_size},
                                                                  {"n_routed_experts", n_routed_experts},
                                                                  {"n_shared_experts", n_shared_experts},
                                                                  {"num_experts_per_tok", num_experts_per_tok},
                                                                  {"vocab_size", vocab_size},
                                                                  {"n_group", n_group},
                                                                  {"topk_group", topk_group}});
    if (wrong.empty())
      wrong = detail::first_negative<std::int64_t>({{"q_lora_rank", q_lora_rank},
                                                    {"first_k_dense_replace", first_k_dense_replace},
                                                    {"num_nextn_predict_layers", num_nextn_predict_layers}});
    if (!wrong.empty()) return wrong;
    if (qk_rope_head_dim % 2 != 0) return detail::wrong_field("qk_rope_head_dim", qk_rope_head_dim, "an even number");
    if (num_experts_per_tok > n_routed_experts)
      return detail::wrong_field("num_experts_per_tok", num_experts_per_tok,
                                 "no more than n_routed_experts (" + std::to_string(n_routed_experts) + ")");
    if (wrong = problem_of_groups(); !wrong.empty()) return wrong;
    wrong = detail::first_not_positive<double>(
        {{"routed_scaling_factor", routed_scaling_factor}, {"capacity_factor", capacity_factor}});
    if (wrong.empty()) wrong = detail::first_negative<double>({{"rms_norm_eps", rms_norm_eps}});
    return wrong.empty() ? detail::too_many_weights(weights<double>()) : wrong;
  }

 private:
  [[nodiscard]] std::string problem_of_groups() const {
    const std::int64_t least = n_group > 1 && merit == group_merit::best_two ? 2 : 1;
    if (n_routed_experts % n_group != 0 || n_routed_experts / n_group < least)
      return detail::wrong_field(
          "n_routed_experts", n_routed_experts,
          "a multiple of n_group (" + std::to_string(n_group) + ")" + (least > 1 ? " with at least two in each" : ""));
    if (topk_group > n_group)
      return detail::wrong_field("topk_group", topk_group, "no more than n_group (" + std::to_string(n_group) + ")");
    const std::int64_t open = topk_group * (n_routed_experts / n_group);
    if (num_experts_per_tok > open)
      return detail::wrong_field("num_experts_per_tok", num_experts_per_tok,
                                 "no more than the experts of topk_group groups (" + std::to_string(open) + ")");
    return {};
  }
  template <class Number>
  [[nodiscard]] Number weights() const {
    const auto n = [](std::int64_t count) { return static_cast<Number>(count); };
    const Number d = n(hidden_size);
    const Number dense = n(std::min(first_k_dense_replace, num_hidden_layers));
    const Number sparse = n(num_hidden_layers) - dense;
    const Number experts = n(n_routed_experts) * (3 * d * n(moe_intermediate_size) + d) +
                           3 * d * n(n_shared_experts) * n(moe_intermediate_size);
    const Number heads = n(num_attention_heads);
    const Number query = heads * n(qk_nope_head_dim + qk_rope_head_dim);
    const Number attention =
        (q_lora_rank == 0 ? d * query : n(q_lora_rank) * (d + 1 + query)) + d * n(kv_lora_rank + qk_rope_head_dim) +
        n(kv_lora_rank) * (1 + heads * n(qk_nope_head_dim + v_head_dim)) + heads * n(v_head_dim) * d;
    return n(num_hidden_layers) * (attention + 2 * d) + dense * 3 * d * n(intermediate_size) + sparse * experts +
           2 * n(vocab_size) * d + d;
  }
};

}  // namespace shardweave::inline v0
