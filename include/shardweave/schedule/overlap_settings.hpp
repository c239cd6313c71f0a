#pragma once

#include <shardweave/core/units.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

/// \file
/// How far exposure-driven scheduling looks, and what it takes for granted.

namespace shardweave::inline v0 {

/// Element-wise operations by their usual names, with or without a namespace before and an overload behind.
[[nodiscard]] constexpr bool is_elementwise_op(std::string_view op) {
  for (const std::string_view prefix : {"aten.", "prims."})
    if (op.starts_with(prefix)) op.remove_prefix(prefix.size());
  op = op.substr(0, op.find('.'));
  for (const std::string_view known :
       {"convert_element_type", "add",     "sub",  "mul",  "div",  "neg",  "exp",   "pow",   "sqrt", "rsqrt",
        "reciprocal",           "sigmoid", "tanh", "silu", "gelu", "relu", "clone", "where", "eq",   "fma"})
    if (op == known) return true;
  return false;
}

/// Parameters of `overlap_scheduler`; the defaults are those of PyTorch's function.
struct overlap_settings {
  bytes in_flight = gibibytes(5);   ///< in and out of what is launched and not yet waited for (an all_reduce's once)
  std::size_t compute_ahead = 200;  ///< computations between the present one and the first that needs a collective
  std::size_t candidates = 200;     ///< collectives looked at per window
  double compute_share = 1;         ///< part of a task's time that is counted on to hide communication
  /// Growth of the peak over that of the original order that is aimed at: the larger of the two; both absent: any.
  std::optional<bytes> memory_increase = gibibytes(1);
  std::optional<double> memory_ratio = 0.05;
  bool group_by_key = true;  ///< launch collectives that may be merged one after the other
  /// Collectives that no computation needs are launched once so many bytes of a key are ready; absent: at the end.
  std::optional<bytes> off_path_batch = mebibytes(512);
  /// What is launched while another one of its key is in flight is counted as launched with it: without latency.
  bool merging_saves_latency = true;
  /// Of the bytes that are ready (`off_path_batch`) take off what is launched early. PyTorch does not, and so launches
  /// more of them at once.
  bool exact_batches = false;
  /// A chain of views and of these operations that leads to a collective alone is done first.
  bool (*is_elementwise)(std::string_view op) = &is_elementwise_op;
};

}  // namespace shardweave::inline v0
