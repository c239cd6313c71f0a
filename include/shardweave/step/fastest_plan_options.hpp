#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/memory/held_values.hpp>
#include <shardweave/step/step_search.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

/// \file
/// What a search for the fastest plan of a model is told.

namespace shardweave::inline v0 {

/// Settings of `fastest_plan`.
struct fastest_plan_options {
  step_search_options search = {};
  /// Of a device: what a timeline holds at its peak, inputs included, and what lies `beside` it.
  /// A plan that holds more makes values again in its backward part; one that holds more even so does not count.
  std::optional<bytes> memory = std::nullopt;
  std::vector<held_form> beside = {};  ///< not seen by a timeline: state of the optimizer (`optimizer_state_of`)
  /// What the vertices hold, told when a plan does not fit. With it the bound and the prices of the search see the
  /// limit, and values of blocks are made again; without it a plan must fit as it is.
  std::function<held_values()> held = nullptr;
  /// Of copies to the host's memory and of those back, in bytes per second: then values of blocks may wait there, if
  /// the plan without is no faster, and the search takes twice as long where the memory is in the way. The bound does
  /// not see the limit then, which copies may keep at no cost. 0: none do.
  double host_bandwidth = 0;
  /// Makes buckets and an order that hold no more than so much, if it can; nothing: as the pass of the pipeline does.
  std::function<schedule(const task_graph&, bytes, const solve_control&)> within = nullptr;
  /// Of the search over orders at its first glance (`search::changes`). For the plan that is kept ten times as many,
  /// again and again as long as that gains something worth it.
  std::size_t changes = 3000;
  std::size_t rounds = 8;  ///< so often at most; of large graphs less
  bool rebucket = true;    ///< that search may change buckets, too
  /// If the plan that is kept fits `memory` as it is and still waits for a hundredth of its step or more, that search
  /// goes on with stalls filled (`search::fills`), by which a plan may hold all of the memory: as long as a round makes
  /// the step shorter by a five-hundredth. Else it holds no more than the plan or the original order does.
  bool fills = true;
};

}  // namespace shardweave::inline v0
