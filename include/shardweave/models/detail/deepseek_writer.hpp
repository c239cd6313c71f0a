#pragma once

#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/deepseek_config.hpp>
#include <shardweave/models/detail/training_parts.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama_config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Writes the graph; every forward part leaves behind what its backward part needs.
class deepseek_writer : private training_parts {
  struct layer_weights {
    value attention_norm, wq, wq_a, q_norm, wq_b, wkv_a, kv_norm, wkv_b, wo, ffn_norm;
    feed_weights dense, shared;
    value router, w1, w2, w3;  // of experts, [E, D, F], [E, F, D], [E, D, F]
  };
  struct attention {
    value q, k, v, out, sums, seed, offset, angles;
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
    norm attention_norm, ffn_norm;
    attention attend;
    feed_forward feed;
    mixture experts;
  };

 public:
  deepseek_writer(const deepseek_config& config, training_shape shape)
      : training_parts(config.name), c_(config), s_(shape) {}

  computation write() {
    const value embedding = weight("embedding", {c_.vocab_size, c_.hidden_size});
    std::vector<layer_weights> weights;
    for (std::int64_t l = 0; l < c_.num_hidden_layers; ++l) weights.push_back(weights_of(l));
    b_.layer(-1);
    const value last_norm = weight("norm", {c_.hidden_size});
    const value output = weight("output", {c_.vocab_size, c_.hidden_size});
    const value tokens = b_.group("").input("tokens", {{s_.batch, s_.sequence}, dtype::i64});
    rotations_ = b_.constant("rotations", {{s_.sequence, c_.qk_rope_head_dim / 2}, dtype::c64});
    if (c_.sigmoid_scores) balance_ = b_.constant("balance", {{c_.n_routed_experts}, dtype::f32});

    b_.group("embedding");
    value x = b_.embedding(b_.cast(embedding, dtype::bf16), tokens);
    std::vector<layer> layers;
    for (std::int64_t l = 0; l < c_.num_hidden_layers; ++l) {
      layers.emplace_back().w = weights[static_cast<std::size_t>(l)];
      x = forward(l, x, layers.back());
    }
    b_.layer(-1);
    const norm final_norm = normalize("norm", last_norm, x, c_.rms_norm_eps);
    linear head;
    const value logits = project("output", output, final_norm.y, head);
    b_.result(logits);

    b_.when(phase::backward).group("output");
    value g = project_backward("output", head, b_.tangent("tangent", logits));
    g = normalize_backward("norm", final_norm, g);
    for (std::int64_t l = c_.num_hidden_layers; l-- > 0;) g = backward(l, layers[static_cast<std::size_t>(l)], g);
    b_.layer(-1).group("embedding");
    b_.gradient(embedding, b_.cast(b_.embedding_backward(g, tokens, c_.vocab_size), dtype::f32));
    b_.group("");
    return insert_aliases(b_.finish());
  }

 private:
  [[nodiscard]] bool is_dense(std::int64_t l) const { return l < c_.first_k_dense_replace; }
  void enter(std::int64_t l) { b_.layer(l, is_dense(l) ? "dense" : "layers"); }

  value weight(const std::string& name, shape_vector shape, const std::string& prefix = "") {
    return b_.group(name).parameter(prefix + name, {std::move(shape), dtype::f32});
  }
  feed_weights feed_weights_of(std::int64_t width, const std::string& at, const std::string& prefix) {
    const std::int64_t d = c_.hidden_size;
    return {weight(prefix + "w1", {width, d}, at), weight(prefix + "w2", {d, width}, at),
            weight(prefix + "w3", {width, d}, at)};
  }
  layer_weights weights_of(std::int64_t l) {
    enter(l);
    const std::int64_t d = c_.hidden_size;
    const std::int64_t heads = c_.num_attention_heads;
    const std::int64_t query = heads * (c_.qk_nope_head_dim + c_.qk_rope_head_dim);
    const std::string at = (is_dense(l) ? "dense." : "layers.") + std::to_string(l) + ".";
    layer_weights w;
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
      w.dense = feed_weights_of(c_.intermediate_size, at, "");
    } else {
      const std::int64_t e = c_.n_routed_experts;
      const std::int64_t f = c_.moe_intermediate_size;
      w.router = weight("router", {e, d}, at);
      w.w1 = weight("experts.w1", {e, d, f}, at);
      w.w2 = weight("experts.w2", {e, f, d}, at);
      w.w3 = weight("experts.w3", {e, d, f}, at);
      w.shared = feed_weights_of(c_.n_shared_experts * f, at, "shared.");
    }
    w.attention_norm = weight("attention_norm", {d}, at);
    w.ffn_norm = weight("ffn_norm", {d}, at);
    return w;
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
  value turned(value x, value angles) { return b_.conv(from_pairs(b_.mul(as_pairs(x), angles)), dtype::bf16); }

