#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/detail/escape.hpp>
#include <shardweave/report/detail/trace_events.hpp>
#include <shardweave/report/detail/trace_slices.hpp>
#include <shardweave/report/text_sink.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// \file
/// A timeline as Chrome trace JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

namespace shardweave::inline v0 {

/// What a trace shows.
struct chrome_trace_options {
  std::string process = {};        ///< name of the process; empty = the graph's name
  std::int64_t process_id = 1;     ///< not 0, which viewers take for the idle task
  bool arrows = true;              ///< launch -> collective, and collective -> wait
  bool zero_length_tasks = false;  ///< views, inputs and whatever else takes no time
  /// Slices at most: beyond it the shortest are left out, with their arrows, and the file says how many. The
  /// memory counter then has that many points at most, each the most of what it stands for.
  std::size_t max_slices = 400'000;
};

namespace detail {
/// Writes the events of one trace. A track holds slices that follow each other; a channel has one track, and
/// further ones only if its spans overlap, as those of a measured timeline may.
template <class Sink>
class chrome_trace_writer {
 public:
  chrome_trace_writer(Sink& sink, const task_graph& g, const schedule& s, const timeline& line,
                      const chrome_trace_options& options)
      : out_(sink, options.process_id),
        g_(g),
        s_(s),
        line_(line),
        options_(options),
        spans_(channel_spans(g, s, line)) {
    drawn_ = drawn_spans(g, spans_, {options.max_slices, options.arrows, options.zero_length_tasks});
    lanes_.resize(g.groups().size() + 1);
    arrows_.resize(g.size() + s.buckets.size());
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const std::size_t launch = launch_of(g, spans_[i]);
      if (launch == no_launch) continue;
      if (spans_[i].kind == span_kind::wait) arrows_[launch].stalled += spans_[i].end - spans_[i].start;
      if (!drawn_[i] || !options.arrows) continue;
      if (spans_[i].kind == span_kind::launch) arrows_[launch].from.push_back(i);
      if (spans_[i].kind == span_kind::wait) arrows_[launch].to.push_back(i);
      if (spans_[i].kind == span_kind::collective) arrows_[launch].start = spans_[i].start;
    }
  }

  void write() {
    out_.text += "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    out_.metadata("process_name", 0, "name", options_.process.empty() ? g_.name : options_.process);
    for (std::uint32_t c = 0; c < lanes_.size(); ++c) name_track(c, 0);
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      if (drawn_[i]) {
        draw(i);
      } else {
        left_out_ += spans_[i].end > spans_[i].start;
      }
      out_.pass();
    }
    memory();
    totals();
    out_.flush();
  }

 private:
  [[nodiscard]] std::int64_t track(std::uint32_t channel, std::size_t lane) const {
    return static_cast<std::int64_t>(1 + channel + lane * lanes_.size());
  }
  void name_track(std::uint32_t channel, std::size_t lane) {
    const std::string name = channel_name(g_, channel);
    out_.metadata("thread_name", track(channel, lane), "name",
                  lane == 0 ? name : name + ", lane " + std::to_string(lane + 1));
    out_.metadata("thread_sort_index", track(channel, lane), "sort_index", track(channel, 0));
    lanes_[channel].push_back(std::numeric_limits<std::int64_t>::min());
  }
  std::int64_t place(const channel_span& span) {
    std::vector<std::int64_t>& ends = lanes_[span.channel];
    std::size_t lane = 0;
    while (lane < ends.size() && ends[lane] > span.start.count()) ++lane;
    if (lane == ends.size()) name_track(span.channel, lane);
    lanes_[span.channel][lane] = span.end.count();
    return track(span.channel, lane);
  }

  void draw(std::size_t i) {
    const channel_span& span = spans_[i];
    const std::int64_t tid = place(span);
    const bool stalls = span.kind == span_kind::wait && span.end > span.start;
    std::string name(g_.name_of(span.task));
    if (span.kind == span_kind::launch) name.insert(0, "launch ");
    if (stalls) name.insert(0, "stall: ");
    if (is_of_bucket(span)) name = bucket_name(span);
    constexpr std::string_view categories[] = {"compute", "launch", "packing", "collective", "wait", "packing"};
    out_.begin('X', name, tid);
    out_.string("cat", stalls ? "exposed wait" : categories[static_cast<std::size_t>(span.kind)]);
    out_.time("ts", span.start);
    out_.time("dur", span.end - span.start);
    arguments(span);
    out_.text += '}';
    if (options_.arrows) draw_arrows(i, tid);
  }
  [[nodiscard]] static bool is_of_bucket(const channel_span& span) {
    return span.bucket != no_index && span.kind != span_kind::launch && span.kind != span_kind::wait;
  }
  [[nodiscard]] std::string bucket_name(const channel_span& span) const {
    const bucket& b = s_.buckets[span.bucket];
    return (span.kind == span_kind::pack ? "pack "
            : span.kind == span_kind::unpack
                ? "unpack "
                : std::string(name_of(g_.collective(span.task).op)) + " x" + std::to_string(b.members.size()) + ", ") +
           "bucket " + std::to_string(span.bucket);
  }
  void arguments(const channel_span& span) {
    out_.text += ",\"args\":{\"task\":" + std::to_string(span.task);
    out_.string("op", g_.op(span.task));
    if (span.kind == span_kind::wait && g_.completes(span.task) != no_index)
      out_.number("for", g_.completes(span.task));
    if (span.bucket != no_index) out_.number("bucket", span.bucket);
    if (g_.is_collective(span.task)) {
      const collective_info c = g_.collective(span.task);
      const bool all = is_of_bucket(span);
      out_.string("collective", name_of(c.op));
      out_.string("group", channel_name(g_, c.group + 1));
      out_.number("bytes_in", (all ? s_.buckets[span.bucket].bytes_in : c.bytes_in).count());
      out_.number("bytes_out", (all ? s_.buckets[span.bucket].bytes_out : c.bytes_out).count());
      if (!c.dtype.empty()) out_.string("dtype", c.dtype);
    } else if (span.kind == span_kind::work) {
      bytes size;
      for (std::size_t i = 0; i < g_.output_count(span.task); ++i) size += g_.output(span.task, i).size;
      out_.number("bytes_out", size.count());
    }
    if (span.kind == span_kind::collective) {
      out_.number("exposed_ns", arrows_[launch_of(g_, span)].stalled.count());
      if (span.bucket != no_index) {
        out_.text += ",\"members\":[";
        for (const task_index t : s_.buckets[span.bucket].members) out_.text += std::to_string(t) + ",";
        out_.text.back() = ']';
      }
    }
    out_.text += '}';
  }

