#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// \file
/// Greedy buckets in graph order, up to a size.

namespace shardweave::inline v0 {

class augmented_graph;

/// For each key (operation, group, dtype, reduction), adds collectives in graph order to the open bucket until it would
/// exceed its cap. A collective that depends on a member, or would close a cycle through other buckets, is skipped and
/// considered again for the next bucket. Every refusal is recorded.
///
/// Source: the greedy pre-bucketing of PyTorch's FSDP passes; here all buckets together stay acyclic at every step,
/// refused collectives are reconsidered, and the gain of a merge is tested.
/// Complexity: O(V + E) and one bounded search per collective and bucket tried; where merging gains nothing, each
/// collective prices all that follow it up to the cap.
struct greedy {
  static constexpr std::string_view name = "greedy";

  bytes cap = mebibytes(50);  ///< of a bucket: the larger of its total bytes in and out
  /// Whether only gathers of parameters and scatters of gradients are merged (`fsdp_tags`). Absent: yes, unless there
  /// are none and no collective states a tag or a role.
  std::optional<bool> fsdp_only = std::nullopt;
  /// Whether to merge only if that saves more time than packing and unpacking cost.
  bool needs_gain = true;

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const;

 private:
  /// Consecutive refusals after which a bucket is closed: bounds the cost of a bucket.
  static constexpr std::size_t patience = 20;

  /// The collectives that may be members, by key; records why others may not.
  [[nodiscard]] std::vector<std::vector<task_index>> collect(const task_graph& g, std::vector<decision>& refused) const;

  /// Removes one bucket, or a single collective, from the front of the list.
  void fill_one(const task_graph& g, const std::vector<std::uint32_t>& place, augmented_graph& merged,
                std::vector<task_index>& pending, bucketing_result& result) const;

  /// How many of the first collectives of the list make the best bucket by size and gain, 1 if none: as many as the cap
  /// allows, or those that save most. Durations may have steps, so a gain may require several members.
  std::size_t promising(const task_graph& g, const std::vector<task_index>& pending, bucketing_result& result) const;

  /// Whether the collective and a member depend on one another in the given graph.
  static bool depend(const task_graph& g, const std::vector<std::uint32_t>& place,
                     const std::vector<task_index>& members, task_index t);
  static bool reaches(const task_graph& g, const std::vector<std::uint32_t>& place, task_index from, task_index to);
};

static_assert(bucketing_policy<greedy> && bucketing_policy<no_bucketing>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/bucketing/impl/greedy.hpp>
#endif
