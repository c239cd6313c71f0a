#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/detail/escape.hpp>
#include <shardweave/report/text_sink.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// \file
/// Task graphs, or parts of them, for Graphviz.

namespace shardweave::inline v0 {

/// What a picture shows of a graph.
struct graphviz_options {
  std::vector<task_index> part = {};  ///< draw these tasks only; empty = all
  std::size_t most_tasks = 2000;  ///< `dot` is slow beyond; the first in task order are drawn, and the picture says so
  bool durations = true;
};

/// The tasks within `steps` dependencies of one task, in either direction, ascending.
/// \throws error (input) if the task does not exist
/// Complexity: O(what is found)
[[nodiscard]] inline std::vector<task_index> neighbourhood(const task_graph& g, task_index centre, std::size_t steps) {
  if (centre >= g.size())
    refuse(error_category::input, "there is no task " + std::to_string(centre) + ", only " + std::to_string(g.size()));
  std::vector<bool> seen(g.size());
  std::vector<task_index> found = {centre};
  seen[centre] = true;
  for (std::size_t begin = 0; steps > 0 && begin < found.size(); --steps) {
    const std::size_t end = found.size();
    const auto visit = [&](task_index t) {
      if (!seen[t]) found.push_back(t);
      seen[t] = true;
    };
    for (; begin < end; ++begin) {
      const task_index t = found[begin];
      for (const auto& e : g.dependencies().in(t)) visit(e.source);
      for (const auto& e : g.dependencies().out(t)) visit(e.target);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

namespace detail {
inline void append_node(std::string& out, const task_graph& g, task_index t, std::uint32_t bucket_number,
                        bool durations) {
  constexpr std::array<std::string_view, 7> fill = {"#9ecae1", "#fdae6b", "#fdd0a2", "#eeeeee",
                                                    "#c7e9c0", "#a1d99b", "#deebf7"};  // by task_kind
  constexpr std::array<std::string_view, 8> border = {"#e41a1c", "#377eb8", "#4daf4a", "#984ea3",
                                                      "#a65628", "#f781bf", "#666666", "#bcbd22"};  // by bucket
  out += "  t" + std::to_string(t) + " [label=\"" + std::to_string(t) + " ";
  append_dot(out, g.name_of(t));
  if (g.is_collective(t)) {
    const collective_info c = g.collective(t);
    out += "\\n";
    append_dot(out, std::string(name_of(c.op)) + " on " + channel_name(g, c.group + 1) + ", " + size_text(c.bytes_in));
  }
  if (durations && g.duration(t) > nanoseconds(0)) out += "\\n" + time_text(g.duration(t));
  if (bucket_number != no_index) out += "\\nbucket " + std::to_string(bucket_number);
  out += "\", fillcolor=\"" + std::string(fill[static_cast<std::size_t>(g.kind(t))]) + "\"";
  if (bucket_number != no_index)
    out += ", penwidth=3, color=\"" + std::string(border[bucket_number % border.size()]) + "\"";
  if (g.is_collective(t)) out += ", shape=ellipse";
  out += "];\n";
}
}  // namespace detail

/// Writes a task graph as DOT: colour = kind, thick coloured border = bucket. Edges are dependencies; drawn
/// with dashes: a wait's to its collective where it is no input too, further ordering, and added dependencies (in red).
///
/// \throws error (input) for a part, bucket or added dependency with a task that does not exist; and what the sink
///         throws
/// Complexity: O(V + E)
template <class Sink>
void write_graphviz(Sink&& sink, const task_graph& g, const schedule& s = {}, const graphviz_options& options = {}) {
  const auto check = [&](task_index t, const char* who) {
    if (t >= g.size())
      refuse(error_category::input, std::string(who) + " names task " + std::to_string(t) + ", but there are only " +
                                        std::to_string(g.size()));
  };
  std::vector<bool> drawn(g.size(), options.part.empty());
  for (const task_index t : options.part) {
    check(t, "the part to draw");
    drawn[t] = true;
  }
  for (const bucket& b : s.buckets)
    for (const task_index t : b.members) check(t, "a bucket");
  std::size_t left = options.most_tasks, left_out = 0;
  for (task_index t = 0; t < g.size(); ++t) {
    if (!drawn[t]) continue;
    if (left > 0) {
      --left;
    } else {
      drawn[t] = false;
      ++left_out;
    }
  }
  const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
  detail::buffered_text<std::remove_reference_t<Sink>> out(sink);
  out.text += "digraph \"";
  detail::append_dot(out.text, g.name);
  out.text += "\" {\n  node [shape=box, style=filled, fontsize=10];\n";
  for (task_index t = 0; t < g.size(); ++t) {
    if (drawn[t]) detail::append_node(out.text, g, t, owner[t], options.durations);
    out.pass();
  }
  const auto edge = [&](task_index from, task_index to, std::string_view how) {
    if (!drawn[from] || !drawn[to]) return;
    out.text += "  t" + std::to_string(from) + " -> t" + std::to_string(to);
    (out.text += how) += ";\n";
  };
  for (task_index t = 0; t < g.size(); ++t) {
    for (const auto& e : g.dependencies().in(t)) {
      const auto inputs = g.inputs(t);
      const bool is_data = std::find(inputs.begin(), inputs.end(), e.source) != inputs.end();
      edge(e.source, t, is_data ? "" : " [style=dashed]");
    }
    out.pass();
  }
  for (const auto& [earlier, later] : s.after) {
    check(earlier, "an added dependency");
    check(later, "an added dependency");
    edge(earlier, later, " [style=dashed, color=red]");
  }
  if (left_out > 0)
    out.text += "  more [label=\"" + count_text(left_out) + " further tasks are not drawn\", shape=note];\n";
  out.text += "}\n";
  out.flush();
}

/// The same as one text.
[[nodiscard]] inline std::string graphviz(const task_graph& g, const schedule& s = {},
                                          const graphviz_options& options = {}) {
  return detail::text_of([&](auto&& sink) { write_graphviz(sink, g, s, options); });
}

}  // namespace shardweave::inline v0
