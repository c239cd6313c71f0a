#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/spmd/memory_budget.hpp>

#include <limits>
#include <optional>
#include <utility>

/// \file
/// What a device holds at any position.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE budget memory_budget(const spmd_cost_model& model, bytes most, const memory_options& options,
                                       std::string why) {
  if (!(options.state_per_element >= 0) || options.state_per_element == std::numeric_limits<double>::infinity())
    refuse(error_category::input, why + ": optimizer state takes " + number_text(options.state_per_element) +
                                      " bytes per element, expected a number that is not negative");
  budget limit{std::move(why), -std::numeric_limits<double>::infinity(), static_cast<double>(most.count()), {}};
  const auto& operations = model.operations().operations;
  const auto is_view = [&](const operation& op) {
    return !op.inputs.empty() && !op.outputs.empty() && model.rules().of(op).cost.is_view;
  };
  const auto live = options.results ? live_results(model.operations(), is_view)
                                    : std::vector<std::vector<live_interval>>(operations.size());
  for (std::uint32_t v = 0; v < operations.size(); ++v) {
    const operation& op = operations[v];
    const bool is_kept = op.kind == role::parameter || op.kind == role::input || op.kind == role::constant;
    if (!is_kept && !options.results) continue;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      budget_term term{v, {}, std::nullopt};
      if (!is_kept) term.live = live[v][k];
      const double size = static_cast<double>(element_size(op.outputs[k].type));
      const double with_state = size + (op.kind == role::parameter ? options.state_per_element : 0);
      const sharding_classes& lying = model.strategies(v).outputs[k];
      std::vector<double> held;  // per placement
      for (const sharding& where : lying.distinct)
        held.push_back(where.is_none() ? 0
                                       : static_cast<double>(local_size(op.outputs[k], where, model.mesh()).count()) /
                                             size * with_state);
      for (const std::uint32_t c : lying.of) term.usage.push_back(held[c]);
      limit.terms.push_back(std::move(term));
    }
  }
  return limit;
}

}  // namespace shardweave::inline v0
