#pragma once

#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/detail/training_parts.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama_config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Writes the parts of a LLaMA-family model, forward and backward.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Writes the graph; every forward part leaves behind what its backward part needs.
class llama_writer : private training_parts {
  struct attention {
    value q, k, v, out, sums, seed, offset, angles;
    linear wq, wk, wv, wo;
  };
  struct layer_weights {
    value wq, wk, wv, wo, w1, w2, w3, attention_norm, ffn_norm;
  };
  struct layer {
    norm attention_norm, ffn_norm;
    attention attend;
    feed_forward feed;
  };

 public:
  llama_writer(const llama_config& config, training_shape shape) : training_parts(config.name), c_(config), s_(shape) {}

  computation write() {
    const std::int64_t d = c_.hidden_size;
    const std::int64_t h = c_.head_size();
    const std::int64_t kv = c_.num_key_value_heads * h;
    const std::int64_t f = c_.intermediate_size;
    const auto weight = [this](const std::string& name, shape_vector shape, const std::string& prefix = "") {
      return b_.group(name).parameter(prefix + name, {std::move(shape), dtype::f32});
    };

    const value embedding = weight("embedding", {c_.vocab_size, d});
    std::vector<layer_weights> weights;
    for (std::int64_t l = 0; l < c_.num_hidden_layers; ++l) {
      const std::string at = "layers." + std::to_string(l) + ".";
      b_.layer(l);
      weights.push_back({weight("wq", {d, d}, at), weight("wk", {kv, d}, at), weight("wv", {kv, d}, at),
                         weight("wo", {d, d}, at), weight("w1", {f, d}, at), weight("w2", {d, f}, at),
                         weight("w3", {f, d}, at), weight("attention_norm", {d}, at), weight("ffn_norm", {d}, at)});
    }
    b_.layer(-1);
    const value last_norm = weight("norm", {d});
    const value output = c_.tie_word_embeddings ? embedding : weight("output", {c_.vocab_size, d});
    const value tokens = b_.group("").input("tokens", {{s_.batch, s_.sequence}, dtype::i64});
    rotations_ = b_.constant("rotations", {{s_.sequence, h / 2}, dtype::c64});

    b_.group("embedding");
    value x = b_.embedding(b_.cast(embedding, dtype::bf16), tokens);
    std::vector<layer> layers;
    for (std::int64_t l = 0; l < c_.num_hidden_layers; ++l)
      x = forward(l, weights[static_cast<std::size_t>(l)], x, layers);
    b_.layer(-1);
    const norm final_norm = normalize("norm", last_norm, x, c_.rms_norm_eps);
    linear head;
    const value logits = project("output", output, final_norm.y, head);
    b_.result(logits);

    b_.when(phase::backward).group("output");
    value g = b_.tangent("tangent", logits);
    std::optional<value> shared_gradient;  // of a weight that is embedding and output at once
    g = project_backward("output", head, g, c_.tie_word_embeddings ? &shared_gradient : nullptr);
    g = normalize_backward("norm", final_norm, g);
    for (std::int64_t l = c_.num_hidden_layers; l-- > 0;) g = backward(l, layers[static_cast<std::size_t>(l)], g);
    b_.layer(-1).group("embedding");
    value ge = b_.cast(b_.embedding_backward(g, tokens, c_.vocab_size), dtype::f32);
    if (shared_gradient) ge = b_.add(*shared_gradient, ge);
    b_.gradient(embedding, ge);
    b_.group("");
    return insert_aliases(b_.finish());
  }

 private:
  value as_heads(value x, std::int64_t heads) { return b_.view(x, {s_.batch, s_.sequence, heads, c_.head_size()}); }
  attention attend(const layer_weights& w, value y, value& out) {
    attention a;
    const value q = project("wq", w.wq, y, a.wq);
    const value k = project("wk", w.wk, y, a.wk);
    const value v = project("wv", w.wv, y, a.wv);
    b_.group("rope");
    const value qh = as_heads(q, c_.num_attention_heads);
    const value kh = as_heads(k, c_.num_key_value_heads);
    const value vh = as_heads(v, c_.num_key_value_heads);
    const value qc = as_pairs(qh);
    const value kc = as_pairs(kh);
    a.angles = b_.view(rotations_, {1, s_.sequence, 1, c_.head_size() / 2});
    const value qr = b_.conv(from_pairs(b_.mul(qc, a.angles)), dtype::bf16);
    const value kr = b_.conv(from_pairs(b_.mul(kc, a.angles)), dtype::bf16);
    b_.group("attention");
    a.q = b_.permute(qr, {0, 2, 1, 3});
    a.k = b_.permute(kr, {0, 2, 1, 3});
    a.v = b_.permute(vh, {0, 2, 1, 3});
    const value all = b_.sdpa(a.q, a.k, a.v);
    a.out = b_.getitem(all, 0);
    a.sums = b_.getitem(all, 1);
    a.seed = b_.getitem(all, 2);
    a.offset = b_.getitem(all, 3);
    const value flat = b_.view(b_.permute(a.out, {0, 2, 1, 3}), {s_.batch, s_.sequence, c_.hidden_size});
    out = project("wo", w.wo, flat, a.wo);
    return a;
  }
  value attend_backward(const attention& a, value g) {
    const value flat = project_backward("wo", a.wo, g);
    b_.group("attention");
    const value go = b_.permute(as_heads(flat, c_.num_attention_heads), {0, 2, 1, 3});
    const value all = b_.sdpa_backward(go, a.q, a.k, a.v, a.out, a.sums, a.seed, a.offset);
    const auto part = [&](std::int64_t index) { return b_.permute(b_.getitem(all, index), {0, 2, 1, 3}); };
    const value dq = part(0);
    const value dk = part(1);
    const value dv = part(2);
    b_.group("rope");
    const std::int64_t kv = c_.num_key_value_heads * c_.head_size();
    const value dk_turned = turned_back(dk, a.angles);
    const value dq_turned = turned_back(dq, a.angles);
    const value fv = b_.view(dv, {s_.batch, s_.sequence, kv});
    const value fk = b_.view(dk_turned, {s_.batch, s_.sequence, kv});
    const value fq = b_.view(dq_turned, {s_.batch, s_.sequence, c_.hidden_size});
    const value from_v = project_backward("wv", a.wv, fv);
    const value from_k = project_backward("wk", a.wk, fk);
    const value both = b_.add(from_v, from_k);
    const value from_q = project_backward("wq", a.wq, fq);
    return b_.add(both, from_q);
  }

  value forward(std::int64_t index, const layer_weights& w, value x, std::vector<layer>& layers) {
    b_.layer(index);
    layer l;
    value out;
    l.attention_norm = normalize("attention_norm", w.attention_norm, x, c_.rms_norm_eps);
    l.attend = attend(w, l.attention_norm.y, out);
    b_.group("residual");
    const value middle = b_.add(x, out);
    l.ffn_norm = normalize("ffn_norm", w.ffn_norm, middle, c_.rms_norm_eps);
    l.feed = feed({w.w1, w.w2, w.w3}, l.ffn_norm.y, out);
    layers.push_back(l);
    b_.group("residual");
    return b_.add(middle, out);
  }
  value backward(std::int64_t index, const layer& l, value g) {
    b_.layer(index);
    const value middle = normalize_backward("ffn_norm", l.ffn_norm, feed_backward(l.feed, g), g);
    return normalize_backward("attention_norm", l.attention_norm, attend_backward(l.attend, middle), middle);
  }

  llama_config c_;
  training_shape s_;
  value rotations_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
