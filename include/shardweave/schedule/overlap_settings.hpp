#pragma once

#include <shardweave/core/units.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

/// \file
/// Settings of exposure-driven scheduling.

namespace shardweave::inline v0 {

/// Whether an operator is element-wise, by its usual name, with or without namespace and overload.
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
  /// Limit on bytes in and out of collectives that are launched and not yet waited for (an all-reduce's once).
  bytes in_flight = gibibytes(5);
  /// How early a collective may be launched: with at most so many computations (tasks of kind `compute`) left before
  /// the first one that needs it.
  std::size_t compute_ahead = 200;
  /// Collectives considered per window; a window is the time of a task, of a stall or of an unpacking.
  std::size_t candidates = 200;
  double compute_share = 1;  ///< share of a task's time that can hide communication
  /// Target for the peak: that of the original order, and beyond it the larger of these two, the second as a share of
  /// that peak. Both absent: no limit.
  std::optional<bytes> memory_increase = gibibytes(1);
  std::optional<double> memory_ratio = 0.05;
  bool group_by_key = true;  ///< launches collectives that may be merged one after the other
  /// Collectives that no computation needs are launched once so many bytes of a key are ready; absent: at the end.
  std::optional<bytes> off_path_batch = mebibytes(512);
  /// A collective that is launched while another one of its key is in flight counts as merged with it: without latency.
  bool merging_saves_latency = true;
  /// Subtracts early launches from the bytes that are ready (`off_path_batch`). PyTorch does not, and so launches more
  /// of them at once.
  bool exact_batches = false;
  /// Tells element-wise operators: a chain of views and of these that leads only to a collective is taken first.
  bool (*is_elementwise)(std::string_view op) = &is_elementwise_op;
};

}  // namespace shardweave::inline v0
