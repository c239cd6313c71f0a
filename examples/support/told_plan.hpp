#pragma once

#include "annotated.hpp"
#include "around_plan.hpp"
#include "batch_parts_plan.hpp"
#include "certify_plan.hpp"
#include "device_memory.hpp"
#include "pipelined_plan.hpp"
#include "planned_step.hpp"
#include "whole_plan.hpp"
#include <shardweave/core/units.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/report/svg_progress.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/step/fitted_plan.hpp>

#include <filesystem>
#include <optional>
#include <span>
#include <string>

/// \file
/// All that is told of a training plan: files, a certificate, one JSON object, a page. In a source of its own: what
/// plans and what tells of it are compiled beside each other.

namespace programs {

/// A plan with what was found beside it. Without a value, null or empty is what was not asked for, or is not there.
struct told_plan {
  const planned_step& step;
  const shardweave::spmd_cost_model& model;
  const shardweave::training_plan& plan;
  const std::optional<shardweave::fastest_plan_result>& fastest;
  const std::optional<parts_tried>& parts;
  const std::optional<pieces_tried>& pieces;
  const std::optional<memory_need>& need;
  const shardweave::fitted_plan* fitted;
  const std::optional<annotated_plan>& annotated;
  const around_plan& around;
  const std::optional<whole_plan>& whole;

  /// The step of the plan whose batch and collectives are whole: what is told of bounds and limits is about that one.
  /// \pre there are tasks
  [[nodiscard]] shardweave::nanoseconds step_of_wholes() const {
    if (parts) return parts->whole;
    return pieces ? pieces->whole : plan.tasks->after.end_to_end;
  }
};

/// What is written.
struct plan_files {
  std::filesystem::path folder = {};                        ///< of plan, tasks, schedule and trace; empty: none of them
  std::filesystem::path report = {};                        ///< empty: none
  bool report_is_asked_for = false;                         ///< if not, one that cannot be written is no error
  std::filesystem::path search = {};                        ///< picture of `points`; empty: none
  std::span<const shardweave::progress_point> points = {};  ///< how best and bound of the step came
};

/// Writes files of the plan, or of the whole step where there is one; each takes its name when it is whole. What it
/// returns is the last line of what people are told, on the report; or nothing.
/// \pre the plan has tasks
/// \throws error (system) if one cannot be written
[[nodiscard]] std::string write_files(const told_plan& told, const plan_files& files);

/// One object. Figures of the timeline are null where no assignment was found.
[[nodiscard]] std::string json_line(const told_plan& told, const std::optional<certified_plan>& certified,
                                    bool interrupted, double total_seconds);

/// A page.
/// \param device  whose memory the plan is held against, as it is called
/// \param regathers  whether parameters are gathered again in any case
/// \param folder  that files were written to; empty: none were
/// \pre the plan has tasks
[[nodiscard]] std::string page_of(const told_plan& told, const std::optional<certified_plan>& certified,
                                  const std::string& device, bool regathers, const std::string& folder);

}  // namespace programs
