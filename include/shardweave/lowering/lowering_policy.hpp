#pragma once

#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/placement/cost.hpp>

#include <concepts>
#include <span>
#include <string_view>

/// \file
/// The concept of a policy that lowers placements to tasks.

namespace shardweave::inline v0 {

/// Makes the tasks of one device from a cost model and an assignment.
///
/// A lowering is a value: its settings are data members, the call is const, and one object may serve several threads.
/// It is given one strategy per vertex, in the order of the graph's vertices, and promises that
///  - the order of its tasks is topological;
///  - `origin` has an entry per task and `task_of` one per vertex;
///  - equal models and assignments give equal tasks.
template <class L, class M>
concept lowering_policy =
    std::copy_constructible<L> && requires(const L& policy, const M& model, std::span<const strategy> chosen) {
      { L::name } -> std::convertible_to<std::string_view>;
      { policy(model, chosen) } -> std::same_as<lowered_graph>;
    };

}  // namespace shardweave::inline v0
