#pragma once

#include <shardweave/spmd/rules.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Rules of fused attention and of embedding tables.

namespace shardweave::inline v0 {

/// Scaled dot-product attention and its backward: [batch, heads, ...] tensors are cut by batch or by heads,
/// all alike; what has fewer than three dimensions (random state) is whole. Query heads that share a key
/// head stay together: with fewer key heads, cuts by heads are even ones. A mask behind the values has four dimensions,
/// or two; it is whole where it is the same for the whole batch, all heads or all positions (extent 1).
struct attention_rule {
  /// Which argument is the query; key and value follow it.
  std::size_t query = 0;
  /// Queries, what is of their shape and masks may also be cut by positions beside whole keys and values, as context
  /// parallelism does; gradients of keys and values are then sums. Each rank is to hold positions that take equal work.
  bool by_positions = false;
  /// All of them may be cut by positions, keys and values too: their parts then go round (`block_ring`), along one mesh
  /// dimension at most.
  bool in_rings = false;

  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t extent) const {
    detail::demand_tensors(view, query + 3, query > 0 && (by_positions || in_rings) ? 3 : 1, query, 3);
    const dim_placement positions = dim_placement::shard(2), whole, sum = dim_placement::partial();
    const auto all = [](std::span<const tensor> tensors, dim_placement p) {
      std::vector<dim_placement> placements;
      for (const tensor& t : tensors) placements.push_back(t.rank() < 3 ? dim_placement() : p);
      return placements;
    };
    const auto taken = [&](dim_placement p) {
      std::vector<dim_placement> placements = all(view.inputs, p);
      for (std::size_t i = query + 3; i < placements.size(); ++i) {
        const std::vector<std::int64_t>& shape = view.whole_inputs[i].shape;
        if (p == positions && shape.size() == 2) placements[i] = dim_placement::shard(0);  // a mask, the same for all
        if (placements[i].is_sharded() && shape[placements[i].dim()] == 1) placements[i] = dim_placement();
      }
      return placements;
    };
    std::vector<dim_strategy> ways;
    for (const dim_placement p : {dim_placement(), dim_placement::shard(0), dim_placement::shard(1)}) {
      if (p == dim_placement::shard(1)) {
        const std::int64_t heads = view.inputs[query].shape[1];
        const std::int64_t key_heads = view.inputs[query + 1].shape[1];
        if (heads != key_heads && (heads % extent != 0 || key_heads % extent != 0)) continue;
      }
      ways.push_back({all(view.outputs, p), taken(p)});
    }
    if (by_positions) {
      dim_strategy way{all(view.outputs, positions), taken(positions)};
      way.inputs[query + 1] = way.inputs[query + 2] = whole;
      if (query > 0) way.outputs[1] = way.outputs[2] = sum;  // backward: of queries, keys, values
      ways.push_back(std::move(way));
    }
    if (in_rings && view.inputs[query + 1].shape[2] == view.whole_inputs[query + 1].shape[2])
      ways.push_back({all(view.outputs, positions), taken(positions)});
    return ways;
  }
  /// What goes round then: keys and values, and backward their gradients.
  [[nodiscard]] ring_arguments ring() const {
    return {.first = query + 1, .count = 2, .dim = 2, .first_sum = query > 0 ? 1U : 0U, .sums = query > 0 ? 2U : 0U};
  }
};

/// The floating-point operations of attention, without credit for a causal mask (that is
/// `standard_rule_options::causal`): for each batch, head, query and key two for each element of a key, times
/// `with_keys` products, and of a value, times `with_values`. Forward that is one product each, backward three and two,
/// as the scores are computed once more.
struct attention_flops {
  std::size_t query = 0;
  double with_keys = 1;
  double with_values = 1;

  [[nodiscard]] double operator()(const operation_view& view) const {
    detail::demand_tensors(view, query + 3, 0, query, 4);
    const std::vector<std::int64_t>& q = view.inputs[query].shape;
    const std::vector<std::int64_t>& k = view.inputs[query + 1].shape;
    const std::vector<std::int64_t>& v = view.inputs[query + 2].shape;
    return (with_keys * static_cast<double>(q[3]) + with_values * static_cast<double>(v[3])) * 2 *
           static_cast<double>(q[0] * q[1]) * static_cast<double>(q[2] * k[2]);
  }
};

/// weight [rows, width], indices [...] -> [..., width]. A table cut by rows answers with zeros for the rows
/// that a device lacks.
struct embedding_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    detail::demand_tensors(view, 2);
    const std::size_t width = view.inputs[1].rank();
    const dim_placement whole;
    std::vector<dim_strategy> ways{{{whole}, {whole, whole}},
                                   {{dim_placement::shard(width)}, {dim_placement::shard(1), whole}},
                                   {{dim_placement::partial(partial_kind::mask)}, {dim_placement::shard(0), whole}}};
    for (std::size_t d = 0; d < width; ++d)
      ways.push_back({{dim_placement::shard(d)}, {whole, dim_placement::shard(d)}});
    return ways;
  }
};

/// gradient [..., width], indices [...] -> [rows, width], adding up equal rows.
struct embedding_backward_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    detail::demand_tensors(view, 2);
    const std::size_t width = view.inputs[1].rank();
    const dim_placement whole;
    std::vector<dim_strategy> ways{{{whole}, {whole, whole}},
                                   {{dim_placement::shard(1)}, {dim_placement::shard(width), whole}},
                                   {{dim_placement::partial()}, {dim_placement::partial(), whole}}};
    for (std::size_t d = 0; d < width; ++d)
      ways.push_back({{dim_placement::partial()}, {dim_placement::shard(d), dim_placement::shard(d)}});
    return ways;
  }
};

}  // namespace shardweave::inline v0
