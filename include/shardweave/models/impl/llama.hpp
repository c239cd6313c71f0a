#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/models/detail/transformer_writer.hpp>
#include <shardweave/models/llama.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// How the graph of a LLaMA model is written.

namespace shardweave::inline v0 {
namespace detail {

/// Attention with grouped keys and a gated feed-forward.
class llama_writer final : public transformer_writer {
  struct layer_weights {
    value wq, wk, wv, wo;
    value q_norm, k_norm;  ///< where heads are normed
    feed_weights feed;
  };

 public:
  llama_writer(const llama_config& config, training_shape shape)
      : transformer_writer(config, shape, config.tie_word_embeddings),
        c_(config),
        weights_(static_cast<std::size_t>(config.num_hidden_layers)) {}

 private:
  layer_weights& weights_of(std::int64_t l) { return weights_[static_cast<std::size_t>(l)]; }
  value as_heads(value x, std::int64_t heads) { return b_.view(x, {s_.batch, s_.sequence, heads, c_.head_size()}); }

  void add_weights(std::int64_t l, const std::string& at) override {
    const std::int64_t d = c_.hidden_size;
    const std::int64_t heads = c_.num_attention_heads * c_.head_size();
    const std::int64_t kv = c_.num_key_value_heads * c_.head_size();
    weights_of(l) = {weight("wq", {heads, d}, at),
                     weight("wk", {kv, d}, at),
                     weight("wv", {kv, d}, at),
                     weight("wo", {d, heads}, at),
                     {},
                     {},
                     feed_weights_of(d, c_.intermediate_size, at, "", c_.is_gated())};
    if (!c_.normed_heads) return;
    weights_of(l).q_norm = weight("q_norm", {c_.head_size()}, at);
    weights_of(l).k_norm = weight("k_norm", {c_.head_size()}, at);
  }
  void add_constants() override {
    if (s_.attention == attention_form::plain) mask_ = b_.constant("mask", {{s_.sequence, s_.sequence}, dtype::f32});
    if (c_.rotary) rotations_ = b_.constant("rotations", {{s_.sequence, c_.head_size() / 2}, dtype::c64});
  }

  value add_attention(std::int64_t l, value y) override {
    const layer_weights& w = weights_of(l);
    const value q = project("wq", w.wq, y);
    const value k = project("wk", w.wk, y);
    const value v = project("wv", w.wv, y);
    b_.group("rope");
    value qh = as_heads(q, c_.num_attention_heads);
    value kh = as_heads(k, c_.num_key_value_heads);
    const value vh = as_heads(v, c_.num_key_value_heads);
    if (c_.normed_heads) {
      qh = normalize("q_norm", w.q_norm, qh, c_.rms_norm_eps);
      kh = normalize("k_norm", w.k_norm, kh, c_.rms_norm_eps);
      b_.group("rope");
    }
    value qr = qh, kr = kh;
    if (c_.rotary) {
      const value qc = as_pairs(qh);
      const value kc = as_pairs(kh);
      const value angles = b_.view(rotations_, {1, s_.sequence, 1, c_.head_size() / 2});
      qr = turned(qc, angles);
      kr = turned(kc, angles);
    }
    const value qt = in("attention").permute(qr, {0, 2, 1, 3});
    const value kt = b_.permute(kr, {0, 2, 1, 3});
    const value vt = b_.permute(vh, {0, 2, 1, 3});
    const value out = s_.attention == attention_form::plain ? attend_plainly(qt, kt, vt, mask_) : attend(qt, kt, vt);
    const std::int64_t width = c_.num_attention_heads * c_.head_size();
    return project("wo", w.wo, b_.view(b_.permute(out, {0, 2, 1, 3}), {s_.batch, s_.sequence, width}));
  }
  value add_feed(std::int64_t l, value y) override {
    const feed_weights& w = weights_of(l).feed;
    return c_.is_gated() ? feed(w, y) : plain_feed(w, y, c_.feed_forward == feed_forward_kind::squared_relu);
  }

  llama_config c_;
  std::vector<layer_weights> weights_;
  value rotations_, mask_;
};

}  // namespace detail

SHARDWEAVE_INLINE computation llama_training_graph(const llama_config& config, training_shape shape) {
  detail::check_training(config, shape);
  return detail::llama_writer(config, shape).write();
}

}  // namespace shardweave::inline v0
