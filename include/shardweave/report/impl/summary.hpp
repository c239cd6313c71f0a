#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/summary.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

/// \file
/// The text of summaries.

namespace shardweave::inline v0 {

namespace detail {
/// A bound in the form of the costs that it bounds; of whole numbers it may still be a fraction.
template <class Cost>
[[nodiscard]] std::string bound_text(double bound, std::string_view unit) {
  if constexpr (std::integral<Cost>) {
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (std::abs(bound) <= exact && std::floor(bound) == bound) return cost_text(static_cast<Cost>(bound), unit);
  }
  return cost_text(bound, unit);
}
}  // namespace detail

template <cost_value Cost>
std::string placement_summary(const solution<Cost>& found, const evaluation<Cost>& priced, std::string_view unit) {
  text_table table({{}, {"", text_side::right}, {"", text_side::right}});
  if (found.has_assignment()) {
    table.row({"objective", detail::cost_text(found.objective, unit)});
    const auto part = [&](const char* name, Cost cost) {
      const auto whole = static_cast<double>(priced.parts.total());
      table.row(
          {name, detail::cost_text(cost, unit), whole > 0 ? percent_text(static_cast<double>(cost) / whole) : ""});
    };
    part("  computation", priced.parts.compute);
    part("  communication", priced.parts.communication);
    part("  transition", priced.parts.transition);
    if (!priced.hidden.empty()) part("  less savings", priced.savings);
  }
  if (std::isfinite(found.lower_bound)) table.row({"lower bound", detail::bound_text<Cost>(found.lower_bound, unit)});
  if (std::isfinite(found.gap())) table.row({"gap", percent_text(found.gap(), 4)});
  std::string text = table.text();
  text += "status: " + std::string(name_of(found.status));
  if (found.status == solve_status::optimal) text += " (the bound meets the objective)";
  text += '\n';
  if (!found.statistics.solver.empty()) {
    text += "found by " + found.statistics.solver + " in " + seconds_text(found.statistics.seconds);
    if (found.has_assignment()) text += ", after " + seconds_text(found.statistics.seconds_to_best);
    if (!found.statistics.bound_by.empty()) text += "; bound by " + found.statistics.bound_by;
    text += '\n';
  }
  if (!found.statistics.note.empty()) text += "note: " + found.statistics.note + '\n';
  for (const std::string& broken : priced.violations) text += "broken: " + broken + '\n';
  return text;
}

SHARDWEAVE_INLINE std::string strategy_summary(std::span<const strategy_row> rows) {
  text_table table({{"group"}, {"strategy"}, {"count", text_side::right}, {"per device", text_side::right}});
  std::size_t count = 0;
  bytes all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const strategy_row& r = rows[i];
    const bool again = i > 0 && rows[i - 1].group == r.group;
    table.row({again ? "" : r.group, r.label, count_text(r.count), size_text(r.per_device)});
    count += r.count;
    all += r.per_device;
  }
  if (table.empty()) return {};
  return table.rule().row({"total", "", count_text(count), size_text(all)}).text();
}

SHARDWEAVE_INLINE std::string collective_summary(const task_graph& g, std::span<const bucket> buckets) {
  struct counts {
    std::size_t before = 0, after = 0, buckets = 0;
    bytes in = {}, largest = {};
  };
  std::map<std::pair<std::uint32_t, std::string>, counts> all;
  std::vector<bool> merged(g.size());
  for (const bucket& b : buckets) {
    for (const task_index t : b.members) merged[t] = true;
    const collective_info c = g.collective(b.members.front());
    counts& here = all[{c.group, std::string(name_of(c.op))}];
    ++here.after;
    ++here.buckets;
    here.largest = std::max(here.largest, b.bytes_in);
  }
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.is_collective(t)) continue;
    const collective_info c = g.collective(t);
    counts& here = all[{c.group, std::string(name_of(c.op))}];
    ++here.before;
    here.in += c.bytes_in;
    if (merged[t]) continue;
    ++here.after;
    here.largest = std::max(here.largest, c.bytes_in);
  }
  if (all.empty()) return {};
  const auto right = text_side::right;
  text_table table({{"collective"},
                    {"group"},
                    {"before", right},
                    {"after", right},
                    {"buckets", right},
                    {"bytes in", right},
                    {"largest launch", right}});
  counts sum;
  for (const auto& [key, c] : all) {
    table.row({key.second, channel_name(g, key.first + 1), count_text(c.before), count_text(c.after),
               count_text(c.buckets), size_text(c.in), size_text(c.largest)});
    sum.before += c.before;
    sum.after += c.after;
    sum.buckets += c.buckets;
    sum.in += c.in;
    sum.largest = std::max(sum.largest, c.largest);
  }
  return table.rule()
      .row({"total", "", count_text(sum.before), count_text(sum.after), count_text(sum.buckets), size_text(sum.in),
            size_text(sum.largest)})
      .text();
}

SHARDWEAVE_INLINE std::string timeline_summary(std::span<const named_timeline> lines) {
  if (lines.empty()) return {};
  std::vector<text_table::column> columns = {{}};
  for (const named_timeline& l : lines) {
    columns.push_back({l.name, text_side::right});
    columns.push_back({"", text_side::right});
  }
  text_table table(std::move(columns));
  const auto times = [&](const char* name, nanoseconds timeline::*figure, nanoseconds timeline::*whole = nullptr) {
    std::vector<std::string> cells = {name};
    for (const named_timeline& l : lines) {
      cells.push_back(time_text(l.line->*figure));
      cells.push_back(whole != nullptr ? share_text(l.line->*figure, l.line->*whole) : "");
    }
    table.row(std::move(cells));
  };
  const auto texts = [&](const char* name, auto text) {
    std::vector<std::string> cells = {name};
    for (const named_timeline& l : lines) {
      cells.push_back(text(*l.line));
      cells.emplace_back();
    }
    table.row(std::move(cells));
  };
  times("end to end", &timeline::end_to_end);
  times("  computation", &timeline::compute, &timeline::end_to_end);
  times("  packing", &timeline::packing, &timeline::end_to_end);
  times("  exposed", &timeline::exposed, &timeline::end_to_end);
  times("  tail", &timeline::tail, &timeline::end_to_end);
  times("communication", &timeline::communication);
  times("  hidden", &timeline::hidden, &timeline::communication);
  texts("collectives", [](const timeline& l) { return count_text(l.collectives); });
  texts("  fully hidden", [](const timeline& l) { return count_text(l.hidden_count); });
  texts("peak memory", [](const timeline& l) { return size_text(l.peak); });
  return table.text();
}

SHARDWEAVE_INLINE std::string stage_summary(std::span<const stage_time> stages) {
  text_table table({{"stage"}, {"time", text_side::right}, {"share", text_side::right}});
  double all = 0;
  for (const stage_time& s : stages) all += s.seconds;
  for (const stage_time& s : stages)
    table.row({s.stage, seconds_text(s.seconds), all > 0 ? percent_text(s.seconds / all) : ""});
  return table.empty() ? std::string() : table.rule().row({"total", seconds_text(all)}).text();
}

}  // namespace shardweave::inline v0
