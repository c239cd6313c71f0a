#pragma once

#include <shardweave/models/deepseek_config.hpp>
#include <shardweave/models/detail/transformer_writer.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama_config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Writes what is DeepSeek's own in a training step.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Latent attention, and a gated feed-forward or a mixture of experts.
class deepseek_writer final : public transformer_writer {
  struct layer_weights {
    value wq, wq_a, q_norm, wq_b, wkv_a, kv_norm, wkv_b, wo;
    feed_weights dense, shared;
    value router, w1, w2, w3;  // of experts, [E, D, F], [E, F, D], [E, D, F]
  };
  struct attention {
    attention_core core;
    value angles;
    norm q_norm, kv_norm;
    linear wq, wq_a, wq_b, wkv_a, wkv_b, wo;
  };
  struct mixture {
    value y, y32, scores, chosen, total, shares, weights;  // router
    value slots, w1, w2, w3, u, s, gate, z, made;          // experts, weights in bf16
    feed_forward shared;
  };
  struct layer {
    layer_weights w;
    attention attend;
    feed_forward feed;
    mixture experts;
  };

 public:
  deepseek_writer(const deepseek_config& config, training_shape shape)
      : transformer_writer(config, shape, false),
        c_(config),
        layers_(static_cast<std::size_t>(config.num_hidden_layers)) {}

 private:
  [[nodiscard]] bool is_dense(std::int64_t l) const { return l < c_.first_k_dense_replace; }
  [[nodiscard]] std::string kind_of(std::int64_t l) const override { return is_dense(l) ? "dense" : "layers"; }
  layer& layer_of(std::int64_t l) { return layers_[static_cast<std::size_t>(l)]; }

  void add_weights(std::int64_t l, const std::string& at) override {
    const std::int64_t d = c_.hidden_size;
    const std::int64_t heads = c_.num_attention_heads;
    const std::int64_t query = heads * (c_.qk_nope_head_dim + c_.qk_rope_head_dim);
    layer_weights& w = layer_of(l).w;
    if (c_.q_lora_rank == 0) {
      w.wq = weight("wq", {query, d}, at);
    } else {
      w.wq_a = weight("wq_a", {c_.q_lora_rank, d}, at);
      w.q_norm = weight("q_norm", {c_.q_lora_rank}, at);
      w.wq_b = weight("wq_b", {query, c_.q_lora_rank}, at);
    }
    w.wkv_a = weight("wkv_a", {c_.kv_lora_rank + c_.qk_rope_head_dim, d}, at);
    w.kv_norm = weight("kv_norm", {c_.kv_lora_rank}, at);
    w.wkv_b = weight("wkv_b", {heads * (c_.qk_nope_head_dim + c_.v_head_dim), c_.kv_lora_rank}, at);
    w.wo = weight("wo", {d, heads * c_.v_head_dim}, at);
    if (is_dense(l)) {
      w.dense = feed_weights_of(d, c_.intermediate_size, at);
    } else {
      const std::int64_t e = c_.n_routed_experts;
      const std::int64_t f = c_.moe_intermediate_size;
      w.router = weight("router", {e, d}, at);
      w.w1 = weight("experts.w1", {e, d, f}, at);
      w.w2 = weight("experts.w2", {e, f, d}, at);
      w.w3 = weight("experts.w3", {e, d, f}, at);
      w.shared = feed_weights_of(d, c_.n_shared_experts * f, at, "shared.");
    }
  }
  void add_constants() override {
    rotations_ = b_.constant("rotations", {{s_.sequence, c_.qk_rope_head_dim / 2}, dtype::c64});
    if (c_.sigmoid_scores) balance_ = b_.constant("balance", {{c_.n_routed_experts}, dtype::f32});
  }

  graph_builder& in(const std::string& group) {
    b_.group(group);
    return b_;
  }
  value as_heads(value x) {
    return b_.view(
        x, {s_.batch, s_.sequence, c_.num_attention_heads, b_.of_value(x).shape.back() / c_.num_attention_heads});
  }
  value from_heads(value x) {
    return b_.view(x, {s_.batch, s_.sequence, c_.num_attention_heads * b_.of_value(x).shape.back()});
  }

