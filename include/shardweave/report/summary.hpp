#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/solve/solution.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// \file
/// The pieces of a plan's summary, as text for people. Each is a table that ends with a new line, and empty if
/// there is nothing to tell; the caller sets headings and blank lines between them.

namespace shardweave::inline v0 {

/// Objective, its parts with their shares, savings where they count, lower bound and gap, status, and who found it in
/// what time.
/// \param unit  of all costs, for example "us"
template <cost_value Cost>
[[nodiscard]] std::string placement_summary(const solution<Cost>& found, const evaluation<Cost>& priced,
                                            std::string_view unit = "");

/// What a kind of parameter or activation was given.
struct strategy_row {
  std::string group = {};  ///< for example "attention q, k, v weights"
  std::string label = {};  ///< the strategy, for example "S(0)R"
  std::size_t count = 0;   ///< how many vertices
  bytes per_device = {};   ///< their sum on one device
};

/// What was sharded how. Rows keep their order; a group's name stands at its first row only.
[[nodiscard]] std::string strategy_summary(std::span<const strategy_row> rows);

/// Collectives before and after bucketing, by operation and group: how many are launched, the sum of what this
/// rank puts in, and the largest launch.
/// \pre members of buckets are collectives of the graph
[[nodiscard]] std::string collective_summary(const task_graph& g, std::span<const bucket> buckets);

/// A timeline under the name it has in a comparison, for example "as given", "scheduled".
struct named_timeline {
  std::string name = {};
  const timeline* line = nullptr;  ///< not null
};

/// Timelines beside each other: one column each. Shares are those of the end-to-end time; of hidden
/// communication, that of all communication, which several channels can make longer than the step.
[[nodiscard]] std::string timeline_summary(std::span<const named_timeline> lines);

/// The time of each stage with its share, and the sum.
[[nodiscard]] std::string stage_summary(std::span<const stage_time> stages);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/report/impl/summary.hpp>
#endif
