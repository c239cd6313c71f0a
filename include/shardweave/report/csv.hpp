#pragma once

#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/detail/escape.hpp>
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
/// Timelines as CSV, for spreadsheets and data frames. Times are nanoseconds; a field that does not apply is empty.

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
/// \throws error (input) for a timeline of another size
/// Complexity: O(V)
[[nodiscard]] inline std::string tasks_csv(const task_graph& g, const schedule& s, const timeline& line) {
  detail::check_timeline(g, s, line);
  const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
  std::string text = "position,task,name,op,kind,channel,bucket,for,start_ns,end_ns,exposed_ns\n";
  for (std::size_t i = 0; i < s.order.size(); ++i) {
    const task_index t = s.order[i];
    const task_index completes = g.completes(t);
    detail::csv_row row(text);
    row.field(i).field(t).field(g.name_of(t)).field(g.op(t)).field(to_string(g.kind(t)));
    row.field(channel_name(g, g.is_collective(t) ? g.collective(t).group + 1 : compute_channel));
    row.index(completes == no_index ? owner[t] : owner[completes]).index(completes);
    row.field(line.start[t]).field(line.end[t]);
    g.kind(t) == task_kind::wait&& completes != no_index ? row.field(line.end[t] - line.start[t]) : row.none();
    row.end();
  }
  return text;
}

}  // namespace shardweave::inline v0
