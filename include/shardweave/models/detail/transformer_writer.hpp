#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/detail/training_parts.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/spmd/computation.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// Writes a training step of a transformer, whatever its layers attend with and feed forward through.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// \throws error if there is a problem with the config, or no tokens are given to the model
template <class Config>
void check_training(const Config& config, training_shape shape) {
  const auto wrong = [&](const std::string& what) {
    refuse(error_category::input, "model '" + config.name + "': " + what);
  };
  if (const std::string problem = config.problem(); !problem.empty()) wrong(problem);
  if (shape.batch <= 0 || shape.sequence <= 0)
    wrong("batch is " + std::to_string(shape.batch) + " and sequence " + std::to_string(shape.sequence) +
          ", expected positive numbers");
}

/// Layers are m = x + attention(norm(x)) and m + feed(norm(m)), between an embedding and, after a last norm, the
/// output. A model derives from this to say what the two are, and keeps by layer what their backward parts need.
class transformer_writer : protected training_parts {
 public:
  /// From tokens to logits, and from the gradient of the logits to those of all parameters.
  computation write() {
    const value embedding = weight("embedding", {vocabulary_, width_});
    for (std::int64_t l = 0; l < layer_count_; ++l) add_weights_of(l);
    b_.layer(-1);
    const value last_norm = weight("norm", {width_});
    const value output = tied_ ? embedding : weight("output", {vocabulary_, width_});
    const value tokens = b_.group("").input("tokens", {{s_.batch, s_.sequence}, dtype::i64});
    add_constants();

    b_.group("embedding");
    value x = b_.embedding(b_.cast(embedding, dtype::bf16), tokens);
    for (std::int64_t l = 0; l < layer_count_; ++l) x = forward(l, x);
    b_.layer(-1);
    const norm final_norm = normalize("norm", last_norm, x, eps_);
    linear head;
    const value logits = project("output", output, final_norm.y, head);
    b_.result(logits);

    b_.when(phase::backward).group("output");
    value g = b_.tangent("tangent", logits);
    std::optional<value> shared_gradient;  // of a weight that is embedding and output at once
    g = project_backward("output", head, g, tied_ ? &shared_gradient : nullptr);
    g = normalize_backward("norm", final_norm, g);
    for (std::int64_t l = layer_count_; l-- > 0;) g = backward(l, g);
    b_.layer(-1).group("embedding");
    value ge = b_.cast(b_.embedding_backward(g, tokens, vocabulary_), dtype::f32);
    if (shared_gradient) ge = b_.add(*shared_gradient, ge);
    b_.gradient(embedding, ge);
    b_.group("");
    return insert_aliases(b_.finish());
  }

 protected:
  /// \param config  has the fields of public configs that all models have
  /// \param tied    the output weight is the embedding
  template <class Config>
  transformer_writer(const Config& config, training_shape shape, bool tied)
      : training_parts(config.name),
        s_(shape),
        vocabulary_(config.vocab_size),
        width_(config.hidden_size),
        layer_count_(config.num_hidden_layers),
        eps_(config.rms_norm_eps),
        tied_(tied),
        norms_(static_cast<std::size_t>(layer_count_)) {}
  ~transformer_writer() = default;

  // What a model says, layer by layer
  [[nodiscard]] virtual std::string kind_of(std::int64_t) const { return "layers"; }
  /// \param at  what the names of the layer's weights begin with
  virtual void add_weights(std::int64_t l, const std::string& at) = 0;
  virtual void add_constants() = 0;
  virtual value add_attention(std::int64_t l, value y) = 0;
  virtual value add_attention_backward(std::int64_t l, value g) = 0;
  virtual value add_feed(std::int64_t l, value y) = 0;
  virtual value add_feed_backward(std::int64_t l, value g) = 0;

  training_shape s_;

 private:
  struct norms {
    norm attention, feed;
  };
  norms& norms_of(std::int64_t l) { return norms_[static_cast<std::size_t>(l)]; }

  void add_weights_of(std::int64_t l) {
    const std::string kind = kind_of(l);
    const std::string at = kind + "." + std::to_string(l) + ".";
    b_.layer(l, kind);
    add_weights(l, at);
    norms_of(l).attention.weight = weight("attention_norm", {width_}, at);
    norms_of(l).feed.weight = weight("ffn_norm", {width_}, at);
  }
  value forward(std::int64_t l, value x) {
    b_.layer(l, kind_of(l));
    norms& n = norms_of(l);
    n.attention = normalize("attention_norm", n.attention.weight, x, eps_);
    const value middle = residual(x, add_attention(l, n.attention.y));
    n.feed = normalize("ffn_norm", n.feed.weight, middle, eps_);
    return residual(middle, add_feed(l, n.feed.y));
  }
  value backward(std::int64_t l, value g) {
    b_.layer(l, kind_of(l));
    const norms& n = norms_of(l);
    const value middle = normalize_backward("ffn_norm", n.feed, add_feed_backward(l, g), g);
    return normalize_backward("attention_norm", n.attention, add_attention_backward(l, middle), middle);
  }
  value residual(value x, value more) {
    b_.group("residual");
    return b_.add(x, more);
  }

  std::int64_t vocabulary_, width_, layer_count_;
  double eps_;
  bool tied_;
  std::vector<norms> norms_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
