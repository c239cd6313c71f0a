#pragma once

#include "recompute.hpp"
#include "unless_stopped.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/lowering/batch_parts_lowering.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

/// \file
/// A plan whose batch is done in parts that take turns.

namespace programs {

/// What came of it.
struct parts_tried {
  unsigned parts = 1;
  shardweave::nanoseconds whole{};                             ///< the step before
  std::optional<shardweave::nanoseconds> step = std::nullopt;  ///< in parts; nothing: there is no such plan
  std::size_t plans = 0;                                       ///< placements that were tried
  /// Whether the step is shorter, so that the plan is the one in parts.
  [[nodiscard]] bool is_kept() const { return step && *step < whole; }
};

/// Plans the same step in parts, and keeps that if the step gets shorter.
/// \param way     as the whole was planned; its lowering is of one part
/// \param model   of one part; becomes that of the plan
/// \param search  of the placements; nothing: they are as stated, and the pipeline makes the plan
/// \pre the plan has tasks
template <class Way>
[[nodiscard]] parts_tried try_batch_parts(shardweave::training_plan& plan, const Way& way,
                                          const shardweave::spmd_cost_model& model,
                                          const shardweave::constraint_set& constraints,
                                          std::optional<shardweave::fastest_plan_options> search,
                                          const shardweave::solve_control& control) {
  namespace sw = shardweave;
  parts_tried tried{.parts = way.lowering.parts, .whole = plan.tasks->after.end_to_end};
  sw::training_plan made;
  unless_stopped([&] {
    if (!search) {
      made = way.run(model, constraints, control);
      return;
    }
    search->search.bounds = false;  // what a plan in parts takes at least is not told
    search->held = nullptr;         // and so is what it holds
    sw::fastest_plan_result found = sw::fastest_plan(way, model, constraints, *search, control);
    tried.plans = found.plans;
    made = std::move(found.plan);
  });
  if (!made.tasks) return tried;
  tried.step = made.tasks->after.end_to_end;
  if (!tried.is_kept()) return tried;
  made.stages = std::move(plan.stages);
  plan = std::move(made);
  return tried;
}

/// A placement in parts whose values are made again by a rule, which each part keeps to for itself.
/// \param model  of one part
/// \param run    gives a task graph buckets and an order
template <class Run>
[[nodiscard]] recomputed_plan parts_by_rule(const shardweave::spmd_cost_model& model,
                                            const shardweave::assignment& choice,
                                            const shardweave::batch_parts_lowering& in_parts,
                                            shardweave::recompute_rule rule, std::uint32_t every, bool regathers,
                                            const Run& run) {
  namespace sw = shardweave;
  recomputed_plan made = recomputed_by_rule(in_parts.part(model, choice), model.operations(), rule, every, regathers,
                                            [](const sw::task_graph&) { return sw::task_plan(); });
  sw::fitted_plan& all = made.fitted;
  all.lowered = sw::with_batch_parts(all.lowered, model, in_parts.parts);
  const std::int64_t parts = in_parts.parts;
  all.time = sw::nanoseconds(all.time.count() * parts);
  all.chosen.chosen.kept = sw::bytes(all.chosen.chosen.kept.count() * parts);
  all.chosen.chosen.offloaded = sw::bytes(all.chosen.chosen.offloaded.count() * parts);
  made.tasks = run(all.lowered.tasks);
  return made;
}

[[nodiscard]] inline std::string parts_text(const parts_tried& tried) {
  namespace sw = shardweave;
  const std::string all = "The batch in " + std::to_string(tried.parts) + " parts that take turns: ";
  if (!tried.step) return all + "no plan was found, so it stays whole.\n";
  if (!tried.is_kept()) return all + "no shorter step (" + sw::time_text(*tried.step) + "), so it stays whole.\n";
  return all + sw::time_text(*tried.step) + " in place of " + sw::time_text(tried.whole) + ".\n";
}

}  // namespace programs
