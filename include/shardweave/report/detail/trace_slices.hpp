#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

/// \file
/// What of a timeline a trace shows.

namespace shardweave::inline v0::detail {

inline constexpr std::size_t no_launch = ~std::size_t{0};

/// The launched unit that a span belongs to: a collective by its task, a bucket by its number behind all tasks.
[[nodiscard]] inline std::size_t launch_of(const task_graph& g, const channel_span& span) {
  if (span.bucket != no_index) return g.size() + span.bucket;
  if (span.kind == span_kind::work) return no_launch;
  if (span.kind != span_kind::wait) return span.task;
  return g.completes(span.task) == no_index ? no_launch : g.completes(span.task);
}

struct drawn_span_options {
  std::size_t most = 0;
  bool launches_and_waits = true;  ///< also where they take no time: arrows need them
  bool zero_length_tasks = false;
};

/// Which spans are drawn: all that are asked for or, if they are too many, the longest of them. A launch or a
/// wait that takes no time is drawn only with its collective.
[[nodiscard]] inline std::vector<bool> drawn_spans(const task_graph& g, const std::vector<channel_span>& spans,
                                                   const drawn_span_options& options) {
  const auto length = [&](std::size_t i) { return spans[i].end - spans[i].start; };
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const bool ends_an_arrow =
        spans[i].kind == span_kind::launch || (spans[i].kind == span_kind::wait && launch_of(g, spans[i]) != no_launch);
    if (length(i) > nanoseconds(0) || spans[i].kind == span_kind::collective ||
        (ends_an_arrow && options.launches_and_waits) ||
        (spans[i].kind == span_kind::work && options.zero_length_tasks))
      wanted.push_back(i);
  }
  if (wanted.size() > options.most) {
    const auto end = wanted.begin() + static_cast<std::ptrdiff_t>(options.most);
    std::nth_element(wanted.begin(), end, wanted.end(), [&](std::size_t a, std::size_t b) {
      return length(a) != length(b) ? length(a) > length(b) : a < b;
    });
    wanted.erase(end, wanted.end());
  }
  std::vector<bool> drawn(spans.size()), launch_drawn;
  for (const std::size_t i : wanted) {
    drawn[i] = true;
    if (spans[i].kind != span_kind::collective) continue;
    launch_drawn.resize(std::max(launch_drawn.size(), launch_of(g, spans[i]) + 1));
    launch_drawn[launch_of(g, spans[i])] = true;
  }
  for (const std::size_t i : wanted) {
    const std::size_t launch = launch_of(g, spans[i]);
    if (launch == no_launch || length(i) > nanoseconds(0)) continue;
    drawn[i] = launch < launch_drawn.size() && launch_drawn[launch];
  }
  return drawn;
}

}  // namespace shardweave::inline v0::detail