  /// One end of an arrow; it belongs to the slice written just before it. An arrow has the number of its
  /// launch or wait.
  void draw_arrow(char phase, std::string_view what, std::size_t number_of_span, std::int64_t tid, nanoseconds at) {
    out_.begin(phase, what, tid);
    out_.string("cat", "flow");
    out_.number("id", static_cast<std::int64_t>(number_of_span) + 1);
    out_.time("ts", at);
    if (phase == 'f') out_.string("bp", "e");  // the slice around it, not the next one
    out_.text += '}';
  }
  void draw_arrows(std::size_t i, std::int64_t tid) {
    const channel_span& span = spans_[i];
    const std::size_t launch = launch_of(g_, span);
    if (launch == no_launch) return;
    const arrows_of_launch& all = arrows_[launch];
    if (span.kind == span_kind::launch) draw_arrow('s', "launch", i, tid, span.start);
    if (span.kind == span_kind::collective) {
      for (const std::size_t from : all.from) draw_arrow('f', "launch", from, tid, span.start);
      for (const std::size_t to : all.to) draw_arrow('s', "wait", to, tid, span.start);
    }
    // never backwards in time: a stall may begin before its collective does
    if (span.kind == span_kind::wait) draw_arrow('f', "wait", i, tid, std::max(span.start, all.start));
  }

  void memory() {
    const std::vector<memory_sample>& all = line_.memory;
    const std::size_t step = 1 + all.size() / std::max<std::size_t>(options_.max_slices, 1);
    bytes last(-1);
    for (std::size_t i = 0; i < all.size(); i += step) {
      bytes most;
      for (std::size_t j = i; j < std::min(all.size(), i + step); ++j) most = std::max(most, all[j].live);
      if (most == last) continue;
      last = most;
      out_.begin('C', "memory", 0);
      out_.time("ts", all[i].time);
      out_.text += ",\"args\":{\"bytes\":" + std::to_string(most.count()) + "}}";
      out_.pass();
    }
  }
  void totals() {
    out_.text += "\n],\"otherData\":{\"graph\":";
    append_json(out_.text, g_.name);
    out_.number("end_to_end_ns", line_.end_to_end.count());
    out_.number("compute_ns", line_.compute.count());
    out_.number("packing_ns", line_.packing.count());
    out_.number("communication_ns", line_.communication.count());
    out_.number("exposed_ns", line_.exposed.count());
    out_.number("hidden_ns", line_.hidden.count());
    out_.number("peak_bytes", line_.peak.count());
    out_.number("slices_left_out", static_cast<std::int64_t>(left_out_));
    out_.text += "}}\n";
  }

  struct arrows_of_launch {
    std::vector<std::size_t> from = {}, to = {};  // spans: launches, waits
    nanoseconds start = {};                       // of the collective
    nanoseconds stalled = {};                     // sum over its waits
  };
  trace_events<Sink> out_;
  const task_graph& g_;
  const schedule& s_;
  const timeline& line_;
  const chrome_trace_options& options_;
  std::vector<channel_span> spans_;
  std::vector<bool> drawn_;
  std::vector<std::vector<std::int64_t>> lanes_;  // per channel and lane: end of its last slice
  std::vector<arrows_of_launch> arrows_;          // per launch
  std::size_t left_out_ = 0;
};
}  // namespace detail

/// Writes Chrome trace JSON: a track for the compute stream and one per process group, complete events (`X`)
/// with times in microseconds to the nanosecond, categories `compute`, `collective`, `packing`, `launch`,
/// `wait` and, for stalls, `exposed wait`; arrows from each launch (of a bucket: of each member) to its
/// collective and from there to its waits; a counter of live bytes if the timeline has memory samples. Slices
/// on one track never overlap. Equal input gives equal text.
///
/// \pre the schedule is valid, and the timeline is of this graph and schedule
/// \throws error (input) for a timeline of another size, and what the sink throws
/// Complexity: O(V) time and memory, besides the text
template <class Sink>
void write_chrome_trace(Sink&& sink, const task_graph& g, const schedule& s, const timeline& line,
                        const chrome_trace_options& options = {}) {
  detail::chrome_trace_writer<std::remove_reference_t<Sink>>(sink, g, s, line, options).write();
}

/// The same as one text.
[[nodiscard]] inline std::string chrome_trace(const task_graph& g, const schedule& s, const timeline& line,
                                              const chrome_trace_options& options = {}) {
  return detail::text_of([&](auto&& sink) { write_chrome_trace(sink, g, s, line, options); });
}

}  // namespace shardweave::inline v0
