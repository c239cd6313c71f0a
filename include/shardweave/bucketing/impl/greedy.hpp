#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

/// \file
/// Definition of `greedy`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE bucketing_result greedy::operator()(const task_graph& g, const solve_control& control) const {
  bucketing_result result;
  std::vector<std::vector<task_index>> by_key = collect(g, result.decisions);
  const std::vector<std::uint32_t> order = stable_topological_order(g.dependencies());
  std::vector<std::uint32_t> place(g.size());  // in the given graph, before any merge
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  augmented_graph merged(g.dependencies(), order);
  for (std::vector<task_index>& pending : by_key)
    while (!pending.empty() && !control.stop.stop_requested()) fill_one(g, place, merged, pending, result);
  return result;
}

SHARDWEAVE_INLINE std::vector<std::vector<task_index>> greedy::collect(const task_graph& g,
                                                                       std::vector<decision>& refused) const {
  const std::vector<std::uint32_t> keys = bucket_keys(g);
  const std::vector<std::optional<decision>> unfit = refused_as_members(g);
  std::vector<bool> wanted(g.size(), true);
  if (fsdp_only.value_or(true)) {
    std::vector<bool> tags = fsdp_tags(g);
    bool known = fsdp_only.has_value();
    for (task_index t = 0; t < g.size() && !known; ++t)
      known = tags[t] || (g.is_collective(t) && (g.is_fsdp(t) || g.role(t) != task_role::none));
    if (known) wanted = std::move(tags);
  }
  std::vector<std::vector<task_index>> by_key;
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.is_collective(t)) continue;
    if (unfit[t]) {
      refused.push_back(*unfit[t]);
    } else if (!wanted[t]) {
      refused.push_back({.reason = decision_reason::other_role, .subject = t});
    } else {
      if (by_key.size() <= keys[t]) by_key.resize(keys[t] + 1);
      by_key[keys[t]].push_back(t);
    }
  }
  return by_key;
}

SHARDWEAVE_INLINE void greedy::fill_one(const task_graph& g, const std::vector<std::uint32_t>& place,
                                        augmented_graph& merged, std::vector<task_index>& pending,
                                        bucketing_result& result) const {
  const task_index seed = pending.front();
  const std::size_t tried = promising(g, pending, result);
  std::vector<task_index> members = {seed}, left;
  std::size_t refusals = 0, i = 1;
  for (; i < tried && refusals < patience; ++i) {
    const task_index t = pending[i];
    if (merged.merge(seed, t)) {
      members.push_back(t);
      refusals = 0;
      continue;
    }
    const bool direct = depend(g, place, members, t);
    result.decisions.push_back(
        {.reason = direct ? decision_reason::dependency : decision_reason::cycle, .subject = t, .other = seed});
    left.push_back(t);
    ++refusals;
  }
  if (members.size() > 1) {
    result.buckets.push_back(make_bucket(g, std::move(members)));
  } else {
    result.decisions.push_back({.reason = decision_reason::alone, .subject = seed});
  }
  left.insert(left.end(), pending.begin() + static_cast<std::ptrdiff_t>(i), pending.end());
  pending = std::move(left);
}

SHARDWEAVE_INLINE std::size_t greedy::promising(const task_graph& g, const std::vector<task_index>& pending,
                                                bucketing_result& result) const {
  bucket all = make_bucket(g, {pending.front()});
  nanoseconds apart = g.duration(pending.front()), most;
  std::size_t best = 1, i = 1;
  decision no{.subject = pending.front()};
  for (; i < pending.size(); ++i) {
    const collective_info c = g.collective(pending[i]);
    all.bytes_in += c.bytes_in;
    all.bytes_out += c.bytes_out;
    if (const bytes size = std::max(all.bytes_in, all.bytes_out); size > cap) {
      no = {.reason = decision_reason::byte_cap,
            .subject = pending[i],
            .other = pending.front(),
            .found = size.count(),
            .limit = cap.count()};
      result.decisions.push_back(no);
      break;
    }
    if (!needs_gain) continue;
    const bucket_costs costs = costs_of(g, all);
    apart += g.duration(pending[i]);
    if (const nanoseconds gain = apart - costs.duration - costs.pack - costs.unpack; gain > most) {
      most = gain;
      best = i + 1;
    }
  }
  if (!needs_gain) return i;
  if (best < i)
    result.decisions.push_back(
        {.reason = decision_reason::no_gain, .subject = pending[best], .other = pending.front()});
  return best;
}

SHARDWEAVE_INLINE bool greedy::depend(const task_graph& g, const std::vector<std::uint32_t>& place,
                                      const std::vector<task_index>& members, task_index t) {
  for (const task_index m : members)
    if (place[m] < place[t] ? reaches(g, place, m, t) : reaches(g, place, t, m)) return true;
  return false;
}

SHARDWEAVE_INLINE bool greedy::reaches(const task_graph& g, const std::vector<std::uint32_t>& place, task_index from,
                                       task_index to) {
  std::unordered_set<task_index> seen;
  std::vector<task_index> stack = {from};
  while (!stack.empty()) {
    const task_index t = stack.back();
    stack.pop_back();
    for (const auto& e : g.dependencies().out(t)) {
      if (e.target == to) return true;
      if (place[e.target] < place[to] && seen.insert(e.target).second) stack.push_back(e.target);
    }
  }
  return false;
}

}  // namespace shardweave::inline v0
