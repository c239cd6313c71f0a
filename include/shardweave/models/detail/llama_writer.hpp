#pragma once

#include <shardweave/models/detail/transformer_writer.hpp>
#include <shardweave/models/llama_config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Writes what is LLaMA's own in a training step.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Attention with grouped keys and a gated feed-forward.
class llama_writer final : public transformer_writer {
  struct attention {
    attention_core core;
    value angles;
    linear wq, wk, wv, wo;
  };
  struct layer_weights {
    value wq, wk, wv, wo;
    feed_weights feed;
  };
  struct layer {
    layer_weights w;
    attention attend;
    feed_forward feed;
  };

 public:
  llama_writer(const llama_config& config, training_shape shape)
      : transformer_writer(config, shape, config.tie_word_embeddings),
        c_(config),
        layers_(static_cast<std::size_t>(config.num_hidden_layers)) {}

 private:
  layer& layer_of(std::int64_t l) { return layers_[static_cast<std::size_t>(l)]; }
  value as_heads(value x, std::int64_t heads) { return b_.view(x, {s_.batch, s_.sequence, heads, c_.head_size()}); }

  void add_weights(std::int64_t l, const std::string& at) override {
    const std::int64_t d = c_.hidden_size;
    const std::int64_t kv = c_.num_key_value_heads * c_.head_size();
    layer_of(l).w = {weight("wq", {d, d}, at), weight("wk", {kv, d}, at), weight("wv", {kv, d}, at),
                     weight("wo", {d, d}, at), feed_weights_of(d, c_.intermediate_size, at)};
  }
  void add_constants() override {
    rotations_ = b_.constant("rotations", {{s_.sequence, c_.head_size() / 2}, dtype::c64});
  }

  value add_attention(std::int64_t l, value y) override {
    const layer_weights& w = layer_of(l).w;
    attention& a = layer_of(l).attend;
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
    const value qr = turned(qc, a.angles);
    const value kr = turned(kc, a.angles);
    b_.group("attention");
    const value qt = b_.permute(qr, {0, 2, 1, 3});
    const value kt = b_.permute(kr, {0, 2, 1, 3});
    a.core = attend_core(qt, kt, b_.permute(vh, {0, 2, 1, 3}));
    const value flat = b_.view(b_.permute(a.core.out, {0, 2, 1, 3}), {s_.batch, s_.sequence, c_.hidden_size});
    return project("wo", w.wo, flat, a.wo);
  }
  value add_attention_backward(std::int64_t l, value g) override {
    const attention& a = layer_of(l).attend;
    const value flat = project_backward("wo", a.wo, g);
    b_.group("attention");
    const value go = b_.permute(as_heads(flat, c_.num_attention_heads), {0, 2, 1, 3});
    const value all = attend_core_backward(a.core, go);
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

  value add_feed(std::int64_t l, value y) override {
    value out;
    layer_of(l).feed = feed(layer_of(l).w.feed, y, out);
    return out;
  }
  value add_feed_backward(std::int64_t l, value g) override { return feed_backward(layer_of(l).feed, g); }

  llama_config c_;
  std::vector<layer> layers_;
  value rotations_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
