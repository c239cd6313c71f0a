#pragma once

#include <shardweave/spmd/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Rules of operators that move dimensions or sum over them. All follow their argument.

namespace shardweave::inline v0 {

namespace detail {

/// Where a list of dimensions names `d`, or its length; negative ones count from the last.
[[nodiscard]] inline std::size_t position_in(const std::vector<std::int64_t>& dims, std::size_t d, std::size_t rank) {
  const auto at = std::ranges::find_if(dims, [&](std::int64_t named) {
    return (named < 0 ? named + static_cast<std::int64_t>(rank) : named) == static_cast<std::int64_t>(d);
  });
  return static_cast<std::size_t>(at - dims.begin());
}

}  // namespace detail

/// Dimension `dims[d]` of the argument becomes dimension d of the result.
struct permute_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::optional<dim_strategy> operator()(const operation_view& view, dim_placement in,
                                                       std::int64_t) const {
    if (!in.is_sharded()) return dim_strategy{{in}, {in}};
    const std::vector<std::int64_t>& dims = view.op.with.dims;
    const std::size_t at = detail::position_in(dims, in.dim(), view.inputs.front().rank());
    if (at == dims.size()) return std::nullopt;
    return dim_strategy{{dim_placement::shard(at)}, {in}};
  }
};

/// A new shape of the same elements. Dimensions are matched in groups of equal size, smallest first. A
/// dimension that stays as it is keeps its cut. Of a group that is split or merged, the first dimension (of
/// more than one element) may be cut, and the first dimension that comes out is cut, if it can be cut evenly.
struct view_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::optional<dim_strategy> operator()(const operation_view& view, dim_placement in,
                                                       std::int64_t extent) const {
    if (!in.is_sharded()) return dim_strategy{{in}, {in}};
    const std::vector<std::int64_t>& from = view.whole_inputs.front().shape;
    const std::vector<std::int64_t>& to = view.op.outputs.front().shape;
    for (std::size_t i = 0, j = 0; i < from.size() || j < to.size();) {
      const std::size_t i0 = i;
      const std::size_t j0 = j;
      std::int64_t left = i < from.size() ? from[i++] : 1;
      std::int64_t right = j < to.size() ? to[j++] : 1;
      while (left != right) {
        if (left < right ? i == from.size() : j == to.size()) return std::nullopt;  // not the same elements
        if (left < right) {
          left *= from[i++];
        } else {
          right *= to[j++];
        }
      }
      if (in.dim() < i0 || in.dim() >= i) continue;
      const std::size_t lead_in = leading(from, i0, i);
      const std::size_t lead_out = leading(to, j0, j);
      if (in.dim() != lead_in || lead_out == j) return std::nullopt;
      const dim_strategy way{{dim_placement::shard(lead_out)}, {in}};
      if (from[lead_in] == to[lead_out]) return way;
      const bool even =
          view.inputs.front().shape[lead_in] % extent == 0 && view.outputs.front().shape[lead_out] % extent == 0;
      return even ? std::optional(way) : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  /// The first dimension of [first, end) with more than one element; `end` if there is none.
  [[nodiscard]] static std::size_t leading(const std::vector<std::int64_t>& shape, std::size_t first, std::size_t end) {
    while (first < end && shape[first] == 1) ++first;
    return first;
  }
};

/// Dimensions match from the last on; extents of 1, and dimensions that are not there, are repeated.
struct expand_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::optional<dim_strategy> operator()(const operation_view& view, dim_placement in,
                                                       std::int64_t) const {
    detail::demand_tensors(view, 1);
    if (!in.is_sharded()) return dim_strategy{{in}, {in}};
    if (view.outputs.front().rank() < view.inputs.front().rank())
      refuse(error_category::input, "operation '" + view.op.name + "' (" + view.op.op + ") repeats " +
                                        std::to_string(view.inputs.front().rank()) + " dimensions to " +
                                        std::to_string(view.outputs.front().rank()) + ", expected no fewer");
    const std::size_t added = view.outputs.front().rank() - view.inputs.front().rank();
    if (view.whole_inputs.front().shape[in.dim()] != view.op.outputs.front().shape[in.dim() + added])
      return std::nullopt;
    return dim_strategy{{dim_placement::shard(in.dim() + added)}, {in}};
  }
};

/// Reduces `dims`, or everything if none is named: a cut there gives partial results of `kind`, which pass through; an
/// argument that is partial in another way is to be made whole first. Averages of pieces are the average only of equal
/// pieces, and a device without elements has neither a largest nor a least.
struct reduction_rule {
  static constexpr bool moves_data_only = true;
  partial_kind kind = partial_kind::sum;

  [[nodiscard]] std::optional<dim_strategy> operator()(const operation_view& view, dim_placement in,
                                                       std::int64_t extent) const {
    if (in.is_partial() && in.kind() != kind) in = dim_placement();
    if (!in.is_sharded()) return dim_strategy{{in}, {in}};
    const std::vector<std::int64_t>& dims = view.op.with.dims;
    const auto is_reduced = [&](std::size_t d) {
      return dims.empty() || detail::position_in(dims, d, view.inputs.front().rank()) < dims.size();
    };
    if (is_reduced(in.dim())) {
      const std::int64_t size = view.inputs.front().shape[in.dim()];
      const bool is_even = size % extent == 0;
      // some pieces of earlier uneven cuts are smaller than the one in view
      const bool has_empty =
          (size + extent - 1) / extent * (extent - 1) >= size || view.whole_inputs.front().shape[in.dim()] % size != 0;
      if ((kind == partial_kind::avg && !is_even) || (kind != partial_kind::sum && has_empty))
        return dim_strategy{{dim_placement()}, {dim_placement()}};
      return dim_strategy{{dim_placement::partial(kind)}, {in}};
    }
    std::size_t lost = 0;
    if (!view.op.with.keep_dims)
      for (std::size_t d = 0; d < in.dim(); ++d) lost += is_reduced(d) ? 1U : 0U;
    return dim_strategy{{dim_placement::shard(in.dim() - lost)}, {in}};
  }
};

/// A reduction whose pieces do not make the whole in a way that a collective adds up: products, the number of the
/// largest. What is reduced is whole, be it `dims` or, where none is named, everything.
struct whole_reduction_rule {
  static constexpr bool moves_data_only = true;

  [[nodiscard]] std::optional<dim_strategy> operator()(const operation_view& view, dim_placement in,
                                                       std::int64_t) const {
    const std::vector<std::int64_t>& dims = view.op.with.dims;
    const std::size_t rank = view.inputs.front().rank();
    const auto is_reduced = [&](std::size_t d) {
      return dims.empty() || detail::position_in(dims, d, rank) < dims.size();
    };
    if (!in.is_sharded() || is_reduced(in.dim())) return dim_strategy{{dim_placement()}, {dim_placement()}};
    std::size_t lost = 0;
    if (!view.op.with.keep_dims)
      for (std::size_t d = 0; d < in.dim(); ++d) lost += is_reduced(d) ? 1U : 0U;
    return dim_strategy{{dim_placement::shard(in.dim() - lost)}, {in}};
  }
};

}  // namespace shardweave::inline v0
