#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/report/svg_progress.hpp>
#include <shardweave/report/text_sink.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_maps.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// A plan as one HTML file that needs nothing else: to be opened, searched and sent on.

namespace shardweave {
inline namespace v0 {

/// A plan that a report shows: a schedule of a task graph, and when everything ran. What is pointed at outlives the
/// call.
struct html_plan {
  std::string name = {};              ///< what it is called beside others: "scheduled", "measured"
  const task_graph* graph = nullptr;  ///< not null; plans of one graph point to the same one
  const schedule* order = nullptr;    ///< not null
  const timeline* line = nullptr;     ///< not null; live bytes are shown if it has memory samples
  /// By task: makes a value again for the backward part, as `recomputed_graph::again` has it. Empty = none does.
  std::span<const char> again = {};
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

/// How one value is placed; the picture has a row for each `part` and a column for each `layer`.
struct placed_value {
  std::string kind = "parameters";  ///< a picture for each; the first one is open
  std::string part = {};            ///< which value of its layer: "wq"
  std::string layer = {};           ///< "0", "1", ...; anything else is a column before them
  std::string label = {};           ///< its strategy: "S(0)R"
  bytes per_device = {};
};

struct html_options {
  std::string title = {};     ///< empty = the name of the first plan's graph
  std::string subtitle = {};  ///< a line below it
  std::vector<html_figure> figures = {};
  std::vector<html_bound> bounds = {};
  std::vector<html_share> prices = {};       ///< what the least bound is made of: that is what the step waits for
  std::vector<placed_value> placement = {};  ///< empty: there is no such part
  std::vector<progress_point> search = {};   ///< how the plan was found; empty: there is no such part
  std::size_t most_spans = 100'000;  ///< of a plan; beyond it the shortest are left out, and the page says how many
  std::size_t most_samples = 2000;   ///< of live bytes; each is then the most of what it stands for
  std::size_t most_refusals = 200;   ///< listed for each reason; all are counted
};

namespace detail {
/// The report to a sink of a fixed type: compiled once.
void write_html_report(const std::function<void(std::string_view)>& sink, std::span<const html_plan> plans,
                       const html_options& options);
}  // namespace detail

/// Writes a report: one HTML file with all it needs in it, which fetches nothing. It shows the step beside the bounds,
/// a timeline of all channels to zoom, search and follow by pointer, touch or keys, live bytes by what they are held
/// for (`memory_parts`), what the step waits for (`critical_path`, stalls, `prices`), the placement by layer and part,
/// buckets with their members and what was refused why, and the plans beside each other; the first one is the plan that
/// the report is about. Its figures are readable without scripts, too; the data stand in it as JSON, in the element
/// with id `data`. Light and dark follow the reader's system. Equal input gives equal text.
///
/// \pre each schedule is valid, its timeline is of its graph and, if it `is_simulated`, of `simulate`; each `again` is
///      empty or has an entry for each task
/// \throws error (input) if there is no plan, or a timeline is of another size, and what the sink throws
/// Complexity: for each plan O((V + E) log V) time, O(V + E) memory, besides the text: some 60 to 120 bytes a task
template <text_sink Sink>
void write_html(Sink&& sink, std::span<const html_plan> plans, const html_options& options = {}) {
  detail::write_html_report([&](std::string_view piece) { sink(piece); }, plans, options);
}

/// The same of one plan.
template <text_sink Sink>
void write_html(Sink&& sink, const task_graph& g, const schedule& s, const timeline& line,
                const html_options& options = {}) {
  const html_plan plan{.name = "plan", .graph = &g, .order = &s, .line = &line};
  write_html(sink, std::span(&plan, 1), options);
}

/// The same of a graph of the host's own and its property maps (`task_maps`); tasks are positions in `vertices(g)`.
template <text_sink Sink, planning_graph G, task_maps_of<G> Maps>
void write_html(Sink&& sink, const G& g, const Maps& maps, std::vector<duration_table> tables, const schedule& s,
                const timeline& line, const html_options& options = {}) {
  write_html(sink, make_task_graph(g, maps, std::move(tables)), s, line, options);
}

/// The same as one text.
[[nodiscard]] inline std::string html(std::span<const html_plan> plans, const html_options& options = {}) {
  return detail::text_of([&](auto&& sink) { write_html(sink, plans, options); });
}
/// The same of one plan.
[[nodiscard]] inline std::string html(const task_graph& g, const schedule& s, const timeline& line,
                                      const html_options& options = {}) {
  return detail::text_of([&](auto&& sink) { write_html(sink, g, s, line, options); });
}

}  // namespace v0
}  // namespace shardweave

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/report/impl/html.hpp>
#endif
