#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_maps.hpp>

#include <concepts>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The concept of a bucketing policy.

namespace shardweave::inline v0 {

/// Decides which collectives of a task graph are merged into buckets.
///
/// A policy is a value: its settings are data members, the call is const, and one object may serve several threads. It
/// also promises that
///  - its buckets keep every rule of `validate_schedule`;
///  - the graph with each bucket contracted to one vertex is acyclic;
///  - equal graphs and settings give equal buckets.
template <class P>
concept bucketing_policy =
    std::copy_constructible<P> && requires(const P& policy, const task_graph& g, const solve_control& control) {
      { P::name } -> std::convertible_to<std::string_view>;
      { policy(g, control) } -> std::same_as<bucketing_result>;
    };

/// Merges nothing.
struct no_bucketing {
  static constexpr std::string_view name = "none";
  [[nodiscard]] bucketing_result operator()(const task_graph&, const solve_control& = {}) const { return {}; }
};

/// The buckets of a task graph by a policy.
template <class P>
[[nodiscard]] bucketing_result bucket_collectives(const task_graph& g, const P& policy,
                                                  const solve_control& control = {}) {
  static_assert(bucketing_policy<P>,
                "A bucketing policy must have a static member name and a const call (task_graph, solve_control) that "
                "returns a bucketing_result (shardweave::bucketing_policy).");
  if constexpr (bucketing_policy<P>) return policy(g, control);
}

/// The same over any graph and its property maps; members are positions in `vertices(g)`.
template <class G, class P, class Maps>
[[nodiscard]] bucketing_result bucket_collectives(const G& g, const P& policy, const Maps& maps,
                                                  std::vector<duration_table> tables,
                                                  const solve_control& control = {}) {
  return bucket_collectives(make_task_graph(g, maps, std::move(tables)), policy, control);
}

}  // namespace shardweave::inline v0
