#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

/// \file
/// Buckets by structure alone, in graph order and within a bounded span.

namespace shardweave::inline v0 {

/// Bytes at which a ring over so many ranks reaches nine tenths of its bandwidth: the transfer then takes nine times as
/// long as start and hops. Up to `per_node` ranks share NVLink (36 GB/s of bus bandwidth, 10 us to start, 40 us per
/// hop); more use a network of 400 Gb/s (22 GB/s, 30 us, 12 us), and get at least 100 MiB. 0 for a single rank.
/// Source: figures and form of PyTorch's saturation profiles for H100.
[[nodiscard]] bytes saturation_size(std::int64_t ranks, std::int64_t per_node = 8);

/// Channels on which parameters are gathered; the one with the most such gathers (the first of equal ones) comes first.
/// Complexity: O(V)
[[nodiscard]] std::vector<std::uint32_t> sharding_channels(const task_graph& g, const std::vector<bool>& tags);

/// Which collectives may become members of buckets.
enum class bucket_members : std::uint8_t {
  sharded,  ///< gathers of parameters, scatters of gradients (`fsdp_tags`), all_reduces of the channels of such gathers
  /// Gathers of values derived from parameters alone, scatters and all-reduces of values that become gradients alone.
  derived
};

/// Groups whose collectives may be merged. The primary one gathers the most parameters; the first of equal ones.
enum class bucket_groups : std::uint8_t {
  all,                 ///< any; all-reduces on groups that gather parameters
  primary_reductions,  ///< any; all-reduces on the primary group
  primary              ///< only the primary group
};

/// For each key, fills one bucket after the other: with `sharded` collectives in the order of their first waits, with
/// `derived` ones in graph order. A bucket is closed when the next collective would exceed its cap, or is more than
/// `span` tasks behind its first member: merging distant collectives would pull late work forward, and with it the
/// memory of all that is live in between. A collective that depends on a member, or would close a cycle through other
/// buckets, stays alone.
///
/// Source: AutoParallel's bounded pre-bucketing (`adjacent` and no span: PyTorch's own; `derived`: its first form);
/// here all buckets together stay acyclic at every step.
/// Complexity: O(V + E) and one bounded search per collective
struct topological_span {
  static constexpr std::string_view name = "topological_span";

  /// The larger of a bucket's bytes in and out, for all groups; absent: `saturation_size` of the group of the first
  /// gather of a parameter, from 50 to 2000 MiB, or 500 MiB if there is none.
  std::optional<bytes> cap = std::nullopt;
  std::optional<std::uint32_t> span = 1500;  ///< tasks of the original order; absent: unlimited
  bool adjacent = false;  ///< merges only collectives between whose waits no candidate of another key is waited for
  bucket_groups groups = bucket_groups::primary_reductions;
  bucket_members members = bucket_members::sharded;
  std::map<std::uint32_t, bytes> cap_of_group = {};  ///< by position of the group: its cap, instead of `cap`

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const;

 private:
  [[nodiscard]] static bytes default_cap(const task_graph& g, const std::vector<bool>& tags);

  /// The collectives that may be members; records why others may not.
  [[nodiscard]] std::vector<bool> candidates(const task_graph& g, const std::vector<bool>& tags,
                                             const std::vector<std::uint32_t>& channels,
                                             std::vector<decision>& refused) const;

  /// The wanted collectives of an operation: `sharded` ones in the order of their first waits, `derived` ones in that
  /// of launches.
  [[nodiscard]] std::vector<task_index> in_order(const task_graph& g, std::vector<bool> wanted, collective op) const;

  [[nodiscard]] std::vector<std::vector<task_index>> groups_of(const std::vector<task_index>& wanted,
                                                               const std::vector<std::uint32_t>& keys) const;

  void fill(const task_graph& g, augmented_graph& graph, const std::vector<task_index>& group, bytes limit,
            bucketing_result& result) const {
    std::vector<task_index> open;
    bytes total;
    const auto close = [&] {
      if (open.size() > 1) result.buckets.push_back(make_bucket(g, open));
      if (open.size() == 1) result.decisions.push_back({.reason = decision_reason::alone, .subject = open.front()});
      open.clear();
      total = bytes(0);
    };
    for (const task_index t : group) {
      const collective_info c = g.collective(t);
      const bytes size = std::max(c.bytes_in, c.bytes_out);
      if (!open.empty()) {
        if (graph.has_path(open.front(), t)) {
          result.decisions.push_back({.reason = decision_reason::dependency, .subject = t, .other = open.front()});
          continue;
        }
        const std::int64_t far = std::int64_t{t} - std::int64_t{open.front()};
        const bool large = total + size > limit;
        if (large || (span && far > std::int64_t{*span})) {
          result.decisions.push_back({.reason = large ? decision_reason::byte_cap : decision_reason::distance_limit,
                                      .subject = t,
                                      .other = open.front(),
                                      .found = large ? (total + size).count() : far,
                                      .limit = large ? limit.count() : std::int64_t{*span}});
          close();
        } else if (!graph.merge(open.front(), t)) {
          result.decisions.push_back({.reason = decision_reason::cycle, .subject = t, .other = open.front()});
          continue;
        }
      }
      open.push_back(t);
      total += size;
    }
    close();
  }
};

static_assert(bucketing_policy<topological_span>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/bucketing/impl/topological_span.hpp>
#endif
