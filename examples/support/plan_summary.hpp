#pragma once

#include "batch_parts_plan.hpp"
#include "pipelined_plan.hpp"
#include "planned_step.hpp"
#include "step_text.hpp"
#include <shardweave/fastest_plan.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/report/summary.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// A training plan on one page, composed of the pieces of report/summary.hpp.

namespace programs {

namespace detail {

namespace sw = shardweave;

/// A heading, and what stands below it two blanks further in.
inline std::string section(const std::string& heading, std::string_view body) {
  std::string text = "\n" + heading + "\n";
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find('\n', at), body.size());
    if (end > at) text += "  ";
    text.append(body.substr(at, end - at)) += '\n';
    at = end + 1;
  }
  return text;
}

/// One row per kind of parameter and placement, in the order of the graph.
template <class Model>
std::vector<sw::strategy_row> parameter_rows(const Model& model, const sw::training_plan& plan) {
  std::vector<sw::strategy_row> rows;
  const auto& operations = model.operations().operations;
  for (std::uint32_t v = 0; v < operations.size(); ++v) {
    if (operations[v].kind != sw::role::parameter) continue;
    const sw::strategy s = plan.placement.choice[v];
    const std::string label = model.strategies(v).strategies[s].outputs.front().to_string();
    auto row = std::find_if(rows.begin(), rows.end(), [&](const sw::strategy_row& r) {
      return r.group == operations[v].group && r.label == label;
    });
    if (row == rows.end()) {  // beside its own kind, if there is a row of it
      const auto kind = std::find_if(rows.rbegin(), rows.rend(),
                                     [&](const sw::strategy_row& r) { return r.group == operations[v].group; });
      row = rows.insert(kind == rows.rend() ? rows.end() : kind.base(), {.group = operations[v].group, .label = label});
    }
    ++row->count;
    row->per_device += model.result_size(v, s);
  }
  return rows;
}

/// The step in three lines: how long, how much of it waits, how far from the best.
inline std::string outcome_text(const planned_step& step, const sw::task_plan& tasks) {
  const sw::timeline& line = tasks.after;
  const double over = static_cast<double>(line.end_to_end.count()) /
                          static_cast<double>(std::max<std::int64_t>(tasks.makespan_bound.count(), 1)) -
                      1;
  std::string text = "\nOne step takes " + sw::time_text(line.end_to_end) + ", ";
  text += sw::count_text(step.tokens_per_second(line)) + " tokens per second and device.\n";
  text += sw::time_text(line.exposed + line.tail) + " of it wait for communication; " + sw::time_text(line.hidden) +
          " of " + sw::time_text(line.communication) + " hide behind computation.\n";
  text += "No order with these buckets ends before " + sw::time_text(tasks.makespan_bound) + ": this one is at most " +
          sw::percent_text(over, 2) + " above the best.\n";
  return text;
}

}  // namespace detail

/// The step of the plan whose batch and collectives are whole: what is known of all plans is about such ones.
/// \pre the plan has tasks
[[nodiscard]] inline shardweave::nanoseconds step_of_wholes(const shardweave::training_plan& plan,
                                                            const std::optional<parts_tried>& parts,
                                                            const std::optional<pieces_tried>& pieces) {
  if (parts) return parts->whole;
  return pieces ? pieces->whole : plan.tasks->after.end_to_end;
}

/// \param fastest  where the step was planned for
/// \param parts  what came of the batch in parts, if that was tried
/// \param pieces  what came of collectives in pieces, if they were tried
/// \param memory  what `memory_text` says; first of all where the plan does not fit
/// \param folder  where files were written; empty if none were
/// \pre the plan has an assignment
template <class Model>
[[nodiscard]] std::string plan_summary(const planned_step& step, const Model& model,
                                       const shardweave::training_plan& plan,
                                       const std::optional<shardweave::fastest_plan_result>& fastest,
                                       const std::optional<parts_tried>& parts,
                                       const std::optional<pieces_tried>& pieces, bool fits, const std::string& memory,
                                       const std::string& folder) {
  namespace sw = shardweave;
  const sw::task_plan& tasks = *plan.tasks;
  std::string text = step.name + ", " + sw::fixed_text(static_cast<double>(step.parameters) / 1e9) +
                     " billion parameters, mesh " + step.mesh.to_string() + " of " + std::string(step.device.name) +
                     "\n" + sw::count_text(step.shape.batch, "sequence") + " of " +
                     sw::count_text(step.shape.sequence, "token") + " per step; " +
                     sw::count_text(plan.problem->vertices.size(), "operation") + " forward and backward\n";
  if (!fits) text += "\n" + memory;
  text += detail::outcome_text(step, tasks);
  if (parts) text += parts_text(*parts);
  if (pieces) text += pieces_text(*pieces);
  if (fastest && ((parts && parts->is_kept()) || (pieces && pieces->is_kept())))
    text +=
        "No bound is known on all plans whose batch or collectives are cut; what follows is about the plan before "
        "that.\n";
  if (fastest) text += step_text(model, *fastest, step_of_wholes(plan, parts, pieces));
  if (fits) text += memory;
  text += detail::section("Placement (one step on one device)",
                          sw::placement_summary(plan.placement, plan.priced, plan.problem->unit));
  text += detail::section("Parameters (S(0)R: split by dimension 0 over the first mesh dimension, whole in the second)",
                          sw::strategy_summary(detail::parameter_rows(model, plan)));
  text += detail::section("Collectives, before and after bucketing",
                          sw::collective_summary(plan.lowered->tasks, tasks.order.buckets));
  const std::array<sw::named_timeline, 2> lines{{{"in order", &tasks.before}, {"scheduled", &tasks.after}}};
  text += detail::section("Timeline of one device", sw::timeline_summary(lines));
  text += detail::section("Planned in", sw::stage_summary(plan.stages));
  if (!folder.empty())
    text += detail::section("Written to " + folder,
                            "plan.json      which strategy every operation takes\n"
                            "tasks.json     the task graph that this gives\n"
                            "schedule.json  order, buckets, what hides what, and what was refused\n"
                            "trace.json     the timeline; open it in https://ui.perfetto.dev\n");
  return text;
}

}  // namespace programs
