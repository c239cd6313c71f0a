#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/models/detail/layout_groups.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/rules/selection.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What usual plans say of each operation.

namespace shardweave::inline v0 {

namespace detail {

/// Says of each operation where its first result lies along each mesh dimension, as far as the layout says it.
class layout_writer {
 public:
  layout_writer(const spmd_cost_model& model, const training_layout& layout, bool gathers_f8)
      : model_(model),
        graph_(model.operations()),
        layout_(layout),
        gathers_f8_(gathers_f8),
        wanted_(graph_.operations.size()) {
    std::size_t next = 0;
    if (layout.replicas > 1) replica_ = next++;
    if (layout.shards > layout.experts) shard_ = next++;
    if (layout.experts > 1) expert_ = next++;
    if (layout.context > 1) context_ = next++;
    if (layout.tensor > 1) tensor_ = next++;
    if (model.mesh() != layout.mesh())
      refuse(error_category::constraint, "layout " + layout.to_string() + " is one of a mesh " +
                                             layout.mesh().to_string() + ", found " + model.mesh().to_string());
  }

  [[nodiscard]] constraint_set write() {
    const auto has_experts = [](const operation& op) { return op.kind == role::parameter && is_expert(op.group); };
    if (expert_ && std::ranges::none_of(graph_.operations, has_experts))
      refuse(error_category::input, "layout " + layout_.to_string() + " shares out experts, but the model has none");
    find_data();
    for (std::uint32_t v = 0; v < graph_.operations.size(); ++v) {
      const operation& op = graph_.operations[v];
      if (op.outputs.empty()) continue;
      if (op.kind == role::parameter) {
        place_parameter(v, v, false);
      } else if (op.kind == role::input) {
        along_data(v, dim_placement::shard(0));
        along(v, context_, dim_placement::shard(1));
        along(v, tensor_, dim_placement::replicate());
      } else if (is_of_experts(v)) {
        place_slots(v);
      } else if (is_data_[v] && op.outputs.front().rank() >= 3) {
        along_data(v, dim_placement::shard(0));
        place_value(v);
        place_positions(v);
      } else if (!is_data_[v]) {
        place_weight(v);
      }
    }
    for (const auto& [parameter, gradient] : graph_.gradient_of)
      if (graph_.operations[parameter].kind == role::parameter) {
        place_parameter(gradient, parameter, true);
        place_before(gradient);
      }
    constraint_set all;
    for (std::uint32_t v = 0; v < graph_.operations.size(); ++v)
      if (!graph_.operations[v].outputs.empty()) state(all, v);
    for (const auto& [result, tangent] : graph_.tangent_of)
      all.pairs.push_back(results_alike(model_, result, tangent, "incoming gradient placed as its result"));
    tie_layers(all, model_);
    return all;
  }

 private:
  struct wish {
    std::array<std::optional<dim_placement>, 5> along;
    bool must = false;  ///< refused where it cannot be; else what cannot be is left out, the last dimension first
  };
  using dimension = std::optional<std::size_t>;

  void along(std::uint32_t v, dimension d, dim_placement where) {
    if (d) wanted_[v].along[*d] = where;
  }

  /// Along all that see different data.
  void along_data(std::uint32_t v, dim_placement where) {
    along(v, replica_, where);
    along(v, shard_, where);
    along(v, expert_, where);
  }

  /// What comes from tokens or incoming gradients, and is not the gradient of a parameter.
  void find_data() {
    is_data_.assign(graph_.operations.size(), false);
    for (std::uint32_t v = 0; v < graph_.operations.size(); ++v) {
      const operation& op = graph_.operations[v];
      is_data_[v] = op.kind == role::input || op.kind == role::tangent;
      if (op.kind == role::input && op.outputs.front().rank() == 2) sequence_ = op.outputs.front().shape[1];
      if (op.kind == role::parameter && op.group == "wkv_a") has_latents_ = true;
      for (const std::uint32_t p : op.inputs) is_data_[v] = is_data_[v] || is_data_[p];
    }
  }

  /// What latent attention computes at the width to which it compresses: as values between products.
  [[nodiscard]] bool is_latent(std::string_view group) const {
    return has_latents_ && is_one_of(group, {"wq_a", "q_norm", "wkv_a", "kv_norm"});
  }

