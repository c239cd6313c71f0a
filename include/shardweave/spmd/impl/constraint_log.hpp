#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/memory_budget.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <variant>

/// \file
/// What demands mean as constraints.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE constraint_set constraints_of(const spmd_cost_model& model, const constraint_log& log,
                                                const std::vector<std::uint32_t>& only) {
  constraint_set all;
  const auto& operations = model.operations().operations;
  std::vector<std::uint32_t> placed;
  const auto each = [&](const auto& take) {
    for (const constraint_log::record& r : log.records())
      if (only.empty() || std::ranges::find(only, r.id) != only.end())
        take(r.what, "#" + std::to_string(r.id) + " " + to_string(r.what));
  };
  const auto each_named = [&](const std::string& pattern, const std::string& why, const auto& take) {
    bool any = false;
    for (std::uint32_t v = 0; v < operations.size(); ++v)
      if (!operations[v].outputs.empty() && detail::fits(operations[v].name, pattern)) {
        any = true;
        take(v);
      }
    if (!any) refuse(error_category::constraint, why + ": no operation has such a name");
  };
  each([&](const demand& what, const std::string& why) {
    if (const auto* d = std::get_if<operations_placed>(&what))
      each_named(d->pattern, why, [&](std::uint32_t v) {
        all.fixed.push_back(result_placed(model, v, d->where, why));
        placed.push_back(v);
      });
    if (const auto* d = std::get_if<operations_placed_along>(&what))
      each_named(d->pattern, why, [&](std::uint32_t v) {
        all.fixed.push_back(result_placed_along(model, v, d->mesh_dim, d->where, why));
      });
    if (const auto* d = std::get_if<inputs_placed>(&what)) place_inputs(all, model, d->where, why);
    if (const auto* d = std::get_if<results_placed>(&what)) place_results(all, model, d->where, why);
    if (std::holds_alternative<gradients_paired>(what)) pair_gradients(all, model, why);
    if (std::holds_alternative<layers_tied>(what)) tie_layers(all, model, why);
  });
  if (!placed.empty()) placed = placed_together(all, std::move(placed));
  each([&](const demand& what, const std::string& why) {
    if (const auto* d = std::get_if<parameters_shared>(&what))
      share_parameters(all, model, d->share, d->unit, placed, why);
    if (const auto* d = std::get_if<parameters_limited>(&what)) {
      budget limit = parameter_budget(model, 1, parameter_unit::size);
      limit.name = why;
      limit.high = static_cast<double>(d->most.count());
      all.budgets.push_back(std::move(limit));
    }
    if (const auto* d = std::get_if<memory_limited>(&what))
      all.budgets.push_back(memory_budget(model, d->most, {.state_per_element = d->state_per_element}, why));
  });
  return all;
}

}  // namespace shardweave::inline v0
