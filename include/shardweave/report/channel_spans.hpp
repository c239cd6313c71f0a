#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

/// \file
/// What stood on which channel from when to when: the form of a timeline that traces and pictures draw.

namespace shardweave::inline v0 {

/// The number of the compute stream among channels; process group `p` is channel `p + 1`.
inline constexpr std::uint32_t compute_channel = 0;

/// What a channel or the compute stream does in a stretch of time.
enum class span_kind : std::uint8_t {
  work,        ///< a task of the compute stream
  launch,      ///< a collective or a member of a bucket is launched; takes no time
  pack,        ///< copies into a bucket's buffer
  collective,  ///< one collective, or one bucket, on its channel
  wait,        ///< the compute stream is stalled; takes no time where the collective was done
  unpack       ///< copies out of a bucket's buffer
};

/// One stretch of time of one channel.
struct channel_span {
  std::uint32_t channel = compute_channel;
  span_kind kind = span_kind::work;
  task_index task = no_index;       ///< of a bucket's own spans: its first member
  std::uint32_t bucket = no_index;  ///< position in `schedule::buckets`, if it belongs to one
  nanoseconds start;
  nanoseconds end;
  friend bool operator==(const channel_span&, const channel_span&) = default;
};

/// For people: "compute", "dp", "group 7", "dp (group 513)".
[[nodiscard]] inline std::string channel_name(const task_graph& g, std::uint32_t channel) {
  if (channel == compute_channel) return "compute";
  const process_group& group = g.groups()[channel - 1];
  const std::string name = group.name.empty() ? std::to_string(group.id) : group.name;
  if (group.dim.empty()) {
    const bool bare = name.find_first_not_of("0123456789") == std::string::npos;
    return bare ? "group " + name : name;
  }
  return group.dim == name ? name : group.dim + " (group " + name + ")";
}

namespace detail {
inline void check_timeline(const task_graph& g, const schedule& s, const timeline& line) {
  const auto check = [](std::size_t found, std::size_t expected, const char* what, const char* of) {
    if (found != expected)
      refuse(error_category::input, "the timeline has " + std::to_string(found) + " " + what +
                                        ", expected one for each of " + std::to_string(expected) + " " + of);
  };
  check(line.start.size(), g.size(), "start times", "tasks");
  check(line.end.size(), g.size(), "end times", "tasks");
  check(line.buckets.size(), s.buckets.size(), "times of buckets", "buckets");
  const auto check_task = [&](task_index t, const char* who) {
    if (t >= g.size())
      refuse(error_category::input, std::string(who) + " names task " + std::to_string(t) + ", but there are only " +
                                        std::to_string(g.size()));
  };
  for (const task_index t : s.order) check_task(t, "the order");
  for (const bucket& b : s.buckets) {
    if (b.members.empty() || b.channel >= g.groups().size())
      refuse(error_category::input, b.members.empty()
                                        ? "a bucket has no members"
                                        : "a bucket names group " + std::to_string(b.channel) +
                                              ", but there are only " + std::to_string(g.groups().size()));
    for (const task_index t : b.members) check_task(t, "a bucket");
  }
}
}  // namespace detail

/// All spans in the order of the schedule, those of one channel one after the other. A wait that names no
/// collective, and tasks that take no time, are there too. A timeline does not say when packing ended: it is
/// taken to last until the compute stream does something else or the collective starts.
/// \pre the schedule is valid, and the timeline is of this graph and schedule
/// \throws error (input) for a timeline or an order of another size
/// Complexity: O(V)
[[nodiscard]] inline std::vector<channel_span> channel_spans(const task_graph& g, const schedule& s,
                                                             const timeline& line) {
  detail::check_timeline(g, s, line);
  const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
  std::vector<task_index> launcher(s.buckets.size(), no_index);  // the last member in the order
  for (const task_index t : s.order)
    if (owner[t] != no_index) launcher[owner[t]] = t;
  const auto launches_bucket = [&](task_index t) { return owner[t] != no_index && launcher[owner[t]] == t; };

  // per position: when the compute stream goes on after it
  std::vector<nanoseconds> goes_on(s.order.size());
  nanoseconds next(std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = s.order.size(); i-- > 0;) {
    goes_on[i] = next;
    const task_index t = s.order[i];
    if (!g.is_collective(t)) next = line.start[t];
    if (launches_bucket(t)) next = line.buckets[owner[t]].pack_start;
  }

  std::vector<bool> unpacked(s.buckets.size());
  std::vector<channel_span> spans;
  spans.reserve(s.order.size() + s.order.size() / 4);
  nanoseconds now;  // of the compute stream: where the next launch stands
  const auto add = [&](std::uint32_t channel, span_kind kind, task_index t, std::uint32_t b, nanoseconds start,
                       nanoseconds end) {
    spans.push_back({channel, kind, t, b, start, end});
    if (channel == compute_channel) now = std::max(now, end);
  };
  for (std::size_t i = 0; i < s.order.size(); ++i) {
    const task_index t = s.order[i];
    if (g.is_collective(t)) {
      const std::uint32_t b = owner[t];
      const nanoseconds launched = std::min(now, b == no_index ? line.start[t] : line.buckets[b].pack_start);
      add(compute_channel, span_kind::launch, t, b, launched, launched);
      if (b == no_index) {
        add(g.collective(t).group + 1, span_kind::collective, t, b, line.start[t], line.end[t]);
      } else if (launches_bucket(t)) {
        const bucket_times& times = line.buckets[b];
        const task_index first = s.buckets[b].members.front();
        add(compute_channel, span_kind::pack, first, b, times.pack_start, std::min(times.start, goes_on[i]));
        add(s.buckets[b].channel + 1, span_kind::collective, first, b, times.start, times.end);
      }
    } else if (g.kind(t) == task_kind::wait) {
      const std::uint32_t b = g.completes(t) == no_index ? no_index : owner[g.completes(t)];
      add(compute_channel, span_kind::wait, t, b, line.start[t], line.end[t]);
      if (b != no_index && !unpacked[b]) {
        unpacked[b] = true;
        const bucket_times& times = line.buckets[b];
        add(compute_channel, span_kind::unpack, s.buckets[b].members.front(), b, times.unpack_start, times.unpack_end);
      }
    } else {
      add(compute_channel, span_kind::work, t, no_index, line.start[t], line.end[t]);
    }
  }
  return spans;
}

}  // namespace shardweave::inline v0
