#pragma once

#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Rules of operators that work along one dimension, and of those that pick elements by number.

namespace shardweave::inline v0 {

/// Which partial results an operator lets pass unchanged.
enum class partial_passing : std::uint8_t {
  none,
  linear,  ///< sums and averages
  all      ///< elements are only moved
};

/// Works along the dimensions named by the operation, each line for itself: softmax, sort, slice, split into a
/// tuple, cumulative sums. Follows its first argument in all other dimensions; further arguments and all results
/// lie alike. A dimension in question that is cut is put together first.
struct line_rule {
  partial_passing passes = partial_passing::none;

  [[nodiscard]] std::optional<dim_strategy> operator()(const operation_view& view, dim_placement in,
                                                       std::int64_t) const {
    const std::vector<std::int64_t>& dims = view.op.with.dims;
    if (in.is_sharded() && detail::position_in(dims, in.dim(), view.inputs.front().rank()) < dims.size())
      in = dim_placement();
    if (in.is_partial()) {
      const bool is_linear = in.kind() == partial_kind::sum || in.kind() == partial_kind::avg;
      if (passes == partial_passing::none || (passes == partial_passing::linear && !is_linear)) in = dim_placement();
    }
    return dim_strategy{std::vector<dim_placement>(view.outputs.size(), in),
                        std::vector<dim_placement>(view.inputs.size(), in)};
  }
};

/// Arguments one after the other along a dimension: cut in any other, or all partial in the same way.
struct cat_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    std::vector<dim_placement> choices{dim_placement()};
    const std::size_t rank = view.outputs.front().rank();
    for (std::size_t d = 0; d < rank; ++d)
      if (detail::position_in(view.op.with.dims, d, rank) == view.op.with.dims.size())
        choices.push_back(dim_placement::shard(d));
    for (const partial_kind kind : {partial_kind::sum, partial_kind::avg, partial_kind::max, partial_kind::min})
      choices.push_back(dim_placement::partial(kind));
    std::vector<dim_strategy> ways;
    for (const dim_placement p : choices) ways.push_back({{p}, std::vector<dim_placement>(view.inputs.size(), p)});
    return ways;
  }
};

/// x, indices -> elements of x, chosen along one dimension: the result has the shape of the indices, which equals that
/// of x elsewhere. A device that holds a part of that dimension answers with zeros for the rest.
struct gather_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    const dim_placement whole;
    std::vector<dim_strategy> ways{{{whole}, {whole, whole}}};
    detail::demand_tensors(view, 2);
    const std::size_t rank = view.outputs.front().rank();
    detail::demand_tensors(view, 2, 1, 0, rank);
    for (std::size_t d = 0; d < rank; ++d) {
      const dim_placement cut = dim_placement::shard(d);
      const bool chosen = detail::position_in(view.op.with.dims, d, rank) < view.op.with.dims.size();
      if (chosen) {
        ways.push_back({{cut}, {whole, cut}});
        ways.push_back({{dim_placement::partial(partial_kind::mask)}, {cut, whole}});
      } else if (view.whole_inputs[0].shape[d] == view.whole_inputs[1].shape[d]) {
        ways.push_back({{cut}, {cut, cut}});
      }
    }
    for (const partial_kind kind : {partial_kind::sum, partial_kind::avg, partial_kind::max, partial_kind::min})
      ways.push_back({{dim_placement::partial(kind)}, {dim_placement::partial(kind), whole}});
    return ways;
  }
};

/// Adds or puts values where indices say, along one dimension. Arguments: [base,] indices, values; without a base it is
/// zeros, and the values come first. The result has the base's shape.
struct scatter_rule {
  static constexpr bool moves_data_only = true;
  bool adds = true;
  bool has_base = true;
  bool by_place = false;  ///< results may be cut along the dimension: each piece takes what belongs to its places

  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    const auto way = [&](dim_placement out, dim_placement base, dim_placement indices, dim_placement values) {
      return has_base ? dim_strategy{{out}, {base, indices, values}} : dim_strategy{{out}, {values, indices}};
    };
    const dim_placement whole;
    const dim_placement sums = dim_placement::partial();
    std::vector<dim_strategy> ways{way(whole, whole, whole, whole)};
    detail::demand_tensors(view, has_base ? 3 : 2);
    const std::vector<std::int64_t>& out = view.op.outputs.front().shape;
    detail::demand_tensors(view, 2, 1, 1, out.size());
    const std::vector<std::int64_t>& indices = view.whole_inputs[1].shape;
    for (std::size_t d = 0; d < out.size(); ++d) {
      const dim_placement cut = dim_placement::shard(d);
      const bool chosen = detail::position_in(view.op.with.dims, d, out.size()) < view.op.with.dims.size();
      if (!chosen && out[d] == indices[d]) ways.push_back(way(cut, cut, cut, cut));
      if (chosen && adds) ways.push_back(way(sums, sums, cut, cut));
      if (chosen && by_place) ways.push_back(way(cut, cut, whole, whole));
    }
    ways.push_back(way(sums, sums, whole, sums));
    return ways;
  }
};

/// Whole numbers below `index` -> how often each comes: pieces of the sum wherever the numbers are cut.
struct histogram_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    detail::demand_tensors(view, 1);
    std::vector<dim_strategy> ways{{{dim_placement()}, {dim_placement()}}};
    for (std::size_t d = 0; d < view.inputs.front().rank(); ++d)
      ways.push_back({{dim_placement::partial()}, {dim_placement::shard(d)}});
    return ways;
  }
};

}  // namespace shardweave::inline v0
