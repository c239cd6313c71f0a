#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/memory/held_values.hpp>
#include <shardweave/step/step_search_options.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

/// \file
/// Options of a search for the fastest plan of a model.

namespace shardweave::inline v0 {

/// Settings of `fastest_plan`.
struct fastest_plan_options {
  step_search_options search = {};
  /// Memory of a device: the peak of the timeline, inputs included, and what is `beside` it must fit. A plan that
  /// exceeds it recomputes values in its backward part; one that exceeds it even so is infeasible.
  std::optional<bytes> memory = std::nullopt;
  std::vector<held_form> beside = {};  ///< memory that no timeline sees: state of the optimizer (`optimizer_state_of`)
  /// Tells the values that vertices hold; called only when a plan does not fit. With it the bound and the prices of the
  /// search see the limit, and values of blocks are recomputed; without it a plan must fit as it is.
  std::function<held_values()> held = nullptr;
  /// Bytes per second of copies to the host's memory, and of those back. If positive, values of blocks may wait there
  /// where the plan without such copies is no faster; the search takes twice as long where memory is short. The bound
  /// then ignores the limit, since copies may be free. 0: no copies.
  double host_bandwidth = 0;
  /// Makes buckets and an order that hold at most so many bytes, if it can; nothing: the pass of the pipeline is used.
  std::function<schedule(const task_graph&, bytes, const solve_control&)> within = nullptr;
  /// Effort of the search over orders for each of the plans that are improved (`search::changes`). The best plan gets
  /// ten times as many, in rounds, while a round gains enough (a five-hundredth of the step).
  std::size_t changes = 3000;
  std::size_t rounds = 8;  ///< at most; fewer of large graphs
  bool rebucket = true;    ///< that search may change buckets, too
  /// Whether stalls of the best plan are filled (`search::fills`), by which it may hold all of the memory. Done if the
  /// plan fits `memory` without recomputation and waits for a hundredth of its step or more, while a round shortens the
  /// step by a five-hundredth. Otherwise the plan holds no more than it did before, or the original order does.
  bool fills = true;
};

}  // namespace shardweave::inline v0
