#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// \file
/// What the memory of a step is held for, after each position of an order.

namespace shardweave::inline v0 {

/// What a byte is held for.
enum class memory_part : std::uint8_t {
  parameters,       ///< of the inputs
  optimizer_state,  ///< what the optimizer keeps from step to step
  data,             ///< inputs that are neither
  gathered,         ///< made of parameters alone: gathered copies, casts
  kept,             ///< made in the forward part, and read in the backward part
  replayed,         ///< recomputed for the backward part
  passing,          ///< any other value of the model
  gradients,        ///< of parameters
  buffers,          ///< packed buckets, from the launch to the unpacking
  other             ///< whatever the graph does not tell
};

/// How many enumerators `memory_part` has.
inline constexpr std::size_t memory_part_count = 10;

/// For people.
[[nodiscard]] constexpr std::string_view name_of(memory_part part) {
  constexpr std::string_view names[] = {
      "parameters", "optimizer state", "other inputs",        "gathered weights",   "kept for backward",
      "made again", "passing values",  "parameter gradients", "buffers of buckets", "not told"};
  return names[static_cast<std::size_t>(part)];
}

/// Live bytes by part; their sum is what the simulator samples.
struct memory_by_part {
  /// By position of the order: live bytes after it, by `memory_part`.
  std::vector<std::array<bytes, memory_part_count>> held = {};
  /// By position: storages that live on the host, which are not among `held`; empty if there are none.
  std::vector<bytes> on_host = {};
};

/// What is held for what. A storage is what the first task is that lists it, by its tags, stated or inferred
/// (`inferred_tags`): of a parameter, a gradient and so on; of activations it matters whether the forward part makes
/// them and the backward part reads them.
/// \param again  by task: recomputes a value (`recomputed_graph::again`); what it gives counts as `replayed`. Empty =
///               none does
/// \pre the schedule is valid, and `again` is empty or has an entry for each task
/// Complexity: O((V + E) log V)
[[nodiscard]] memory_by_part memory_parts(const task_graph& g, const schedule& s, std::span<const char> again = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/report/impl/memory_parts.hpp>
#endif
