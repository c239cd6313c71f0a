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
/// Fills buckets in graph order, up to a size.

namespace shardweave::inline v0 {

class augmented_graph;

/// Of each key (operation, group, dtype, reduction) the collectives are taken in graph order and put into the
/// open bucket until it would exceed its cap. One that depends on a member, or would close a cycle through
/// other buckets, stays out and is tried again with the next bucket. Every refusal is recorded.
///
/// Source: the greedy pre-bucketing of PyTorch's FSDP passes, with the acyclicity of all buckets together
/// kept at every step, refused collectives taken up again, and a test of what a merge gains.
/// Complexity: O(V + E) and one bounded search per collective and bucket tried.
struct greedy {
  static constexpr std::string_view name = "greedy";

  bytes cap = mebibytes(50);  ///< of a bucket: the larger of its total bytes in and out
  /// Gathers of parameters and scatters of gradients only (`fsdp_tags`). Absent: only these, unless there are none and
  /// no collective states a tag or a role: where nothing is known, everything.
  std::optional<bool> fsdp_only = std::nullopt;
  /// Merge only where the collective saves more time than packing and unpacking cost.
  bool needs_gain = true;

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const;

 private:
  /// Refusals in a row after which a bucket is closed: a bound on what a bucket may cost.
  static constexpr std::size_t patience = 20;

  /// The collectives that may be members, by key; refusals of those that may not.
  [[nodiscard]] std::vector<std::vector<task_index>> collect(const task_graph& g, std::vector<decision>& refused) const;

  /// Takes one bucket, or one collective that stays alone, off the front of the list.
  void fill_one(const task_graph& g, const std::vector<std::uint32_t>& place, augmented_graph& merged,
                std::vector<task_index>& pending, bucketing_result& result) const;

  /// How many of the first collectives of the list would make the best bucket by size and gain, 1 if none:
  /// as many as the cap allows, or those that save the most. Durations may have steps, so that a gain may
  /// come only with several members.
  std::size_t promising(const task_graph& g, const std::vector<task_index>& pending, bucketing_result& result) const;

  /// Whether the collective needs a member's result, or a member needs its result, in the graph as given.
  static bool depend(const task_graph& g, const std::vector<std::uint32_t>& place,
                     const std::vector<task_index>& members, task_index t);
  static bool reaches(const task_graph& g, const std::vector<std::uint32_t>& place, task_index from, task_index to);
};

static_assert(bucketing_policy<greedy> && bucketing_policy<no_bucketing>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/bucketing/impl/greedy.hpp>
#endif
