#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/lowering/whole_step.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/spmd/computation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A plan with its optimizer and its micro-batches, as tasks.

namespace programs {

/// The whole step of a plan: in `plan` its task graph, order and timeline stand in place of those of the part.
struct whole_plan {
  shardweave::whole_step step;
  shardweave::training_plan plan;
  std::int64_t micro_batches = 1;
  /// No plan of any placement, buckets and order ends before: the bound of the part, and the least that the optimizer
  /// takes. Nothing where the part is repeated, or without a bound of the part.
  std::optional<double> bound = std::nullopt;
};

namespace detail {

/// What the optimizer takes at least, in ns, wherever parameters may lie: what it moves, at the memory's best rate.
template <class Model>
[[nodiscard]] double least_of_optimizer(const Model& model, const shardweave::constraint_set& constraints,
                                        const shardweave::optimizer_options& options) {
  namespace sw = shardweave;
  const sw::computation& operations = model.operations();
  double least = 0;
  for (const auto& [parameter, gradient] : operations.gradient_of) {
    if (operations.operations[parameter].kind != sw::role::parameter) continue;
    std::vector<bool> may(model.strategy_count(gradient), true);
    for (const sw::fixed_strategies& fixed : constraints.fixed) {
      if (fixed.vertex != gradient) continue;
      std::vector<bool> allowed(may.size());
      for (const sw::strategy s : fixed.allowed) allowed[s] = may[s];
      may = std::move(allowed);
    }
    double fewest = -1;
    for (std::uint32_t s = 0; s < may.size(); ++s) {
      const auto size = static_cast<double>(model.result_size(gradient, s).count());
      if (may[s] && (fewest < 0 || size < fewest)) fewest = size;
    }
    const auto element = sw::element_size(operations.operations[gradient].outputs.front().type);
    least += std::max(fewest, 0.0) / static_cast<double>(element);
  }
  const double moved = options.update_bytes + (options.clips ? 3 * options.gradient_bytes : 0);
  const sw::compute_profile& compute = model.compute();
  return least * moved / (compute.device.memory_bandwidth * compute.memory.peak) * 1e9;
}

}  // namespace detail

/// \pre the plan has tasks
/// \param stop  ends the bound on orders early
template <class Model>
[[nodiscard]] whole_plan whole_of(const Model& model, const shardweave::training_plan& part,
                                  const std::optional<shardweave::fastest_plan_result>& fastest,
                                  const shardweave::whole_step_options& options, const shardweave::stop_token& stop) {
  namespace sw = shardweave;
  whole_plan result{.step = sw::with_optimizer(*part.lowered, model, part.placement.choice, options),
                    .plan = part,
                    .micro_batches = options.micro_batches};
  const sw::task_graph& tasks = result.step.lowered.tasks;
  sw::task_plan& made = *result.plan.tasks;
  made.order = result.step.order(part.tasks->order);
  made.buckets = {.buckets = made.order.buckets};
  made.before = sw::simulate(tasks);
  made.after = sw::simulate(tasks, made.order, {.memory_samples = true});
  made.makespan_bound = sw::makespan_bound(tasks, made.order.buckets, {.stop = stop}).value();
  result.plan.lowered = result.step.lowered;
  if (fastest && fastest->bounds.bound > 0 && options.micro_batches == 1)
    result.bound =
        fastest->bounds.bound + detail::least_of_optimizer(model, part.problem->constraints, options.optimizer);
  return result;
}

/// A paragraph.
[[nodiscard]] inline std::string whole_text(const whole_plan& whole) {
  namespace sw = shardweave;
  const sw::task_plan& tasks = *whole.plan.tasks;
  const sw::optimizer_work& work = whole.step.work;
  const sw::nanoseconds end = tasks.after.end_to_end;
  std::string text = "\nThe whole step takes " + sw::time_text(end) + ": ";
  if (whole.micro_batches > 1)
    text += sw::count_text(whole.micro_batches) + " micro-batches, " +
            sw::time_text(work.accumulation * (whole.micro_batches - 1)) + " of it to add up their gradients; ";
  const auto part = [&](const char* what, sw::nanoseconds time) {
    if (time > sw::nanoseconds()) text += ", " + std::string(what) + " " + sw::time_text(time);
  };
  text += "then AdamW " + sw::time_text(work.update);
  part("the norm of gradients", work.norm + work.reduction);
  part("clipping", work.clipping);
  part("gathering parameters", work.gathering);
  text += ".\nNo order of it with these buckets ends before " + sw::time_text(tasks.makespan_bound) + ".";
  if (whole.bound)
    text += " No plan of any placement, buckets and order ends before " +
            sw::time_text(sw::nanoseconds(static_cast<std::int64_t>(std::floor(*whole.bound)))) +
            ": this one is at most " + sw::percent_text(static_cast<double>(end.count()) / *whole.bound - 1, 2) +
            " above the best.";
  return text + "\nIt holds " + sw::size_text(tasks.after.peak) + " at its peak, with " +
         sw::size_text(whole.step.state) + " of optimizer state. What is above and below is its forward and backward " +
         "part alone; files and report have all of it.\n";
}

/// Member `whole_step` of an open object.
inline void write_whole(shardweave::json_writer& out, const whole_plan& whole) {
  const shardweave::timeline& line = whole.plan.tasks->after;
  const shardweave::optimizer_work& work = whole.step.work;
  out.key("whole_step").begin_object().member("end_to_end_ns", line.end_to_end.count());
  out.member("micro_batches", whole.micro_batches).member("tasks", whole.step.lowered.tasks.size());
  out.member("accumulation_ns", (work.accumulation * (whole.micro_batches - 1)).count());
  out.member("norm_ns", work.norm.count()).member("reduction_ns", work.reduction.count());
  out.member("clipping_ns", work.clipping.count()).member("update_ns", work.update.count());
  out.member("gathering_ns", work.gathering.count());
  out.member("makespan_bound_ns", whole.plan.tasks->makespan_bound.count()).key("step_bound_ns");
  whole.bound ? out.value(static_cast<std::int64_t>(std::floor(*whole.bound))) : out.null();
  out.member("peak_bytes", line.peak.count()).member("optimizer_bytes", whole.step.state.count()).end_object();
}

}  // namespace programs
