#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/detail/transformer_writer.hpp>
#include <shardweave/models/graph_builder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// How the graph of a DeepSeek model is written.

namespace shardweave::inline v0 {
namespace detail {

/// Latent attention, and a gated feed-forward or a mixture of experts.
class deepseek_layers {
  using value = graph_builder::value;
  using feed_weights = training_parts::feed_weights;
  struct layer_weights {
    value wq, wq_a, q_norm, wq_b, wkv_a, kv_norm, wkv_b, wo;
    feed_weights dense, shared;
    value router, w1, w2, w3;  // of experts, [E, D, F], [E, F, D], [E, D, F]
  };

 public:
  /// \pre parts outlives this
  deepseek_layers(training_parts& parts, const deepseek_config& config, training_shape shape)
      : p_(parts),
        b_(parts.builder()),
        c_(config),
        s_(shape),
        weights_(static_cast<std::size_t>(config.num_hidden_layers + config.num_nextn_predict_layers)) {}

  [[nodiscard]] std::string kind_of(std::int64_t l) const {
    if (l >= c_.num_hidden_layers) return "further";
    return is_dense(l) ? "dense" : "layers";
  }
  void add_weights(std::int64_t l, const std::string& at) {
    const std::int64_t d = c_.hidden_size;
    const std::int64_t heads = c_.num_attention_heads;
    const std::int64_t query = heads * (c_.qk_nope_head_dim + c_.qk_rope_head_dim);
    layer_weights& w = weights_of(l);
    if (c_.q_lora_rank == 0) {
      w.wq = p_.weight("wq", {query, d}, at);
    } else {
      w.wq_a = p_.weight("wq_a", {c_.q_lora_rank, d}, at);
      w.q_norm = p_.weight("q_norm", {c_.q_lora_rank}, at);
      w.wq_b = p_.weight("wq_b", {query, c_.q_lora_rank}, at);
    }
    w.wkv_a = p_.weight("wkv_a", {c_.kv_lora_rank + c_.qk_rope_head_dim, d}, at);
    w.kv_norm = p_.weight("kv_norm", {c_.kv_lora_rank}, at);
    w.wkv_b = p_.weight("wkv_b", {heads * (c_.qk_nope_head_dim + c_.v_head_dim), c_.kv_lora_rank}, at);
    w.wo = p_.weight("wo", {d, heads * c_.v_head_dim}, at);
    if (is_dense(l)) {
      w.dense = p_.feed_weights_of(d, c_.intermediate_size, at);
    } else {
      const std::int64_t e = c_.n_routed_experts;
      const std::int64_t f = c_.moe_intermediate_size;
      w.router = p_.weight("router", {e, d}, at);
      w.w1 = p_.weight("experts.w1", {e, d, f}, at);
      w.w2 = p_.weight("experts.w2", {e, f, d}, at);
      w.w3 = p_.weight("experts.w3", {e, d, f}, at);
      w.shared = p_.feed_weights_of(d, c_.n_shared_experts * f, at, "shared.");
    }
  }
  void add_constants() {
    rotations_ = b_.constant("rotations", {{s_.sequence, c_.qk_rope_head_dim / 2}, dtype::c64});
    if (c_.sigmoid_scores) balance_ = b_.constant("balance", {{c_.n_routed_experts}, dtype::f32});
  }

  value add_attention(std::int64_t l, value y) {
    const layer_weights& w = weights_of(l);
    const std::int64_t nope = c_.qk_nope_head_dim;
    const std::int64_t rope = c_.qk_rope_head_dim;
    value q;
    if (c_.q_lora_rank == 0) {
      q = p_.project("wq", w.wq, y);
    } else {
      q = p_.project("wq_b", w.wq_b, p_.normalize("q_norm", w.q_norm, p_.project("wq_a", w.wq_a, y), c_.rms_norm_eps));
    }
    const value latent = b_.split(p_.project("wkv_a", w.wkv_a, y), {c_.kv_lora_rank, rope}, 2);
    const value content = b_.getitem(latent, 0);
    const value position = b_.getitem(latent, 1);
    const value normed = p_.normalize("kv_norm", w.kv_norm, content, c_.rms_norm_eps);
    const value expanded = as_heads(p_.project("wkv_b", w.wkv_b, normed));
    const value kv = b_.split(expanded, {nope, c_.v_head_dim}, 3);
    b_.group("rope");
    const value angles = b_.view(rotations_, {1, s_.sequence, 1, rope / 2});
    const value parts = b_.split(as_heads(q), {nope, rope}, 3);
    const value query = b_.cat({b_.getitem(parts, 0), p_.turned(p_.as_pairs(b_.getitem(parts, 1)), angles)}, 3);
    const value one_key = p_.turned(p_.as_pairs(b_.view(position, {s_.batch, s_.sequence, 1, rope})), angles);
    const value keys = b_.expand(one_key, {s_.batch, s_.sequence, c_.num_attention_heads, rope});
    const value key = b_.cat({b_.getitem(kv, 0), keys}, 3);
    b_.group("attention");
    const value qt = b_.permute(query, {0, 2, 1, 3});
    const value kt = b_.permute(key, {0, 2, 1, 3});
    const value out = p_.attend(qt, kt, b_.permute(b_.getitem(kv, 1), {0, 2, 1, 3}));
    return p_.project("wo", w.wo, from_heads(b_.permute(out, {0, 2, 1, 3})));
  }