  void place_parameter(std::uint32_t v, std::uint32_t parameter, bool is_gradient) {
    const operation& op = graph_.operations[parameter];
    wanted_[v].must = true;
    const bool of_experts = is_expert(op.group);
    const bool cut_by_tensor =
        tensor_ && (of_experts || (op.outputs.front().rank() == 2 && (by_columns(op.group) || by_rows(op.group))));
    const std::size_t cut = of_experts ? inner_of(op.group) : by_rows(op.group) ? 1 : 0;
    if (tensor_) along(v, tensor_, cut_by_tensor ? dim_placement::shard(cut) : dim_placement::replicate());
    along_data(v, dim_placement::replicate());
    along(v, context_, dim_placement::replicate());
    if (of_experts && expert_) along(v, expert_, dim_placement::shard(0));
    if (layout_.stage != zero_stage::parameters && !(layout_.updates_parts() && is_gradient)) return;
    // the dimension that tensor parallelism leaves: both cuts of one would nest
    if (of_experts) return share_experts(v, op.outputs.front(), 3 - cut);
    std::size_t where = cut_by_tensor ? 1 - cut : 0;
    if (op.outputs.front().shape[where] < layout_.sharers() && op.outputs.front().rank() == 2 && !cut_by_tensor)
      where = 1 - where;
    const std::int64_t extent = op.outputs.front().shape[where];
    if (extent >= layout_.shards) along(v, shard_, dim_placement::shard(where));
    if (extent >= layout_.shards) along(v, expert_, dim_placement::shard(where));
    if (extent >= layout_.sharers()) along(v, context_, dim_placement::shard(where));
  }
  /// By experts, if all sharers get some; else by the features `outer`, which tensor parallelism leaves whole.
  void share_experts(std::uint32_t v, const tensor& weight, std::size_t outer) {
    const std::size_t where = expert_ || weight.shape[0] < layout_.sharers() ? outer : 0;
    const std::int64_t sharers = layout_.sharers() / layout_.experts;
    if (weight.shape[where] < sharers) return;
    along(v, shard_, dim_placement::shard(where));
    along(v, context_, dim_placement::shard(where));
  }

  /// Slots of experts, [expert, sequence, place, width], and what is computed for the weights of experts.
  [[nodiscard]] bool is_of_experts(std::uint32_t v) const {
    const operation& op = graph_.operations[v];
    if (is_expert(op.group)) return true;
    return is_one_of(op.group, {"dispatch", "silu"}) && op.outputs.front().rank() == 4;
  }
  /// Slots are cut by sequences; where experts are shared out only as they are made and added up, and by experts
  /// between: what is kept of them is what comes next of the two, so that each way is gone once. Tensor parallelism
  /// cuts features.
  void place_slots(std::uint32_t v) {
    const operation& op = graph_.operations[v];
    if (op.outputs.front().rank() == 3) return place_expert_weight(v);
    const bool kept = op.op == "alias", outer = op.group == "dispatch", last = op.group == "experts.w2";
    const bool forward = op.when == phase::forward;
    const bool by_sequences = outer ? !kept : kept && last && forward;
    along_data(v, dim_placement::shard(1));
    if (!by_sequences) along(v, expert_, dim_placement::shard(0));
    if (outer) return;
    // a product sums over what is cut; a sum that is kept is shared out
    const bool sums = op.group != "silu" && last == forward;
    along(v, tensor_, sums && !kept ? dim_placement::partial() : dim_placement::shard(3));
  }
  /// Of an expert's weight as it is computed with, and of its gradient: with each expert, each feature inside.
  void place_expert_weight(std::uint32_t v) {
    const operation& op = graph_.operations[v];
    place_converted(v);
    along(v, expert_, dim_placement::shard(0));
    along(v, tensor_, dim_placement::shard(inner_of(op.group)));
    if (op.op != "einsum") return;
    along(v, replica_, dim_placement::partial());
    along(v, shard_, dim_placement::partial());
  }

  /// Between products values are cut by positions; inside of attention by heads, inside of a feed-forward by features.
  void place_value(std::uint32_t v) {
    if (!tensor_) return;
    const operation& op = graph_.operations[v];
    const tensor& value = op.outputs.front();
    const auto cut = [&](std::size_t dim) { along(v, tensor_, dim_placement::shard(dim)); };
    if (is_one_of(op.group, {"router", "join"}) || (value.rank() == 3 && is_latent(op.group))) return cut(1);
    if (op.op == "moe_combine") {  // of what a product sums, on the way back; on the way there of features
      if (op.when == phase::backward) along(v, tensor_, dim_placement::partial());
      return;
    }
    if (op.op == "einsum") {
      if (value.rank() != 3 || (!by_columns(op.group) && !by_rows(op.group))) return;
      // a product sums over what is cut on the way back of columns, and on the way there of rows
      if (by_columns(op.group) == (op.when == phase::forward)) return cut(2);
      return along(v, tensor_, dim_placement::partial());
    }
    if (op.op == "sdpa" || op.op == "sdpa_backward") return cut(1);
    if (is_one_of(op.group, {"rope", "attention", "q_norm", "k_norm", "wkv_b"}) &&
        !(value.rank() == 3 && op.group == "wkv_b"))
      return cut(value.shape[1] == sequence_ || value.rank() < 4 ? 2 : 1);
    if (value.rank() != 3) return;
    if (is_one_of(op.group, {"silu", "activation", "loss"})) return cut(2);
    if (is_one_of(op.group, {"residual", "attention_norm", "ffn_norm", "norm", "dispatch", "state_norm", "token_norm"}))
      return cut(1);
  }

