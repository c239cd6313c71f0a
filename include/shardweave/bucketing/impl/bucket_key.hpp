#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstddef>
#include <string_view>

/// \file
/// Definitions of bucket keys.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<std::uint32_t> bucket_keys(const task_graph& g) {
  struct key {
    std::string_view dtype, reduce;
    std::uint32_t group;
    collective op;
    bool operator==(const key&) const = default;
  };
  struct key_hash {
    std::size_t operator()(const key& k) const {
      const std::hash<std::string_view> text;
      return hash_combine(hash_combine(hash_combine(text(k.dtype), text(k.reduce)), k.group),
                          static_cast<std::size_t>(k.op));
    }
  };
  interner<key, key_hash> known;
  std::vector<std::uint32_t> keys(g.size(), no_index);
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.is_collective(t)) continue;
    const collective_info c = g.collective(t);
    if (is_mergeable(c.op)) keys[t] = known({c.dtype, c.reduce, c.group, c.op});
  }
  return keys;
}

SHARDWEAVE_INLINE std::vector<std::optional<decision>> refused_as_members(const task_graph& g) {
  std::vector<std::optional<decision>> refused(g.size());
  std::vector<bool> awaited(g.size());
  std::vector<task_index> foreign(g.size(), no_index);
  for (task_index t = 0; t < g.size(); ++t) {
    if (g.completes(t) != no_index) awaited[g.completes(t)] = true;
    // other dependencies on a member would have to refer to its launch, so such collectives are not merged
    for (const auto& e : g.dependencies().in(t))
      if (g.is_collective(e.source) && g.completes(t) != e.source && g.kind(t) != task_kind::output)
        foreign[e.source] = t;
  }
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.is_collective(t)) continue;
    const collective_info c = g.collective(t);
    if (!is_mergeable(c.op))
      refused[t] = {.reason = decision_reason::not_mergeable, .subject = t};
    else if (foreign[t] != no_index)
      refused[t] = {.reason = decision_reason::foreign_user, .subject = t, .other = foreign[t]};
    else if (!awaited[t])
      refused[t] = {.reason = decision_reason::no_wait, .subject = t};
    else if (g.table(c.op, c.group) == nullptr)
      refused[t] = {.reason = decision_reason::unpriced, .subject = t};
  }
  return refused;
}

SHARDWEAVE_INLINE std::vector<bool> fit_for_buckets(const task_graph& g) {
  const std::vector<std::optional<decision>> refused = refused_as_members(g);
  std::vector<bool> fit(g.size());
  for (task_index t = 0; t < g.size(); ++t) fit[t] = g.is_collective(t) && !refused[t];
  return fit;
}

SHARDWEAVE_INLINE task_graph with_gathers_of_bytes(const task_graph& g) {
  return g.with_dtype_of(collective::all_gather, "u8");
}

}  // namespace shardweave::inline v0