  value add_feed(std::int64_t l, value y) {
    const layer_weights& w = weights_of(l);
    return is_dense(l) ? p_.feed(w.dense, y) : mix(w, y);
  }

 private:
  [[nodiscard]] bool is_dense(std::int64_t l) const {
    return l < std::min(c_.first_k_dense_replace, c_.num_hidden_layers);
  }
  layer_weights& weights_of(std::int64_t l) { return weights_[static_cast<std::size_t>(l)]; }
  value as_heads(value x) {
    return b_.view(
        x, {s_.batch, s_.sequence, c_.num_attention_heads, b_.of_value(x).shape.back() / c_.num_attention_heads});
  }
  value from_heads(value x) {
    return b_.view(x, {s_.batch, s_.sequence, c_.num_attention_heads * b_.of_value(x).shape.back()});
  }

  /// The scores, but 0 for experts of groups that are not chosen. No gradient goes through a choice.
  value within_best_groups(value ranked) {
    const std::int64_t groups = c_.n_group;
    const value grouped = b_.view(ranked, {s_.batch, s_.sequence, groups, c_.n_routed_experts / groups});
    const value merit =
        c_.merit == group_merit::best_two ? b_.sum(b_.getitem(b_.topk(grouped, 2, 3), 0), {3}) : b_.amax(grouped, {3});
    const value best = b_.topk(merit, c_.topk_group, 2);
    const value ones = b_.pow(b_.getitem(best, 0), 0);
    const value marks = b_.gather_backward(ones, b_.getitem(best, 1), groups, 2);
    const value kept = b_.mul(grouped, b_.view(marks, {s_.batch, s_.sequence, groups, 1}));
    return b_.view(kept, {s_.batch, s_.sequence, c_.n_routed_experts});
  }

  /// The weights of a token's experts, which are written to `chosen`.
  value route(value router, value y, value& chosen) {
    const value y32 = p_.in("router").conv(y, dtype::f32);
    const value logits = b_.einsum("bsd,ed->bse", {y32, router});
    const value scores = c_.sigmoid_scores ? b_.sigmoid(logits) : b_.softmax(logits, 2);
    value ranked = c_.sigmoid_scores ? b_.add(scores, balance_) : scores;
    if (c_.n_group > 1) ranked = within_best_groups(ranked);
    chosen = b_.getitem(b_.topk(ranked, c_.num_experts_per_tok, 2), 1);
    value shares = b_.gather(scores, chosen, 2);
    if (c_.norm_topk_prob) shares = normalized(shares);
    return b_.conv(b_.mul_scalar(shares, c_.routed_scaling_factor), dtype::bf16);
  }
  /// Parts of their sum. The gradient is written for the whole, which takes fewer operations.
  value normalized(value shares) {
    const value total = b_.sum(shares, {2}, true);
    const value parts = b_.div(shares, total);
    b_.with_gradient(parts, [shares, total, parts](backward_pass& p) {
      graph_builder& b = p.builder();
      const value along = b.sum(b.mul(p.gradient(), parts), {2}, true);
      p.give(shares, b.div(b.sub(p.gradient(), along), total));
    });
    return parts;
  }

  value mix(const layer_weights& w, value y) {
    value chosen;
    const value weights = route(w.router, y, chosen);
    const value slots = p_.in("dispatch").moe_dispatch(y, chosen, c_.n_routed_experts, c_.capacity(s_.sequence));
    const auto product = [&](const std::string& group, value weight, const char* equation, value x) {
      const value narrow = p_.in(group).cast(weight, dtype::bf16);
      return b_.einsum(equation, {x, narrow});
    };
    const value u = product("experts.w1", w.w1, "egcd,edf->egcf", slots);
    b_.group("silu");
    const value s = p_.silu(u);
    const value gate = product("experts.w3", w.w3, "egcd,edf->egcf", slots);
    const value z = p_.in("silu").mul(s, gate);
    const value made = product("experts.w2", w.w2, "egcf,efd->egcd", z);
    const value routed = p_.in("dispatch").moe_combine(made, chosen, weights);
    const value shared = p_.feed(w.shared, y, "shared.");
    return p_.in("dispatch").add(routed, shared);
  }

  training_parts& p_;
  graph_builder& b_;
  deepseek_config c_;
  training_shape s_;
  std::vector<layer_weights> weights_;
  value rotations_, balance_;
};

}  // namespace detail

SHARDWEAVE_INLINE computation deepseek_training_graph(const deepseek_config& config, training_shape shape) {
  detail::check_training(config, shape);
  return detail::transformer_writer<detail::deepseek_layers>(config, shape, false, config.num_nextn_predict_layers)
      .write();
}

}  // namespace shardweave::inline v0