  attention attend(const layer_weights& w, value y, value& out) {
    const std::int64_t nope = c_.qk_nope_head_dim;
    const std::int64_t rope = c_.qk_rope_head_dim;
    attention a;
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
    const value query = b_.cat({b_.getitem(parts, 0), turned(b_.getitem(parts, 1), a.angles)}, 3);
    const value one_key = turned(b_.view(position, {s_.batch, s_.sequence, 1, rope}), a.angles);
    const value keys = b_.expand(one_key, {s_.batch, s_.sequence, c_.num_attention_heads, rope});
    const value key = b_.cat({b_.getitem(kv, 0), keys}, 3);
    b_.group("attention");
    a.q = b_.permute(query, {0, 2, 1, 3});
    a.k = b_.permute(key, {0, 2, 1, 3});
    a.v = b_.permute(b_.getitem(kv, 1), {0, 2, 1, 3});
    const value all = b_.sdpa(a.q, a.k, a.v);
    a.out = b_.getitem(all, 0);
    a.sums = b_.getitem(all, 1);
    a.seed = b_.getitem(all, 2);
    a.offset = b_.getitem(all, 3);
    out = project("wo", w.wo, from_heads(b_.permute(a.out, {0, 2, 1, 3})), a.wo);
    return a;
  }
  value attend_backward(const attention& a, value g) {
    const std::int64_t nope = c_.qk_nope_head_dim;
    const std::int64_t rope = c_.qk_rope_head_dim;
    const value flat = project_backward("wo", a.wo, g);
    b_.group("attention");
    const value go = b_.permute(as_heads(flat), {0, 2, 1, 3});
    const value all = b_.sdpa_backward(go, a.q, a.k, a.v, a.out, a.sums, a.seed, a.offset);
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

  /// Which experts a token goes to, and with which weights.
  void route(value router, mixture& m) {
    b_.group("router");
    m.y32 = b_.conv(m.y, dtype::f32);
    const value logits = b_.einsum("bsd,ed->bse", {m.y32, router});
    m.scores = c_.sigmoid_scores ? b_.sigmoid(logits) : b_.softmax(logits, 2);
    const value ranked = c_.sigmoid_scores ? b_.add(m.scores, balance_) : m.scores;
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

  value forward(std::int64_t index, value x, layer& l) {
    enter(index);
    value out;
    l.attention_norm = normalize("attention_norm", l.w.attention_norm, x, c_.rms_norm_eps);
    l.attend = attend(l.w, l.attention_norm.y, out);
    const value middle = in("residual").add(x, out);
    l.ffn_norm = normalize("ffn_norm", l.w.ffn_norm, middle, c_.rms_norm_eps);
    if (is_dense(index))
      l.feed = feed(l.w.dense, l.ffn_norm.y, out);
    else
      l.experts = mix(l.w, l.ffn_norm.y, out);
    return in("residual").add(middle, out);
  }
  value backward(std::int64_t index, const layer& l, value g) {
    enter(index);
    const value dy = is_dense(index) ? feed_backward(l.feed, g) : mix_backward(l.w, l.experts, g);
    const value middle = normalize_backward("ffn_norm", l.ffn_norm, dy, g);
    return normalize_backward("attention_norm", l.attention_norm, attend_backward(l.attend, middle), middle);
  }

  deepseek_config c_;
  training_shape s_;
  value rotations_, balance_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
