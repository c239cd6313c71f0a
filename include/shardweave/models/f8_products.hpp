#pragma once

#include <shardweave/spmd/computation.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Training whose products run in 8-bit floating point: a graph in, the graph with its conversions out.

namespace shardweave::inline v0 {

/// Where the scale of a converted tensor comes from.
enum class f8_scaling : std::uint8_t {
  current,  ///< from the largest element of the tensor itself, so that a conversion waits for all of it ("quantize")
  delayed,  ///< from earlier steps: a conversion is an element-wise operation like others ("conv")
};

/// How scales are found, and which values and products of a training step become 8 bits wide.
struct f8_options {
  f8_scaling scaling = f8_scaling::current;
  /// What the forward part makes is converted there for the backward part, too, which then keeps 8 bits of it; else
  /// the backward part keeps what it was, and converts it when it reads it.
  bool keeps_converted = false;
  std::vector<std::string> apart = {"router", "output"};  ///< groups of operations whose products stay as they are
};

/// The same training step with its products in 8-bit floating point.
///
/// Both operands of every product of a repeated layer that has a weight among its operands, and those of its
/// gradients, are converted: what the forward part makes to `f8e4m3`, gradients to `f8e5m2`. Results keep their
/// types, and so does everything else: norms, attention, the loss, sums of gradients. A product wants its operands with
/// the elements next to each other that it adds up (the only form of 8-bit products on Hopper), so a tensor is
/// converted once for all products that add it up along the same dimensions: twice for most. With current scaling the
/// largest element is found by whatever made the tensor where that is element-wise, else the conversion reads
/// the tensor a second time. Communication is not stated: a tensor may be gathered before or after its conversion.
///
/// \pre `graph` is in topological order
/// Source: FP8 formats for deep learning (arXiv 2209.05433); DeepSeek-V3 (arXiv 2412.19437, 3.3), which products stay
/// in 16 bits. Complexity: O(V + E)
[[nodiscard]] computation with_f8_products(const computation& graph, const f8_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/models/impl/f8_products.hpp>
#endif