  /// With context parallelism every value is cut by positions; keys and values become whole where attention takes them,
  /// unless they go round.
  void place_positions(std::uint32_t v) {
    if (!context_) return;
    const operation& op = graph_.operations[v];
    const tensor& value = op.outputs.front();
    if (op.op == "sdpa" || op.op == "sdpa_backward") return along(v, context_, dim_placement::shard(2));
    for (const std::size_t dim : {std::size_t{1}, std::size_t{2}})
      if (value.rank() > dim && value.shape[dim] == sequence_) return along(v, context_, dim_placement::shard(dim));
  }

  /// A gradient is cut by tensor parallelism from the product on that makes it; what adds up rows of a table is summed
  /// over all that see different data.
  void place_before(std::uint32_t v) {
    while (graph_.operations[v].inputs.size() == 1 && graph_.operations[v].outputs.front().rank() == 2) {
      const operation& op = graph_.operations[v];
      const std::uint32_t p = op.inputs.front();
      if (graph_.operations[p].outputs.front().rank() != 2) return;
      if (tensor_ && wanted_[v].along[*tensor_]) {
        const dim_placement lies = *wanted_[v].along[*tensor_];
        const bool turns = op.op == "permute" && lies.is_sharded();
        along(p, tensor_, turns ? dim_placement::shard(1 - lies.dim()) : lies);
      }
      v = p;
    }
    if (graph_.operations[v].op != "embedding_backward") return;
    along_data(v, dim_placement::partial());
    along(v, context_, dim_placement::partial());
    if (tensor_) wanted_[v].along[*tensor_].reset();
  }

  /// What a weight is converted to, where it is whole.
  void place_converted(std::uint32_t v) {
    const operation& op = graph_.operations[v];
    if (gathers_f8_ || op.inputs.size() != 1 || !is_f8(op.outputs.front().type)) return;
    along_data(v, dim_placement::replicate());
    along(v, context_, dim_placement::replicate());
  }

  /// What is made of a parameter alone lies as the parameter does, seen the other way round where it is turned.
  void place_weight(std::uint32_t v) {
    const operation& op = graph_.operations[v];
    place_converted(v);
    if (!tensor_ || op.inputs.size() != 1 || op.outputs.front().rank() != 2) return;
    const std::optional<dim_placement> from = wanted_[op.inputs.front()].along[*tensor_];
    if (!from) return;
    const bool turns = op.op == "permute" && from->is_sharded();
    along(v, tensor_, turns ? dim_placement::shard(1 - from->dim()) : *from);
  }

  /// Strategies whose first result lies as wished, dimension by dimension as far as some do.
  void state(constraint_set& all, std::uint32_t v) {
    const wish& w = wanted_[v];
    const std::size_t rank = model_.mesh().rank();
    const sharding_classes& offered = model_.strategies(v).outputs.front();
    fixed_strategies fixed{v, {}, "layout " + layout_.to_string()};
    for (strategy s = 0; s < offered.of.size(); ++s) fixed.allowed.push_back(s);
    const std::size_t all_of_them = fixed.allowed.size();
    for (std::size_t d = 0; d < rank; ++d) {
      if (!w.along[d]) continue;
      std::vector<strategy> left;
      for (const strategy s : fixed.allowed) {
        const sharding& lies = offered.distinct[offered.of[s]];
        if (!lies.is_none() && lies[d] == *w.along[d]) left.push_back(s);
      }
      if (!left.empty()) {
        fixed.allowed = std::move(left);
      } else if (w.must) {
        refuse(error_category::constraint, fixed.why + ": operation '" + graph_.operations[v].name +
                                               "' cannot be placed " + sharding{*w.along[d]}.to_string() +
                                               " along mesh dimension " + std::to_string(d));
      }
    }
    if (fixed.allowed.size() < all_of_them) all.fixed.push_back(std::move(fixed));
  }

  const spmd_cost_model& model_;
  const computation& graph_;
  training_layout layout_;
  bool gathers_f8_;
  dimension replica_, shard_, expert_, context_, tensor_;
  std::vector<wish> wanted_;
  std::vector<bool> is_data_;
  std::int64_t sequence_ = 0;
  bool has_latents_ = false;
};

}  // namespace detail

SHARDWEAVE_INLINE rule_table layout_rules(const training_layout& layout, double causal) {
  rule_table rules = standard_rules({.attention_by_positions = layout.context > 1 && !layout.rings,
                                     .attention_in_rings = layout.context > 1 && layout.rings,
                                     .causal = causal});
  // a loss over words that are cut: each rank marks those labels that are among its words
  rules.add("gather_backward", scatter_rule{.adds = true, .has_base = false, .by_place = true});
  return rules;
}

SHARDWEAVE_INLINE constraint_set layout_constraints(const spmd_cost_model& model, const training_layout& layout,
                                                    bool gathers_f8) {
  return detail::layout_writer(model, layout, gathers_f8).write();
}

}  // namespace shardweave::inline v0
