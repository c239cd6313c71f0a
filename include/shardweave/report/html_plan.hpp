#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/report/svg_progress.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// \file
/// What a report shows.

namespace shardweave::inline v0 {

/// How one value is placed; the picture has a row for each `part` and a column for each `layer`.
struct placed_value {
  std::string kind = "parameters";  ///< a picture for each; the first one is open
  std::string part = {};            ///< which value of its layer: "wq"
  std::string layer = {};           ///< "0", "1", ...; anything else is a column before them
  std::string label = {};           ///< its strategy: "S(0)R"
  bytes per_device = {};
};

/// A plan that a report shows: a schedule of a task graph, and when everything ran. What is pointed at outlives the
/// call.
struct html_plan {
  std::string name = {};              ///< what it is called beside others: "scheduled", "measured"
  const task_graph* graph = nullptr;  ///< not null; plans of one graph point to the same one
  const schedule* order = nullptr;    ///< not null
  const timeline* line = nullptr;     ///< not null; live bytes are shown if it has memory samples
  /// By task: recomputes a value for the backward part, as `recomputed_graph::again` has it. Empty = none does.
  std::span<const char> again = {};
  /// How its values are placed; empty: that is not shown. Of several plans the ones that have it are compared value by
  /// value: the same kind, part and layer, in their order.
  std::span<const placed_value> placement = {};
  /// `line` is what `simulate` gives, so that the chain that makes the step can be told; not so of measured ones.
  bool is_simulated = true;
};

/// A time before which nothing ends.
struct html_bound {
  std::string name = {};  ///< what does not: "any plan", "any order with these buckets"
  nanoseconds time = {};
};

/// What a part of a whole is worth.
struct html_share {
  std::string name = {};
  double share = 0;  ///< from 0 to 1
};

/// A fact in words, beside those that the timeline tells.
struct html_figure {
  std::string name = {};
  std::string value = {};
};

/// What a report tells besides its plans, and how much of them at most.
struct html_options {
  std::string title = {};     ///< empty = the name of the first plan's graph
  std::string subtitle = {};  ///< a line below it
  std::vector<html_figure> figures = {};
  std::vector<html_bound> bounds = {};
  std::vector<html_share> prices = {};      ///< what the least bound is made of: that is what the step waits for
  std::vector<progress_point> search = {};  ///< how the plan was found; empty: there is no such part
  std::size_t most_spans = 100'000;  ///< of a plan; beyond it the shortest are left out, and the page says how many
  std::size_t most_samples = 2000;   ///< of live bytes; each is then the most of what it stands for
  std::size_t most_refusals = 200;   ///< listed for each reason; all are counted
};

}  // namespace shardweave::inline v0
