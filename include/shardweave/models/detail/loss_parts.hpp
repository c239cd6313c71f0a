#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/models/backward_pass.hpp>
#include <shardweave/models/detail/training_parts.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/llama_config.hpp>

#include <cstdint>
#include <functional>
#include <vector>

/// \file
/// How the loss of a training step is written: of all logits, or chunk by chunk.

namespace shardweave::inline v0::detail {

class loss_parts {
 public:
  using value = graph_builder::value;

  /// \pre parts outlives this
  explicit loss_parts(training_parts& parts) : p_(parts), b_(parts.builder()) {}

  /// The mean over all tokens of the cross entropy of logits [batch, position, word].
  value mean_loss(value logits, value classes, training_loss how) {
    b_.group("loss");
    if (how == training_loss::fused) return b_.mean(b_.getitem(b_.cross_entropy(logits, classes), 0), {0, 1});
    const token_losses of = losses_of(logits, classes, how);
    b_.with_gradient(of.loss, [of](backward_pass& p) { p.give(of.from, of.gradient(p.builder(), p.gradient())); });
    return b_.mean(of.loss, {0, 1});
  }

  /// The same from what the output is computed of, so that there are logits of one chunk at a time: after its losses
  /// the gradients of its part of `x`, and of the output weight, which are added up. The backward pass takes both as
  /// they are, times the gradient of the loss, which nothing in a chunk needs. Chunk i has every chunks-th position
  /// from the i-th on, so that each device has a part of each, however positions are cut.
  /// \param x       [batch, position, width]
  /// \param weight  [width, word]
  /// \pre the positions are a multiple of the chunks
  value mean_loss_of_chunks(value x, value weight, value classes, training_loss how, std::int64_t chunks) {
    const shape_vector shape = b_.of_value(x).shape;
    const shape_vector of_chunk{shape[0], shape[1] / chunks};
    const auto tokens = static_cast<double>(shape[0] * shape[1]);
    const value one =
        p_.in("loss").constant("one", {{1, 1}, dtype::f32});  // what the losses of a chunk are weighted with
    const value all_classes = b_.view(classes, {of_chunk[0], of_chunk[1], chunks});
    const value all_places = p_.in("norm").view(x, {of_chunk[0], of_chunk[1], chunks, shape[2]});
    const value back = p_.in("output").permute(weight, {1, 0});
    std::vector<value> of_x;
    value sum{}, of_weight{};
    for (std::int64_t i = 0; i < chunks; ++i) {
      const auto add_up = [&](value& total, value more) { total = i == 0 ? more : b_.add(total, more); };
      const value places = p_.in("norm").view(b_.slice(all_places, 2, i, 1), {of_chunk[0], of_chunk[1], shape[2]});
      const value logits = p_.in("output").einsum("bsk,kn->bsn", {places, weight});
      const value picked = p_.in("loss").view(b_.slice(all_classes, 2, i, 1), of_chunk);
      const token_losses of = losses_of(logits, picked, how);
      const shape_vector rows = b_.of_value(of.loss).shape;
      add_up(sum, b_.sum(b_.view(of.loss, of_chunk), {0, 1}));
      const value weights = b_.view(b_.expand(one, of_chunk), rows);
      value gradient = of.gradient(b_, weights);
      if (of.from != logits) gradient = b_.conv(gradient, b_.of_value(logits).type);
      const value back_there = b_.einsum("bsn,nk->bsk", {gradient, back});
      of_x.push_back(b_.view(back_there, {of_chunk[0], of_chunk[1], 1, shape[2]}));
      b_.when(phase::backward);  // it is a gradient of a parameter, and reduced as such
      add_up(of_weight, b_.einsum("bsn,bsk->kn", {gradient, places}));
      b_.when(phase::forward);
    }
    const value loss = p_.in("loss").div_scalar(sum, tokens);
    b_.with_gradient(loss, [=](backward_pass& p) {
      graph_builder& b = p.builder();
      const value share = b.conv(b.div_scalar(p.gradient(), tokens), b.of_value(x).type);
      p.give(weight, b.mul(of_weight, share));
      p.give(x, b.mul(b.view(b.cat(of_x, 2), shape), share));
    });
    return loss;
  }

 private:
  /// The loss of each token, and what its gradient makes the gradient of `from`: the logits, or a copy of them.
  struct token_losses {
    value loss, from;
    std::function<value(graph_builder&, value)> gradient;
  };

  token_losses losses_of(value logits, value classes, training_loss how) {
    if (how == training_loss::fused) {
      const value both = b_.cross_entropy(logits, classes);
      const value loss = b_.getitem(both, 0), sums = b_.getitem(both, 1);
      return {loss, logits,
              [=](graph_builder& b, value g) { return b.cross_entropy_backward(g, logits, classes, sums); }};
    }
    const value wide = b_.conv(logits, dtype::f32);
    const shape_vector shape = b_.of_value(wide).shape;
    const std::int64_t words = shape[2];
    if (how == training_loss::sharded) return losses_of_pieces(wide, classes, shape);
    const value picked = b_.view(classes, {shape[0], shape[1], 1});
    const value logs = b_.log_softmax(wide, -1);
    const value loss = b_.neg(b_.gather(logs, picked, -1));
    return {loss, wide, [=](graph_builder& b, value g) {
              const value of_logs = b.gather_backward(b.neg(g), picked, words, -1);
              return b.log_softmax_backward(of_logs, logs, -1);
            }};
  }

  /// By operations that all may be cut by words.
  token_losses losses_of_pieces(value wide, value classes, const shape_vector& shape) {
    const value picked = b_.view(classes, {shape[0], shape[1], 1});
    const value most = b_.amax(wide, {-1}, true);
    const value sum = b_.sum(b_.exp(b_.sub(wide, most)), {-1}, true);
    const value all = b_.add(b_.log(sum), most);
    const value loss = b_.sub(all, b_.gather(wide, picked, -1));
    return {loss, wide, [=, words = shape[2]](graph_builder& b, value g) {
              const value share = b.mul(b.exp(b.sub(wide, all)), g);
              return b.sub(share, b.gather_backward(g, picked, words, -1));
            }};
  }

  training_parts& p_;
  graph_builder& b_;
};

}  // namespace shardweave::inline v0::detail