  value add_attention(std::int64_t l, value y) override {
    const layer_weights& w = layer_of(l).w;
    attention& a = layer_of(l).attend;
    const std::int64_t nope = c_.qk_nope_head_dim;
    const std::int64_t rope = c_.qk_rope_head_dim;
    value q;
    if (c_.q_lora_rank == 0) {
      q = project("wq", w.wq, y, a.wq);
    } else {
      a.q_norm = normalize("q_norm", w.q_norm, project("wq_a", w.wq_a, y, a.wq_a), c_.rms_norm_eps);
      q = project("wq_b", w.wq_b, a.q_norm.y, a.wq_b);
    }
    const value latent = b_.split(project("wkv_a", w.wkv_a, y, a.wkv_a), {c_.kv_lora_rank, rope}, 2);
    const value content = b_.getitem(latent, 0);
    const value position = b_.getitem(latent, 1);
    a.kv_norm = normalize("kv_norm", w.kv_norm, content, c_.rms_norm_eps);
    const value expanded = as_heads(project("wkv_b", w.wkv_b, a.kv_norm.y, a.wkv_b));
    const value kv = b_.split(expanded, {nope, c_.v_head_dim}, 3);
    b_.group("rope");
    a.angles = b_.view(rotations_, {1, s_.sequence, 1, rope / 2});
    const value parts = b_.split(as_heads(q), {nope, rope}, 3);
    const value query = b_.cat({b_.getitem(parts, 0), turned(as_pairs(b_.getitem(parts, 1)), a.angles)}, 3);
    const value one_key = turned(as_pairs(b_.view(position, {s_.batch, s_.sequence, 1, rope})), a.angles);
    const value keys = b_.expand(one_key, {s_.batch, s_.sequence, c_.num_attention_heads, rope});
    const value key = b_.cat({b_.getitem(kv, 0), keys}, 3);
    b_.group("attention");
    const value qt = b_.permute(query, {0, 2, 1, 3});
    const value kt = b_.permute(key, {0, 2, 1, 3});
    a.core = attend_core(qt, kt, b_.permute(b_.getitem(kv, 1), {0, 2, 1, 3}));
    return project("wo", w.wo, from_heads(b_.permute(a.core.out, {0, 2, 1, 3})), a.wo);
  }
  value add_attention_backward(std::int64_t l, value g) override {
    const attention& a = layer_of(l).attend;
    const std::int64_t nope = c_.qk_nope_head_dim;
    const std::int64_t rope = c_.qk_rope_head_dim;
    const value flat = project_backward("wo", a.wo, g);
    b_.group("attention");
    const value go = b_.permute(as_heads(flat), {0, 2, 1, 3});
    const value all = attend_core_backward(a.core, go);
    const auto part = [&](std::int64_t index) { return b_.permute(b_.getitem(all, index), {0, 2, 1, 3}); };
    const value dq = b_.split(part(0), {nope, rope}, 3);
    const value dk = b_.split(part(1), {nope, rope}, 3);
    const value dv = part(2);
    b_.group("rope");
    const value query = b_.cat({b_.getitem(dq, 0), turned_back(b_.getitem(dq, 1), a.angles)}, 3);
    const value one_key = turned_back(b_.sum(b_.getitem(dk, 1), {2}, true), a.angles);
    const value position = b_.view(one_key, {s_.batch, s_.sequence, rope});
    const value kv = from_heads(b_.cat({b_.getitem(dk, 0), dv}, 3));
    const value content = normalize_backward("kv_norm", a.kv_norm, project_backward("wkv_b", a.wkv_b, kv));
    const value latent = in("wkv_a").cat({content, position}, 2);
    const value from_kv = project_backward("wkv_a", a.wkv_a, latent);
    if (c_.q_lora_rank == 0) return b_.add(from_kv, project_backward("wq", a.wq, from_heads(query)));
    const value compressed = project_backward("wq_b", a.wq_b, from_heads(query));
    return b_.add(from_kv, project_backward("wq_a", a.wq_a, normalize_backward("q_norm", a.q_norm, compressed)));
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

  /// Which experts a token goes to, and with which weights.
  void route(value router, mixture& m) {
    b_.group("router");
    m.y32 = b_.conv(m.y, dtype::f32);
    const value logits = b_.einsum("bsd,ed->bse", {m.y32, router});
    m.scores = c_.sigmoid_scores ? b_.sigmoid(logits) : b_.softmax(logits, 2);
    value ranked = c_.sigmoid_scores ? b_.add(m.scores, balance_) : m.scores;
    if (c_.n_group > 1) ranked = within_best_groups(ranked);
    m.chosen = b_.getitem(b_.topk(ranked, c_.num_experts_per_tok, 2), 1);
    m.shares = b_.gather(m.scores, m.chosen, 2);
    if (c_.norm_topk_prob) {
      m.total = b_.sum(m.shares, {2}, true);
      m.shares = b_.div(m.shares, m.total);
    }
    m.weights = b_.conv(b_.mul_scalar(m.shares, c_.routed_scaling_factor), dtype::bf16);
  }
  value route_backward(value router, const mixture& m, value dweights) {
    b_.group("router");
    value d = b_.mul_scalar(b_.conv(dweights, dtype::f32), c_.routed_scaling_factor);
    if (c_.norm_topk_prob) d = b_.div(b_.sub(d, b_.sum(b_.mul(d, m.shares), {2}, true)), m.total);
    const value dscores = b_.gather_backward(d, m.chosen, c_.n_routed_experts, 2);
    const value dlogits = c_.sigmoid_scores ? b_.mul(dscores, b_.mul(m.scores, b_.rsub_scalar(m.scores, 1)))
                                            : b_.softmax_backward(dscores, m.scores, 2);
    b_.gradient(router, b_.einsum("bse,bsd->ed", {dlogits, m.y32}));
    return b_.conv(b_.einsum("bse,ed->bsd", {dlogits, router}), dtype::bf16);
  }

  mixture mix(const layer_weights& w, value y, value& out) {
    mixture m;
    m.y = y;
    route(w.router, m);
    m.slots = in("dispatch").moe_dispatch(y, m.chosen, c_.n_routed_experts, c_.capacity(s_.sequence));
    const auto product = [&](const std::string& group, value narrow, const char* equation, value x) {
      return in(group).einsum(equation, {x, narrow});
    };
    m.w1 = in("experts.w1").cast(w.w1, dtype::bf16);
    m.u = product("experts.w1", m.w1, "egcd,edf->egcf", m.slots);
    b_.group("silu");
    m.s = silu(m.u);
    m.w3 = in("experts.w3").cast(w.w3, dtype::bf16);
    m.gate = product("experts.w3", m.w3, "egcd,edf->egcf", m.slots);
    m.z = in("silu").mul(m.s, m.gate);
    m.w2 = in("experts.w2").cast(w.w2, dtype::bf16);
    m.made = product("experts.w2", m.w2, "egcf,efd->egcd", m.z);
    const value routed = in("dispatch").moe_combine(m.made, m.chosen, m.weights);
    value shared;
    m.shared = feed(w.shared, y, shared, "shared.");
    out = in("dispatch").add(routed, shared);
    return m;
  }
  value mix_backward(const layer_weights& w, const mixture& m, value g) {
    const value back = in("dispatch").moe_combine_backward(g, m.made, m.chosen, m.weights);
    const value dmade = b_.getitem(back, 0);
    const value dweights = b_.getitem(back, 1);
    const auto wide = [&](const std::string& group, const char* equation, value a, value b) {
      return b_.cast(in(group).einsum(equation, {a, b}), dtype::f32);
    };
    b_.gradient(w.w2, wide("experts.w2", "egcf,egcd->efd", m.z, dmade));
    const value dz = b_.einsum("egcd,efd->egcf", {dmade, m.w2});
    b_.group("silu");
    const value dgate = b_.mul(dz, m.s);
    const value ds = b_.mul(dz, m.gate);
    b_.gradient(w.w3, wide("experts.w3", "egcd,egcf->edf", m.slots, dgate));
    const value from_gate = b_.einsum("egcf,edf->egcd", {dgate, m.w3});
    b_.group("silu");
    const value du = silu_backward(m.u, ds);
    b_.gradient(w.w1, wide("experts.w1", "egcd,egcf->edf", m.slots, du));
    const value dslots = b_.add(from_gate, b_.einsum("egcf,edf->egcd", {du, m.w1}));
    const value routed = in("dispatch").moe_combine(dslots, m.chosen);
    const value with_router = b_.add(routed, route_backward(w.router, m, dweights));
    const value shared = feed_backward(m.shared, g, "shared.");
    return in("dispatch").add(with_router, shared);
  }

  value add_feed(std::int64_t l, value y) override {
    layer& at = layer_of(l);
    value out;
    if (is_dense(l))
      at.feed = feed(at.w.dense, y, out);
    else
      at.experts = mix(at.w, y, out);
    return out;
  }
  value add_feed_backward(std::int64_t l, value g) override {
    const layer& at = layer_of(l);
    return is_dense(l) ? feed_backward(at.feed, g) : mix_backward(at.w, at.experts, g);
  }

  deepseek_config c_;
  std::vector<layer> layers_;
  value rotations_, balance_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
