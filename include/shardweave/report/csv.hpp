#pragma once

#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/detail/escape.hpp>
#include <shardweave/report/text_sink.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// Timelines as CSV, for spreadsheets and data frames. Times are nanoseconds, sizes bytes; a field that does
/// not apply is empty.

namespace shardweave::inline v0 {

namespace detail {
/// Fields of one row, with commas between them.
class csv_row {
 public:
  explicit csv_row(std::string& out) : out_(&out) {}
  csv_row& field(std::string_view text) {
    if (!std::exchange(first_, false)) *out_ += ',';
    append_csv(*out_, text);
    return *this;
  }
  template <class Number>
    requires std::is_integral_v<Number>
  csv_row& field(Number number) {
    return field(std::string_view(std::to_string(number)));
  }
  csv_row& field(nanoseconds time) { return field(time.count()); }
  csv_row& field(bytes size) { return field(size.count()); }
  csv_row& none() { return field(std::string_view()); }
  csv_row& index(std::uint32_t i) { return i == no_index ? none() : field(i); }
  void end() { *out_ += '\n'; }

 private:
  std::string* out_;
  bool first_ = true;
};
}  // namespace detail

/// One row per task, in the order of the schedule: `position,task,name,op,kind,channel,bucket,for,start_ns,
/// end_ns,exposed_ns`. A wait has the time for which it stalls the compute stream.
/// \throws error (input) for a timeline of another size, and what the sink throws
/// Complexity: O(V)
template <class Sink>
void write_tasks_csv(Sink&& sink, const task_graph& g, const schedule& s, const timeline& line) {
  detail::check_timeline(g, s, line);
  const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
  detail::buffered_text<std::remove_reference_t<Sink>> out(sink);
  out.text += "position,task,name,op,kind,channel,bucket,for,start_ns,end_ns,exposed_ns\n";
  for (std::size_t i = 0; i < s.order.size(); ++i) {
    const task_index t = s.order[i];
    const task_index completes = g.completes(t);
    detail::csv_row row(out.text);
    row.field(i).field(t).field(g.name_of(t)).field(g.op(t)).field(to_string(g.kind(t)));
    row.field(channel_name(g, g.is_collective(t) ? g.collective(t).group + 1 : compute_channel));
    row.index(completes == no_index ? owner[t] : owner[completes]).index(completes);
    row.field(line.start[t]).field(line.end[t]);
    g.kind(t) == task_kind::wait&& completes != no_index ? row.field(line.end[t] - line.start[t]) : row.none();
    row.end();
    out.pass();
  }
  out.flush();
}

/// One row per launch (a collective, or a bucket under its first member), by start: `task,name,collective,group,
/// bucket,members,bytes_in,bytes_out,start_ns,end_ns,hidden_ns,exposed_ns`. Hidden is the time during which
/// tasks of the compute stream run beside it.
/// \throws error (input) for a timeline of another size, and what the sink throws
template <class Sink>
void write_collectives_csv(Sink&& sink, const task_graph& g, const schedule& s, const timeline& line) {
  detail::check_timeline(g, s, line);
  const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
  detail::buffered_text<std::remove_reference_t<Sink>> out(sink);
  out.text += "task,name,collective,group,bucket,members,bytes_in,bytes_out,start_ns,end_ns,hidden_ns,exposed_ns\n";
  for (const hiding_record& record : hiding_records(g, s, line)) {
    const task_index t = record.collective;
    const std::uint32_t b = owner[t];
    const collective_info c = g.collective(t);
    detail::csv_row row(out.text);
    row.field(t).field(g.name_of(t)).field(name_of(c.op)).field(channel_name(g, c.group + 1)).index(b);
    row.field(b == no_index ? std::size_t{1} : s.buckets[b].members.size());
    row.field(b == no_index ? c.bytes_in : s.buckets[b].bytes_in);
    row.field(b == no_index ? c.bytes_out : s.buckets[b].bytes_out);
    row.field(line.start[t]).field(line.end[t]).field(record.hidden).field(record.exposed).end();
    out.pass();
  }
  out.flush();
}

/// What `write_tasks_csv` writes, as a string: a row per task, times in nanoseconds.
[[nodiscard]] inline std::string tasks_csv(const task_graph& g, const schedule& s, const timeline& line) {
  return detail::text_of([&](auto&& sink) { write_tasks_csv(sink, g, s, line); });
}
/// What `write_collectives_csv` writes, as a string: a row per launch, times in nanoseconds.
[[nodiscard]] inline std::string collectives_csv(const task_graph& g, const schedule& s, const timeline& line) {
  return detail::text_of([&](auto&& sink) { write_collectives_csv(sink, g, s, line); });
}

/// The figures of the whole: one row of names, one of values.
[[nodiscard]] inline std::string timeline_csv(const timeline& line) {
  std::string out =
      "end_to_end_ns,compute_ns,packing_ns,communication_ns,exposed_ns,hidden_ns,tail_ns,collectives,hidden_count,"
      "peak_bytes\n";
  detail::csv_row row(out);
  row.field(line.end_to_end).field(line.compute).field(line.packing).field(line.communication).field(line.exposed);
  row.field(line.hidden).field(line.tail).field(line.collectives).field(line.hidden_count).field(line.peak).end();
  return out;
}

}  // namespace shardweave::inline v0
