#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/split_phases.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_tags.hpp>

#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Buckets of a joint graph, made before or after it is split into forward and backward part.

namespace shardweave::inline v0 {

namespace detail {
/// Adds the bucket of the members that are left of one; records a collective that is left alone.
inline void add_what_is_left(const task_graph& g, std::vector<task_index> members, bool coalesced,
                             bucketing_result& to) {
  if (members.size() == 1) to.decisions.push_back({.reason = decision_reason::alone, .subject = members.front()});
  if (members.size() < 2) return;
  to.buckets.push_back(make_bucket(g, std::move(members)));
  to.buckets.back().coalesced = coalesced;
}
}  // namespace detail

/// The buckets of a joint graph restricted to one of its halves, in the numbers of the half; a collective without a
/// partner left is recorded. So buckets that were made before the split are used after it. Complexity: O(V)
[[nodiscard]] inline bucketing_result buckets_of_half(const graph_half& half, const bucketing_result& joint) {
  bucketing_result result;
  const std::vector<bool> fit = fit_for_buckets(half.graph);  // the cut takes the waits of some away
  for (const bucket& b : joint.buckets) {
    std::vector<task_index> members;
    for (const task_index t : b.members)
      if (const task_index here = half.task_of[t]; here != no_index && fit[here]) members.push_back(here);
    detail::add_what_is_left(half.graph, std::move(members), b.coalesced, result);
  }
  return result;
}

/// Splits a joint graph (`split_phases`), makes buckets of each half by a policy, and returns them in the numbers of
/// the joint graph, so no bucket has members of both phases. (The policy alone makes buckets before the split.) Roles
/// are inferred before the split, where all paths to gradients are visible, or in each half by itself, whose outputs
/// include values for the other half.
/// Source: AutoParallel's first bucketing pass: roles before the split, buckets after it.
/// Complexity: that of the policy, and O((V + E) log V)
template <class Policy = greedy>
struct after_split {
  static constexpr std::string_view name = "after_split";

  Policy policy = {};
  bool roles_before = true;  ///< whether roles and tags are inferred from the whole graph, or from each half

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const {
    const split_graph halves = split_phases(roles_before ? with_inferred_tags(g) : g);
    bucketing_result all;
    const std::vector<bool> fit = fit_for_buckets(g);  // of the whole: what uses a collective may stand behind the cut
    for (const graph_half* half : {&halves.forward, &halves.backward}) {
      const auto joint = [&](task_index t) { return t == no_index ? t : half->joint[t]; };
      bucketing_result part = bucket_collectives(half->graph, policy, control);
      for (const bucket& b : part.buckets) {
        std::vector<task_index> members;
        for (const task_index t : b.members)
          if (fit[joint(t)]) members.push_back(joint(t));
        detail::add_what_is_left(g, std::move(members), b.coalesced, all);
      }
      for (decision d : part.decisions) {
        d.subject = joint(d.subject);
        d.other = joint(d.other);
        all.decisions.push_back(d);
      }
    }
    return all;
  }
};

static_assert(bucketing_policy<after_split<>>);

}  // namespace shardweave::inline v0
