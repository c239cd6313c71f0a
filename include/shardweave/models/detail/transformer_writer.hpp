#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/models/detail/loss_parts.hpp>
#include <shardweave/models/detail/training_parts.hpp>
#include <shardweave/models/joint_graph.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/spmd/computation.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Writes a training step of a transformer, whatever its layers attend with and feed forward through.

namespace shardweave::inline v0::detail {

/// \throws error if there is a problem with the config, no tokens are given to the model, or no equal chunks are left
template <class Config>
void check_training(const Config& config, training_shape shape) {
  const auto wrong = [&](const std::string& what) {
    refuse(error_category::input, "model '" + config.name + "': " + what);
  };
  if (const std::string problem = config.problem(); !problem.empty()) wrong(problem);
  if (shape.batch <= 0 || shape.sequence <= 0)
    wrong("batch is " + std::to_string(shape.batch) + " and sequence " + std::to_string(shape.sequence) +
          ", expected positive numbers");
  constexpr std::int64_t most_tokens = 1'000'000'000'000;  // with the figures of any model their sizes stay in 64 bits
  if (shape.batch > most_tokens / shape.sequence)
    wrong("a batch of " + std::to_string(shape.batch) + " sequences of " + std::to_string(shape.sequence) +
          " tokens is more than any step takes, expected " + std::to_string(most_tokens) + " tokens at most");
  if (shape.loss_chunks <= 0 || shape.sequence % shape.loss_chunks != 0)
    wrong("the loss of a sequence of " + std::to_string(shape.sequence) + " has no " +
          std::to_string(shape.loss_chunks) + " equal chunks");
  if (shape.loss_chunks > 1 && shape.loss == training_loss::logits) wrong("chunks are of a loss, found logits");
}

/// Layers are m = x + attention(norm(x)) and m + feed(norm(m)), between an embedding and, after a last norm, the
/// output. `Layers` says what the two are, and is told of each layer by its number:
///   - `kind_of(l)`: the name of its kind;
///   - `add_weights(l, at)`: `at` is what the names of its weights begin with;
///   - `add_constants()`, once, after all weights;
///   - `add_attention(l, y)` and `add_feed(l, y)`.
template <class Layers>
class transformer_writer {
  using value = graph_builder::value;

 public:
  /// \param config   has the fields of public configs that all models have
  /// \param tied     the output weight is the embedding
  /// \param further  so many modules follow that predict one token more each
  template <class Config>
  transformer_writer(const Config& config, training_shape shape, bool tied, std::int64_t further = 0)
      : p_(config.name),
        loss_(p_),
        layers_(p_, config, shape),
        s_(shape),
        vocabulary_(config.vocab_size),
        width_(config.hidden_size),
        layer_count_(config.num_hidden_layers),
        further_count_(further),
        eps_(config.rms_norm_eps),
        tied_(tied),
        weights_(static_cast<std::size_t>(layer_count_ + further)) {}
  transformer_writer(const transformer_writer&) = delete;  // layers know where the parts are
  transformer_writer& operator=(const transformer_writer&) = delete;

  /// From tokens to logits, and from the gradient of the logits to those of all parameters.
  computation write() {
    const value embedding = p_.weight("embedding", {vocabulary_, width_});
    for (std::int64_t l = 0; l < layer_count_ + further_count_; ++l) add_weights_of(l);
    b().layer(-1);
    const value last_norm = p_.weight("norm", {width_});
    const value output = tied_ ? embedding : p_.weight("output", {vocabulary_, width_});
    const value tokens = input("tokens");
    const bool has_loss = s_.loss != training_loss::logits;
    const value labels = has_loss ? input("labels") : value{};
    layers_.add_constants();

    const value table = p_.in("embedding").cast(embedding, dtype::bf16);
    value x = b().embedding(table, tokens);
    for (std::int64_t l = 0; l < layer_count_; ++l) x = add_layer(l, x);
    b().layer(-1);
    const value y = p_.normalize("norm", last_norm, x, eps_);
    const value head = p_.transposed("output", output);
    if (s_.loss_chunks > 1) {
      b().result(loss_.mean_loss_of_chunks(y, head, labels, s_.loss, s_.loss_chunks));
    } else {
      const value logits = b().einsum("bsk,kn->bsn", {y, head});
      b().result(has_loss ? loss_.mean_loss(logits, labels, s_.loss) : logits);
    }
    for (std::int64_t l = layer_count_; l < layer_count_ + further_count_; ++l) {
      x = add_further(l, x, table);
      const value more = p_.normalize("norm", weights_of_layer(l).last, x, eps_);
      b().result(p_.in("output").einsum("bsk,kn->bsn", {more, head}));
    }
    b().layer(-1);
    return joint_graph(std::move(b()));
  }

 private:
  struct layer_weights {
    value attention_norm, ffn_norm;
    value state_norm, token_norm, join, last;  // of a module that predicts a further token
  };
  [[nodiscard]] graph_builder& b() { return p_.builder(); }
  layer_weights& weights_of_layer(std::int64_t l) { return weights_[static_cast<std::size_t>(l)]; }
  value input(const std::string& name) { return p_.in("").input(name, {{s_.batch, s_.sequence}, dtype::i64}); }

  void add_weights_of(std::int64_t l) {
    const std::string kind = layers_.kind_of(l);
    const std::string at = kind + "." + std::to_string(l) + ".";
    b().layer(l, kind);
    layers_.add_weights(l, at);
    layer_weights& w = weights_of_layer(l);
    w.attention_norm = p_.weight("attention_norm", {width_}, at);
    w.ffn_norm = p_.weight("ffn_norm", {width_}, at);
    if (l < layer_count_) return;
    w.state_norm = p_.weight("state_norm", {width_}, at);
    w.token_norm = p_.weight("token_norm", {width_}, at);
    w.join = p_.weight("join", {width_, 2 * width_}, at);
    w.last = p_.weight("norm", {width_}, at);
  }
  value add_layer(std::int64_t l, value x) {
    b().layer(l, layers_.kind_of(l));
    const layer_weights& w = weights_of_layer(l);
    const value middle =
        residual(x, layers_.add_attention(l, p_.normalize("attention_norm", w.attention_norm, x, eps_)));
    return residual(middle, layers_.add_feed(l, p_.normalize("ffn_norm", w.ffn_norm, middle, eps_)));
  }
  /// A layer on what the one before it gave and the next token, both normalized and side by side.
  value add_further(std::int64_t l, value x, value table) {
    b().layer(-1);
    const value tokens = input("tokens." + std::to_string(l - layer_count_ + 1));
    b().layer(l, layers_.kind_of(l));
    const layer_weights& w = weights_of_layer(l);
    const value state = p_.normalize("state_norm", w.state_norm, x, eps_);
    const value next = p_.normalize("token_norm", w.token_norm, p_.in("embedding").embedding(table, tokens), eps_);
    return add_layer(l, p_.project("join", w.join, p_.in("join").cat({state, next}, 2)));
  }
  value residual(value x, value more) { return p_.in("residual").add(x, more); }

  training_parts p_;
  loss_parts loss_;
  Layers layers_;
  training_shape s_;
  std::int64_t vocabulary_, width_, layer_count_, further_count_;
  double eps_;
  bool tied_;
  std::vector<layer_weights> weights_;
};

}  // namespace shardweave::inline v0::detail
