#pragma once

#include <shardweave/report/svg_timeline.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

/// \file
/// What was predicted and what was measured, above each other in one picture.

namespace shardweave::inline v0 {

/// A static SVG of two timelines of one schedule on one time axis, the predicted one above, each as `svg_timeline`
/// draws it: what is longer below took longer than was predicted.
///
/// \param options  of both; the title is followed by which is which
/// \pre the schedule is valid, and both timelines are of this graph and schedule
/// \throws error (input) for a timeline of another size
/// Complexity: that of `svg_timeline`, twice
[[nodiscard]] inline std::string svg_comparison(const task_graph& g, const schedule& s, const timeline& predicted,
                                                const timeline& measured, svg_timeline_options options = {}) {
  const std::string title = options.title.empty() ? g.name : options.title;
  options.until = std::max({options.until, predicted.end_to_end, measured.end_to_end});
  svg_timeline_options above = options, below = options;
  above.title = title + ", predicted";
  below.title = title + ", measured";
  detail::svg_timeline_writer first(g, s, predicted, above), second(g, s, measured, below);
  const std::size_t height = first.height() + second.height();
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(first.width()) + "\" height=\"" +
         std::to_string(height) + "\">\n" + first.text() + second.text(first.height()) + "</svg>\n";
}

}  // namespace shardweave::inline v0
