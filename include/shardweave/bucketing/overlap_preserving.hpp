#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// \file
/// Merges collectives of a schedule without exposing what is hidden in it.

namespace shardweave::inline v0 {

/// Settings of `merge_preserving_overlap`.
struct overlap_preserving {
  static constexpr std::string_view name = "overlap_preserving";

  bytes cap = gibibytes(2);    ///< of a bucket: bytes in and out, those of an all_reduce once
  std::size_t distance = 200;  ///< collectives of a key looked at after the first member
  std::size_t patience = 20;   ///< refusals in a row after which a bucket is closed
  /// Begin with what is least hidden, and merge with what is `nearby`; absent: on channels that gather parameters.
  std::optional<bool> exposed_first = std::nullopt;
  std::uint32_t nearby = 20;  ///< places in the schedule, where the least hidden come first
  /// Buckets of scatters are groups of calls without copies (`bucket::coalesced`); gathers are packed all the same.
  bool coalesce_scatters = false;
};

/// Merges collectives of a schedule whose `hides` says what hides what; buckets that are there count as one
/// collective. Of each key and channel, collectives are tried in the order of the schedule, or the least hidden first;
/// the merged launch stands at one of the two launches, its wait at one of the two waits, so that no task of the
/// account slips out from between a launch and its wait, on this channel or by way of its in-order execution, and no
/// cycle is closed. A refused attempt leaves no trace. The result has no `hides`: simulate it.
///
/// Source: PyTorch's overlap-preserving bucketing, with complete undoing and an order that is kept, not searched.
/// Complexity: O(V + E) per channel, and one bounded search per collective and bucket tried
/// \pre s is valid for g
[[nodiscard]] schedule merge_preserving_overlap(const task_graph& g, const schedule& s,
                                                const overlap_preserving& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/bucketing/impl/overlap_preserving.hpp>
#endif
