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
class llama_layers {
  using value = graph_builder::value;
  using feed_weights = training_parts::feed_weights;
  struct layer_weights {
    value wq, wk, wv, wo;
    value q_norm, k_norm;  ///< where heads are normed
    feed_weights feed;
  };

 public:
  /// \pre parts outlives this
  llama_layers(training_parts& parts, const llama_config& config, training_shape shape)
      : p_(parts),
        b_(parts.builder()),
        c_(config),
        s_(shape),
        weights_(static_cast<std::size_t>(config.num_hidden_layers)) {}

  [[nodiscard]] std::string kind_of(std::int64_t) const { return "layers"; }
  void add_weights(std::int64_t l, const std::string& at) {
    const std::int64_t d = c_.hidden_size;
    const std::int64_t heads = c_.num_attention_heads * c_.head_size();
    const std::int64_t kv = c_.num_key_value_heads * c_.head_size();
    weights_of(l) = {p_.weight("wq", {heads, d}, at),
                     p_.weight("wk", {kv, d}, at),
                     p_.weight("wv", {kv, d}, at),
                     p_.weight("wo", {d, heads}, at),
                     {},
                     {},
                     p_.feed_weights_of(d, c_.intermediate_size, at, "", c_.is_gated())};
    if (!c_.normed_heads) return;
    weights_of(l).q_norm = p_.weight("q_norm", {c_.head_size()}, at);
    weights_of(l).k_norm = p_.weight("k_norm", {c_.head_size()}, at);
  }
  void add_constants() {
    if (s_.attention == attention_form::plain) mask_ = b_.constant("mask", {{s_.sequence, s_.sequence}, dtype::f32});
    if (c_.rotary) rotations_ = b_.constant("rotations", {{s_.sequence, c_.head_size() / 2}, dtype::c64});
  }

  value add_attention(std::int64_t l, value y) {
    const layer_weights& w = weights_of(l);
    const value q = p_.project("wq", w.wq, y);
    const value k = p_.project("wk", w.wk, y);
    const value v = p_.project("wv", w.wv, y);
    b_.group("rope");
    value qh = as_heads(q, c_.num_attention_heads);
    value kh = as_heads(k, c_.num_key_value_heads);
    const value vh = as_heads(v, c_.num_key_value_heads);
    if (c_.normed_heads) {
      qh = p_.normalize("q_norm", w.q_norm, qh, c_.rms_norm_eps);
      kh = p_.normalize("k_norm", w.k_norm, kh, c_.rms_norm_eps);
      b_.group("rope");
    }
    value qr = qh, kr = kh;
    if (c_.rotary) {
      const value qc = p_.as_pairs(qh);
      const value kc = p_.as_pairs(kh);
      const value angles = b_.view(rotations_, {1, s_.sequence, 1, c_.head_size() / 2});
      qr = p_.turned(qc, angles);
      kr = p_.turned(kc, angles);
    }
    const value qt = p_.in("attention").permute(qr, {0, 2, 1, 3});
    const value kt = b_.permute(kr, {0, 2, 1, 3});
    const value vt = b_.permute(vh, {0, 2, 1, 3});
    const value out =
        s_.attention == attention_form::plain ? p_.attend_plainly(qt, kt, vt, mask_) : p_.attend(qt, kt, vt);
    const std::int64_t width = c_.num_attention_heads * c_.head_size();
    return p_.project("wo", w.wo, b_.view(b_.permute(out, {0, 2, 1, 3}), {s_.batch, s_.sequence, width}));
  }
  value add_feed(std::int64_t l, value y) {
    const feed_weights& w = weights_of(l).feed;
    return c_.is_gated() ? p_.feed(w, y) : p_.plain_feed(w, y, c_.feed_forward == feed_forward_kind::squared_relu);
  }

 private:
  layer_weights& weights_of(std::int64_t l) { return weights_[static_cast<std::size_t>(l)]; }
  value as_heads(value x, std::int64_t heads) { return b_.view(x, {s_.batch, s_.sequence, heads, c_.head_size()}); }

  training_parts& p_;
  graph_builder& b_;
  llama_config c_;
  training_shape s_;
  std::vector<layer_weights> weights_;
  value rotations_, mask_;
};

}  // namespace detail

SHARDWEAVE_INLINE computation llama_training_graph(const llama_config& config, training_shape shape) {
  detail::check_training(config, shape);
  return detail::transformer_writer<detail::llama_layers>(config, shape, config.tie_word_embeddings).write();
}

}  // namespace shardweave::inline v0
