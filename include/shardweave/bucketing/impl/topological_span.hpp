#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/task_tags.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// \file
/// Definition of `topological_span`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE bytes saturation_size(std::int64_t ranks, std::int64_t per_node) {
  if (ranks < 2) return bytes(0);
  ranks = std::min(ranks, std::int64_t{1} << 40);  // more than any machine has
  const bool inside = ranks <= per_node;
  const double bytes_per_us = inside ? 36e3 : 22e3, hop_us = inside ? 40 : 12, start_us = inside ? 10 : 30;
  const auto size =
      bytes(static_cast<std::int64_t>(9 * (start_us + static_cast<double>(ranks - 1) * hop_us) * bytes_per_us + 0.5));
  return inside ? size : std::max(size, mebibytes(100));
}

SHARDWEAVE_INLINE std::vector<std::uint32_t> sharding_channels(const task_graph& g, const std::vector<bool>& tags) {
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

SHARDWEAVE_INLINE bucketing_result topological_span::operator()(const task_graph& g,
                                                                const solve_control& control) const {
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
      const auto own = cap_of_group.find(g.collective(group.front()).group);
      fill(g, graph, group, own != cap_of_group.end() ? own->second : shared_cap, result);
    }
  result.decisions.insert(result.decisions.end(), refused.begin(), refused.end());
  return result;
}

SHARDWEAVE_INLINE bytes topological_span::default_cap(const task_graph& g, const std::vector<bool>& tags) {
  for (task_index t = 0; t < g.size(); ++t)
    if (tags[t] && g.collective(t).op == collective::all_gather)
      return std::clamp(saturation_size(g.groups()[g.collective(t).group].size), mebibytes(50), mebibytes(2000));
  return mebibytes(500);
}

SHARDWEAVE_INLINE std::vector<bool> topological_span::candidates(const task_graph& g, const std::vector<bool>& tags,
                                                                 const std::vector<std::uint32_t>& channels,
                                                                 std::vector<decision>& refused) const {
  const std::vector<std::optional<decision>> unfit = refused_as_members(g);
  std::vector<bool> wanted(g.size());
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.is_collective(t)) continue;
    const collective_info c = g.collective(t);
    const bool reduces = c.op == collective::all_reduce;  // all-reduces have no tag by structure
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

SHARDWEAVE_INLINE std::vector<task_index> topological_span::in_order(const task_graph& g, std::vector<bool> wanted,
                                                                     collective op) const {
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

SHARDWEAVE_INLINE std::vector<std::vector<task_index>> topological_span::groups_of(
    const std::vector<task_index>& wanted, const std::vector<std::uint32_t>& keys) const {
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

}  // namespace shardweave::inline v0
