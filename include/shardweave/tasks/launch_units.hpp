#pragma once

#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// The task graph with each bucket drawn together: what schedulers order and bounds reason about.

namespace shardweave::inline v0 {

/// A unit is what is emitted at once: a task, or all members of a bucket. Units are numbered in the order
/// of their first tasks. The numbers of a bucket's copies and of its collective are kept beside.
/// Complexity: O((V + E) log V) to build.
class launch_units {
 public:
  /// \pre g and buckets outlive this
  /// \throws error (input) naming a task that is in two buckets, not there or no collective, a bucket without members
  ///         or on another channel than they, a member that depends on another one of its bucket, a unit on a cycle, or
  ///         a bucket that no duration table prices (`costs_of`)
  launch_units(const task_graph& g, std::span<const bucket> buckets);

  [[nodiscard]] std::size_t size() const { return first_.size(); }
  /// Units and dependencies; edge i is edge i of the task graph's.
  [[nodiscard]] const compressed_graph& graph() const { return graph_; }
  /// The topological order of units that is nearest to the original order.
  [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }
  [[nodiscard]] std::uint32_t unit_of(task_index t) const { return unit_of_[t]; }
  /// The only task of a unit, or the first member in the original order.
  [[nodiscard]] task_index first(std::uint32_t u) const { return first_[u]; }
  [[nodiscard]] bool is_bucket(std::uint32_t u) const { return bucket_[u] != no_index; }
  /// \pre is_bucket(u)
  [[nodiscard]] const bucket& bucket_at(std::uint32_t u) const { return buckets_[bucket_[u]]; }
  /// The unit's tasks: one, or a bucket's members in their order.
  [[nodiscard]] std::span<const task_index> tasks(std::uint32_t u) const {
    return is_bucket(u) ? std::span<const task_index>(bucket_at(u).members) : std::span(first_).subspan(u, 1);
  }
  [[nodiscard]] bool is_collective(std::uint32_t u) const { return g_->is_collective(first_[u]); }
  /// \pre is_collective(u)
  [[nodiscard]] std::uint32_t channel(std::uint32_t u) const { return g_->collective(first_[u]).group; }
  /// Of a task its duration and no copies; of a bucket its costs.
  [[nodiscard]] bucket_costs costs(std::uint32_t u) const {
    if (is_bucket(u)) return costs_[bucket_[u]];
    if (g_->kind(first_[u]) == task_kind::wait) return {};  // a wait stalls, it does not work
    return {{}, g_->duration(first_[u]), {}};
  }
  /// The collective whose end a unit waits for, be it for all of it or for one of its parts, a view; `no_index` for
  /// all else, and for a wait that needs more than that, as one for what another wait gave.
  [[nodiscard]] std::uint32_t awaited(std::uint32_t u) const {
    const task_index c = g_->completes(first_[u]);
    if (c == no_index) return no_index;
    const std::uint32_t launched = unit_of_[c];
    for (const auto& e : graph_.in(u)) {
      const auto needs = graph_.in(e.source);
      const bool part =
          g_->kind(first_[e.source]) == task_kind::view && needs.size() == 1 && needs.front().source == launched;
      if (e.source != launched && !part) return no_index;
    }
    return launched;
  }
  /// The edge leads from a collective to a task that waits for it, and so does not only order launches.
  [[nodiscard]] bool is_completion(const compressed_graph::edge_descriptor& unit_edge) const {
    const auto& e = g_->dependencies().all_edges()[unit_edge.index];
    return g_->completes(e.target) == e.source;
  }

 private:
  const task_graph* g_;
  std::span<const bucket> buckets_;
  std::vector<bucket_costs> costs_;
  std::vector<std::uint32_t> unit_of_;
  std::vector<task_index> first_;
  std::vector<std::uint32_t> bucket_;
  compressed_graph graph_;
  std::vector<std::uint32_t> order_;
};

/// Units as an order of tasks launches them: a bucket stands at the last of its members. Complexity: O(V)
/// \pre order lists each task once
[[nodiscard]] std::vector<std::uint32_t> units_in_order(const launch_units& units, std::span<const task_index> order);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/launch_units.hpp>
#endif
