#pragma once

#include <shardweave/report/html_plan.hpp>
#include <shardweave/report/text_sink.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_maps.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// A plan as one HTML file that needs nothing else: to be opened, searched and sent on.

namespace shardweave::inline v0 {

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
template <class Sink>
void write_html(Sink&& sink, std::span<const html_plan> plans, const html_options& options = {}) {
  detail::write_html_report([&](std::string_view piece) { detail::pass_on(sink, piece); }, plans, options);
}

/// The same of one plan.
template <class Sink>
void write_html(Sink&& sink, const task_graph& g, const schedule& s, const timeline& line,
                const html_options& options = {}) {
  const html_plan plan{.name = "plan", .graph = &g, .order = &s, .line = &line};
  write_html(sink, std::span(&plan, 1), options);
}

/// The same of a graph of the host's own and its property maps (`task_maps`); tasks are positions in `vertices(g)`.
template <class Sink, class G, class Maps>
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

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/report/impl/html.hpp>
#endif
