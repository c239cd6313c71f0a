#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// \file
/// Merges collectives of a schedule such that hidden ones stay hidden.

namespace shardweave::inline v0 {

/// Settings of `merge_preserving_overlap`.
struct overlap_preserving {
  static constexpr std::string_view name = "overlap_preserving";

  bytes cap = gibibytes(2);    ///< of a bucket: bytes in and out, those of an all-reduce once
  std::size_t distance = 200;  ///< collectives of a key that are considered after the first member
  std::size_t patience = 20;   ///< consecutive refusals after which a bucket is closed
  /// Starts with the least hidden collectives, and merges them with those `nearby`; absent: on channels that gather
  /// parameters.
  std::optional<bool> exposed_first = std::nullopt;
  std::uint32_t nearby = 20;  ///< distance in the schedule within which `exposed_first` merges
  /// Buckets of scatters are groups of calls without copies (`bucket::coalesced`); gathers are always packed.
  bool coalesce_scatters = false;
};

/// Merges collectives of a schedule whose `hides` has hiding records; existing buckets count as single collectives. By
/// key and channel, collectives are tried in the order of the schedule, or the least hidden first. The merged launch
/// stands at one of the two launches, its wait at one of the two waits, such that hiding tasks stay between launch and
/// wait, also with the channel's in-order execution, and no cycle is closed. A refused attempt changes nothing. The
/// result has no `hides`: simulate it.
///
/// Source: PyTorch's overlap-preserving bucketing, with complete undo, and with the order maintained instead of
/// recomputed.
/// Complexity: O(V + E) per channel, and one bounded search per collective and bucket tried
/// \pre s is valid for g
[[nodiscard]] schedule merge_preserving_overlap(const task_graph& g, const schedule& s,
                                                const overlap_preserving& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/bucketing/impl/overlap_preserving.hpp>
#endif
