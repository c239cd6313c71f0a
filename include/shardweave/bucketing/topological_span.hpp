#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_tags.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Buckets by structure alone, filled in graph order and kept short.

namespace shardweave {
inline namespace v0 {

/// Bytes from which on a ring over so many ranks runs at nine tenths of its bandwidth: the size at which transfer
/// takes nine times as long as start and hops. Up to `per_node` ranks share NVLink (36 GB/s of bus bandwidth to be
/// saturated, 40 us a hop), more a network of 400 Gb/s (22 GB/s, 12 us); 0 for a single rank.
/// Source: figures and form of PyTorch's saturation profiles for H100.
[[nodiscard]] inline bytes saturation_size(std::int64_t ranks, std::int64_t per_node = 8) {
  if (ranks < 2) return bytes(0);
  const bool inside = ranks <= per_node;
  const double bytes_per_us = inside ? 36e3 : 22e3, hop_us = inside ? 40 : 12, start_us = inside ? 10 : 30;
  const auto size =
      bytes(static_cast<std::int64_t>(9 * (start_us + static_cast<double>(ranks - 1) * hop_us) * bytes_per_us + 0.5));
  return inside ? size : std::max(size, mebibytes(100));
}

/// Channels on which parameters are gathered, the one with the most such gathers (the first of equals) in front.
/// Complexity: O(V)
[[nodiscard]] inline std::vector<std::uint32_t> sharding_channels(const task_graph& g, const std::vector<bool>& tags) {
  std::vector<std::size_t> gathers(g.groups().size());
  std::vector<std::uint32_t> found;
  for (task_index t = 0; t < g.size(); ++t) {
    if (!tags[t] || g.collective(t).op != collective::all_gather) continue;
    if (gathers[g.collective(t).group]++ == 0) found.push_back(g.collective(t).group);
  }
  const auto most =
      std::max_element(found.begin(), found.end(), [&](auto a, auto b) { return gathers[a] < gathers[b]; });
  if (most != found.end()) std::iter_swap(found.begin(), most);
  return found;
}

/// Which collectives may become members.
enum class bucket_members : std::uint8_t {
  sharded,  ///< gathers of parameters, scatters of gradients (`fsdp_tags`), all_reduces of the channels of such gathers
  derived   ///< gathers of what comes from parameters alone, scatters and all_reduces of what goes to gradients alone
};

/// Of which groups. The primary one is that on which most parameters are gathered, the first of equals.
enum class bucket_groups : std::uint8_t {
  all,                 ///< any; all_reduces on groups that gather parameters
  primary_reductions,  ///< any; all_reduces on the primary group
  primary              ///< the primary group alone
};

/// Of each key the collectives in graph order, one bucket after the other: one is closed when the next collective
/// would exceed its cap, or is more than `span` tasks behind its first member: merging what lies far apart pulls late
/// work forward, and with it the memory of all that is alive in between. What depends on a member stays out for good.
///
/// Source: AutoParallel's bounded pre-bucketing (`adjacent` and no span: PyTorch's own; `derived`: its first form),
/// with the acyclicity of all buckets together kept at every step.
/// Complexity: O(V + E) and one bounded search per collective
struct topological_span {
  static constexpr std::string_view name = "topological_span";

  /// The larger of a bucket's bytes in and out, for all groups; absent: `saturation_size` of the group whose gather of
  /// a parameter comes first, from 50 to 2000 MiB, and 500 MiB where none is gathered.
  std::optional<bytes> cap = std::nullopt;
  std::optional<std::uint32_t> span = 1500;  ///< tasks of the original order; absent: any number
  bool adjacent = false;  ///< only those between whose waits no candidate of another key is waited for
  bucket_groups groups = bucket_groups::primary_reductions;
  bucket_members members = bucket_members::sharded;
  bool own_caps = false;                             ///< an absent `cap` is that of each group for itself
  std::map<std::uint32_t, bytes> cap_of_group = {};  ///< by position of the group: a cap of its own, in place of `cap`

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const {
    bucketing_result result;
    const std::vector<std::uint32_t> keys = bucket_keys(g);
    const std::vector<bool> tags = members == bucket_members::derived ? derived_tags(g) : fsdp_tags(g);
    const std::vector<std::uint32_t> channels = sharding_channels(g, tags);
    std::vector<decision> refused;
    const std::vector<bool> wanted = candidates(g, tags, channels, refused);
    const bytes shared_cap = cap ? *cap : default_cap(g, tags);
    augmented_graph graph(g.dependencies());
    for (const collective op : {collective::all_gather, collective::reduce_scatter, collective::all_reduce})
      for (const std::vector<task_index>& group : groups_of(in_order(g, wanted, op), keys)) {
        if (control.stop.stop_requested()) return result;
        fill(g, graph, group, cap_of(g, g.collective(group.front()).group, shared_cap), result);
      }
    result.decisions.insert(result.decisions.end(), refused.begin(), refused.end());
    return result;
  }

 private:
  [[nodiscard]] static bytes saturated(const task_graph& g, std::uint32_t group) {
    return std::clamp(saturation_size(g.groups()[group].size), mebibytes(50), mebibytes(2000));
  }
  [[nodiscard]] static bytes default_cap(const task_graph& g, const std::vector<bool>& tags) {
    for (task_index t = 0; t < g.size(); ++t)
      if (tags[t] && g.collective(t).op == collective::all_gather) return saturated(g, g.collective(t).group);
    return mebibytes(500);
  }
  [[nodiscard]] bytes cap_of(const task_graph& g, std::uint32_t group, bytes shared) const {
    if (const auto own = cap_of_group.find(group); own != cap_of_group.end()) return own->second;
    return own_caps && !cap ? saturated(g, group) : shared;
  }

  /// Those that may be members, and why the others may not.
  [[nodiscard]] std::vector<bool> candidates(const task_graph& g, const std::vector<bool>& tags,
                                             const std::vector<std::uint32_t>& channels,
                                             std::vector<decision>& refused) const {
    const std::vector<std::optional<decision>> unfit = refused_as_members(g);
    std::vector<bool> wanted(g.size());
    for (task_index t = 0; t < g.size(); ++t) {
      if (!g.is_collective(t)) continue;
      const collective_info c = g.collective(t);
      const bool reduces = c.op == collective::all_reduce;  // which has no tag by structure
      const bool primary = !channels.empty() && channels.front() == c.group;
      const bool gathers = std::find(channels.begin(), channels.end(), c.group) != channels.end();
      const bool by_group = reduces && members == bucket_members::sharded;
      if (unfit[t])
        refused.push_back(*unfit[t]);
      else if (!by_group && !tags[t])
        refused.push_back({.reason = decision_reason::other_role, .subject = t});
      else if ((by_group && !gathers) || (!primary && (groups == bucket_groups::primary ||
                                                       (reduces && groups == bucket_groups::primary_reductions))))
        refused.push_back({.reason = decision_reason::other_group, .subject = t});
      else
        wanted[t] = true;
    }
    return wanted;
  }

  /// The wanted ones of an operation: sharded ones in the order of their first waits, derived ones in that of launches.
  [[nodiscard]] std::vector<task_index> in_order(const task_graph& g, std::vector<bool> wanted, collective op) const {
    std::vector<task_index> found;
    for (task_index t = 0; t < g.size(); ++t) {
      const task_index launched = g.is_collective(t) ? t : no_index;
      const task_index c = members == bucket_members::derived ? launched : g.completes(t);
      if (c == no_index || !wanted[c] || g.collective(c).op != op) continue;
      found.push_back(c);
      wanted[c] = false;
    }
    return found;
  }

  [[nodiscard]] std::vector<std::vector<task_index>> groups_of(const std::vector<task_index>& wanted,
                                                               const std::vector<std::uint32_t>& keys) const {
    std::vector<std::vector<task_index>> lists;
    std::vector<std::size_t> group_of;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::uint32_t key = keys[wanted[i]];
      if (group_of.size() <= key) group_of.resize(key + 1, no_index);
      if (group_of[key] == no_index || (adjacent && key != keys[wanted[i - 1]])) {
        group_of[key] = lists.size();
        lists.emplace_back();
      }
      lists[group_of[key]].push_back(wanted[i]);
    }
    return lists;
  }

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

}  // namespace v0
}  // namespace shardweave
