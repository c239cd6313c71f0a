#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/step/explain_step.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What the work of a vertex costs the step, for people.

namespace shardweave::inline v0 {

/// What `explain_step` tells, a task on a line: how long it takes, with how many it is launched as one, how much longer
/// it may take, and what a microsecond more of it costs the step and, where one is known, the bound on all plans.
[[nodiscard]] inline std::string to_text(std::span<const explained_task> told, const task_graph& tasks) {
  const text_side right = text_side::right;
  const bool is_bounded = std::ranges::any_of(told, [](const explained_task& t) { return t.in_bound.has_value(); });
  std::vector<text_table::column> columns = {{"work"},
                                             {"takes", right},
                                             {"launched as one", right},
                                             {"may take longer by", right},
                                             {"1 us more: step", right}};
  if (is_bounded) columns.push_back({"bound", right});
  text_table table(std::move(columns));
  const auto microseconds = [](double us) { return us == 0 ? std::string("0") : "+" + fixed_text(us, 3); };
  for (const explained_task& t : told) {
    std::vector<std::string> cells = {std::string(tasks.name_of(t.task)), time_text(t.time),
                                      t.together > 1 ? count_text(t.together) : "", time_text(t.slack),
                                      microseconds(to_microseconds(t.cost_of(nanoseconds(1'000))))};
    if (is_bounded) cells.push_back(t.in_bound ? microseconds(*t.in_bound) : "");
    table.row(std::move(cells));
  }
  return table.empty() ? "none of its work takes time\n" : table.text();
}

}  // namespace shardweave::inline v0
