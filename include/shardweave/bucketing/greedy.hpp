#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/merge_order.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

/// \file
/// Fills buckets in graph order, up to a size.

namespace shardweave {
inline namespace v0 {

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
  std::size_t patience = 20;  ///< refusals in a row after which a bucket is closed

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const {
    bucketing_result result;
    std::vector<std::vector<task_index>> by_key = collect(g, result.decisions);
    merge_order order(g.dependencies());
    std::vector<std::uint32_t> place(g.size());  // in the graph as given, before any merge
    for (task_index t = 0; t < g.size(); ++t) place[t] = order.place_of(t);
    for (std::vector<task_index>& pending : by_key)
      while (!pending.empty() && !control.stop.stop_requested()) fill_one(g, place, order, pending, result);
    return result;
  }

 private:
  /// The collectives that may be members, by key; refusals of those that may not.
  [[nodiscard]] std::vector<std::vector<task_index>> collect(const task_graph& g,
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

  /// Takes one bucket, or one collective that stays alone, off the front of the list.
  void fill_one(const task_graph& g, const std::vector<std::uint32_t>& place, merge_order& order,
                std::vector<task_index>& pending, bucketing_result& result) const {
    const task_index seed = pending.front();
    const std::size_t tried = promising(g, pending, result);
    std::vector<task_index> members = {seed}, left;
    std::size_t refusals = 0, i = 1;
    for (; i < tried && refusals < patience; ++i) {
      const task_index t = pending[i];
      if (order.merge(seed, t)) {
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

  /// How many of the first collectives of the list would make the best bucket by size and gain, 1 if none:
  /// as many as the cap allows, or those that save the most. Durations may have steps, so that a gain may
  /// come only with several members.
  std::size_t promising(const task_graph& g, const std::vector<task_index>& pending, bucketing_result& result) const {
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

  /// Whether the collective needs a member's result, or a member needs its result, in the graph as given.
  static bool depend(const task_graph& g, const std::vector<std::uint32_t>& place,
                     const std::vector<task_index>& members, task_index t) {
    for (const task_index m : members)
      if (place[m] < place[t] ? reaches(g, place, m, t) : reaches(g, place, t, m)) return true;
    return false;
  }
  static bool reaches(const task_graph& g, const std::vector<std::uint32_t>& place, task_index from, task_index to) {
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
};

static_assert(bucketing_policy<greedy> && bucketing_policy<no_bucketing>);

}  // namespace v0
}  // namespace shardweave
