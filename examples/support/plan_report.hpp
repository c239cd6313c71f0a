#pragma once

#include "device_memory.hpp"
#include "planned_step.hpp"
#include "step_text.hpp"
#include <shardweave/core/units.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/spmd/computation.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What a report tells of a training plan beside its timelines.

namespace programs {

/// How every parameter is placed, and every other result, by layer.
template <class Model>
[[nodiscard]] std::vector<shardweave::placed_value> placed_values(const Model& model,
                                                                  const shardweave::assignment& choice) {
  namespace sw = shardweave;
  std::vector<sw::placed_value> placed;
  const auto& operations = model.operations().operations;
  for (const bool parameters : {true, false})
    for (std::uint32_t v = 0; v < operations.size(); ++v) {
      const sw::operation& op = operations[v];
      if ((op.kind == sw::role::parameter) != parameters || op.outputs.empty()) continue;
      const std::string layer = op.layer < 0 ? "outside" : std::to_string(op.layer);
      std::string part = op.group;
      if (!parameters || part.empty()) {
        part = op.name;  // "layers.7.wq.einsum" is "wq.einsum" of layer 7
        if (const auto at = part.find("." + layer + "."); at != std::string::npos) part.erase(0, at + layer.size() + 2);
      }
      const sw::strategy s = choice[v];
      placed.push_back({.kind = parameters ? "Parameters" : "Results of operations",
                        .part = std::move(part),
                        .layer = layer,
                        .label = model.strategies(v).strategies[s].outputs.front().to_string(),
                        .per_device = model.result_size(v, s)});
    }
  return placed;
}

/// \param plan   that is drawn
/// \param bound  before which no such plan ends, in ns, if there is one
/// \pre the plan has tasks
template <class Model>
[[nodiscard]] shardweave::html_options plan_report(const planned_step& step, const Model& model,
                                                   const shardweave::training_plan& plan,
                                                   const std::optional<shardweave::fastest_plan_result>& fastest,
                                                   std::optional<double> bound, const memory_need& need) {
  namespace sw = shardweave;
  sw::html_options report;
  const sw::task_plan& tasks = *plan.tasks;
  report.title = step.name + " on " + step.mesh.to_string() + " of " + std::string(step.device.name);
  report.subtitle = sw::count_text(step.shape.batch, "sequence") + " of " +
                    sw::count_text(step.shape.sequence, "token") + " per step; " +
                    sw::fixed_text(static_cast<double>(step.parameters) / 1e9) + " billion parameters; " +
                    sw::count_text(plan.problem->vertices.size(), "operation") +
                    " forward and backward. One device of " + sw::count_text(step.mesh.size()) + "; modelled times.";
  report.bounds.push_back({"any order with these buckets", tasks.makespan_bound});
  if (bound && *bound <= static_cast<double>(tasks.after.end_to_end.count()))  // it is about plans that fit
    report.bounds.push_back({"any plan", sw::nanoseconds(static_cast<std::int64_t>(std::floor(*bound)))});
  if (fastest && fastest->bounds.bound > 0)
    for (const auto& [price, name] : step_prices(model, *fastest)) report.prices.push_back({name, price});
  report.figures.push_back({"tokens per second and device", sw::count_text(step.tokens_per_second(tasks.after))});
  if (need.is_known())
    report.figures.push_back({need.fits() ? "of the device's memory" : "of the device's memory: DOES NOT FIT",
                              sw::percent_text(need.all() / need.capacity)});
  report.figures.push_back({"optimizer state", sw::size_text(need.state)});
  return report;
}

}  // namespace programs
