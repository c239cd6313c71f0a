#pragma once

#include "unless_stopped.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/solve/sensitivity.hpp>
#include <shardweave/spmd/demand.hpp>
#include <shardweave/spmd/propagation.hpp>
#include <shardweave/spmd/sharding.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// Annotations for a plan: what they determine, and whether the best plan is still among what they leave.

namespace programs {

/// What annotations led to, and the best plan without them.
struct annotated_plan {
  shardweave::propagation told;
  shardweave::solution<double> free;
  shardweave::cost_range cost;  ///< of planning with what they determine

  /// Whether the optimum of what is left is known to be that of all.
  [[nodiscard]] bool keeps_optimum() const {
    return free.has_assignment() && cost.most <= 1e-9 * std::abs(free.objective);
  }
};

/// "layers.*.wq 1 S(0)": names, a mesh dimension and where results of operations with such names lie along it.
/// \throws error (format) if the text is something else
[[nodiscard]] inline shardweave::annotation read_annotation(const std::string& text) {
  shardweave::operations_placed_along along;
  try {
    along = std::get<shardweave::operations_placed_along>(shardweave::parse_demand("placed_along " + text));
  } catch (const shardweave::error&) {
    shardweave::refuse(shardweave::error_category::format,
                       "'" + text +
                           "' is no annotation; expected a name, a mesh dimension and how it lies along it, for "
                           "example layers.*.w1 1 S(0)");
  }
  return {.pattern = along.pattern, .mesh_dim = along.mesh_dim, .where = along.where};
}

/// Inputs, and results but gradients, along those mesh dimensions that cut them.
template <class Model>
[[nodiscard]] std::vector<shardweave::annotation> usual_annotations(const Model& model,
                                                                    const shardweave::sharding& inputs,
                                                                    const shardweave::sharding& results) {
  std::vector<shardweave::annotation> all;
  const auto& graph = model.operations();
  const auto add = [&](const shardweave::operation& op, const shardweave::sharding& where) {
    for (std::size_t d = 0; d < where.size(); ++d)
      if (where[d].is_sharded()) all.push_back({.pattern = op.name, .mesh_dim = d, .where = where[d]});
  };
  for (const auto& op : graph.operations)
    if (op.kind == shardweave::role::input) add(op, inputs);
  for (const std::uint32_t v : graph.results)
    if (std::ranges::none_of(graph.gradient_of, [v](const auto& pair) { return pair.second == v; }))
      add(graph.operations[v], results);
  return all;
}

/// Solves the problem of the plan without what was determined, and compares.
/// \pre the last fixed strategies of the plan's problem are those of `told`
template <class Solver>
[[nodiscard]] annotated_plan compare_with_free(shardweave::propagation told, const shardweave::training_plan& plan,
                                               const Solver& solver, const shardweave::solve_control& control) {
  auto stated = *plan.problem;
  stated.constraints.fixed.resize(stated.constraints.fixed.size() - told.constraints.size());
  const shardweave::deadline limit(control);
  annotated_plan result{std::move(told), {}, {}};
  unless_stopped([&] {
    const auto problem = shardweave::compile(std::move(stated), limit.rest());
    result.free = solver.solve(problem, limit.rest());
  });
  result.cost = shardweave::change_of_optimum(result.free, plan.placement);
  result.cost.least = std::max(result.cost.least, 0.0);
  return result;
}

namespace detail {

[[nodiscard]] inline std::size_t determined(const shardweave::propagation& told) {
  return static_cast<std::size_t>(
      std::ranges::count_if(told.determined, [](const auto& dimensions) { return !dimensions.empty(); }));
}

}  // namespace detail

/// A few lines on what annotations determined, where redistributions stay, and what it costs to go by them.
template <class Model>
[[nodiscard]] std::string annotated_text(const Model& model, const annotated_plan& plan) {
  namespace sw = shardweave;
  const auto& operations = model.operations().operations;
  const auto count = [](std::size_t n) { return sw::count_text(static_cast<std::int64_t>(n)); };
  std::string text = "\nAnnotations\n  " + count(plan.told.strategies_after) + " of " +
                     count(plan.told.strategies_before) + " strategies are left; " + count(plan.told.touched) +
                     " operations lost some, " + count(detail::determined(plan.told)) + " are determined.\n  ";
  text += plan.keeps_optimum()         ? "The optimum of what is left is that of all.\n"
          : plan.free.has_assignment() ? "The best plan of all takes " + sw::fixed_text(plan.free.objective, 3) +
                                             " us: going by them costs between " + sw::fixed_text(plan.cost.least, 3) +
                                             " and " + sw::fixed_text(plan.cost.most, 3) + " us.\n"
                                       : "Without them no plan was found to compare with.\n";
  if (plan.told.boundaries.empty()) return text;
  sw::text_table table({{"a redistribution stays between"}, {"and"}, {"mesh dimension", sw::text_side::right}});
  constexpr std::size_t most = 10;
  for (std::size_t i = 0; i < std::min(most, plan.told.boundaries.size()); ++i) {
    const sw::axis_boundary& at = plan.told.boundaries[i];
    table.row({operations[at.producer].name, operations[at.consumer].name, std::to_string(at.mesh_dim)});
  }
  text += table.text(2);
  if (plan.told.boundaries.size() > most) text += "  and " + count(plan.told.boundaries.size() - most) + " more\n";
  return text;
}

/// Member `annotations` of an open object.
template <class Model>
void write_annotated(shardweave::json_writer& out, const Model& model, const annotated_plan& plan) {
  const auto& operations = model.operations().operations;
  out.key("annotations").begin_object();
  out.member("strategies", plan.told.strategies_before).member("left", plan.told.strategies_after);
  out.member("touched", plan.told.touched).member("determined", detail::determined(plan.told));
  out.key("boundaries").begin_list();
  for (const shardweave::axis_boundary& at : plan.told.boundaries)
    out.begin_object()
        .member("producer", operations[at.producer].name)
        .member("consumer", operations[at.consumer].name)
        .member("argument", at.argument)
        .member("mesh_dim", at.mesh_dim)
        .end_object();
  out.end_list().key("without").begin_object();
  out.member("objective_us", plan.free.has_assignment() ? plan.free.objective : std::numeric_limits<double>::infinity())
      .member("lower_bound_us", plan.free.lower_bound)
      .member("status", shardweave::name_of(plan.free.status))
      .end_object();
  out.member("costs_at_least_us", plan.cost.least).member("costs_at_most_us", plan.cost.most);
  out.member("keeps_optimum", plan.keeps_optimum()).end_object();
}

}  // namespace programs
