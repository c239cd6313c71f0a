#pragma once

#include "unless_stopped.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/diff.hpp>
#include <shardweave/placement/explain.hpp>
#include <shardweave/report/assignment_text.hpp>
#include <shardweave/report/explained_tasks_text.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/solve/best_plans.hpp>
#include <shardweave/solve/sensitivity.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/mesh_search.hpp>
#include <shardweave/step/explain_step.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What lies around a plan: why its operations take no other strategy, other shapes of the mesh, the next best plans,
/// what a wish would cost.

namespace programs {

/// What of it is asked for.
struct around_options {
  std::size_t mesh_dims = 0;  ///< most dimensions of the meshes to try; 0: the one that was given
  std::size_t best = 0;       ///< plans that differ in where parameters lie; 0: none
  std::vector<std::string> wishes = {};
  std::vector<std::string> explained = {};  ///< operations, by name
};

/// The price of a wish, and what else changes where it is met.
struct told_wish {
  std::string words;
  shardweave::forced_plan<double> met;
  std::optional<shardweave::bytes> parameters;  ///< of a device, where it is met
  std::optional<shardweave::assignment_difference<double>> change;
};

/// An operation of the plan: what it costs, what other strategies would, and what more time of its work costs the step.
struct explained_operation {
  shardweave::vertex_explanation<double> paid;
  shardweave::vertex_alternatives<double> others;
  std::vector<double> at_prices = {};  ///< change of each strategy at the prices of the bound, in ns; empty: no bound
  std::vector<shardweave::explained_task> tasks = {};
};

/// What came of it.
struct around_plan {
  std::optional<shardweave::mesh_ranking> meshes = std::nullopt;
  std::optional<shardweave::plan_ranking<double>> plans = std::nullopt;
  shardweave::bytes parameters{};  ///< of a device, in the plan itself
  std::vector<told_wish> wishes = {};
  std::vector<explained_operation> explained = {};
};

/// \throws error (input) if there is none of this name, telling the one that begins and ends most alike
[[nodiscard]] inline std::uint32_t operation_called(const std::string& name, const shardweave::computation& graph) {
  const auto at = std::ranges::find(graph.operations, name, &shardweave::operation::name);
  if (at == graph.operations.end()) {
    const auto alike = [&](const std::string& other) {
      const auto front = std::ranges::mismatch(name, other).in1 - name.begin();
      const auto back = std::ranges::mismatch(name | std::views::reverse, other | std::views::reverse).in1;
      return front + (back - name.rbegin());
    };
    const auto near = std::ranges::max_element(graph.operations, {}, [&](const auto& o) { return alike(o.name); });
    shardweave::refuse(shardweave::error_category::input,
                       "no operation is called '" + name + "'" +
                           (near == graph.operations.end() ? "" : "; the nearest name is '" + near->name + "'"));
  }
  return static_cast<std::uint32_t>(at - graph.operations.begin());
}

/// The strategies that a wish leaves to operations.
/// \throws error (format), (constraint) or (input) if it is no demand, if nothing can lie so, or if it demands
/// something
///         else than where operations lie
template <class Model>
[[nodiscard]] std::vector<shardweave::fixed_strategies> wished(const Model& model, const std::string& wish) {
  namespace sw = shardweave;
  sw::constraint_log log;
  log.add(sw::parse_demand(wish));
  sw::constraint_set demands = sw::constraints_of(model, log);
  if (demands.fixed.empty() || !demands.pairs.empty() || !demands.ties.empty() || !demands.budgets.empty())
    sw::refuse(sw::error_category::input,
               "'" + wish + "' does not say where operations lie, expected a wish like 'placed layers.*.wq S(0)R'");
  return std::move(demands.fixed);
}

/// What a device holds of the parameters.
template <class Model>
[[nodiscard]] shardweave::bytes parameters_held(const Model& model, std::span<const shardweave::strategy> choice) {
  shardweave::bytes sum{};
  const auto& operations = model.operations().operations;
  for (std::uint32_t v = 0; v < operations.size(); ++v)
    if (operations[v].kind == shardweave::role::parameter) sum += model.result_size(v, choice[v]);
  return sum;
}

/// Operations of the plan explained, the next best plans and the price of wishes, for the problem whose assignment the
/// plan has. \param usual  what is demanded beside a wish that places the operations that it is called with
/// \param solver  any; it is asked again and again
template <class Model, class Usual, class Solver>
void look_around(around_plan& around, const Model& model, const shardweave::training_plan& plan,
                 const around_options& asked, const Usual& usual, const Solver& solver,
                 const shardweave::solve_control& control) {
  namespace sw = shardweave;
  const sw::deadline limit(control);
  const std::span<const sw::strategy> choice = plan.placement.choice;
  for (const std::string& name : asked.explained) {
    const std::uint32_t v = operation_called(name, model.operations());
    around.explained.push_back({sw::explain(*plan.problem, choice, v), sw::alternatives(*plan.problem, choice, v)});
  }
  if (asked.best > 0) {
    sw::best_plans_options options;
    const auto& operations = model.operations().operations;
    for (std::uint32_t v = 0; v < operations.size(); ++v)
      if (operations[v].kind == sw::role::parameter) options.differ_in.push_back(v);
    unless_stopped([&] {
      const auto problem = sw::compile(plan.problem, limit.rest());
      around.plans = sw::best_plans(problem, solver, asked.best, limit.rest(), options);
    });
  }
  around.parameters = parameters_held(model, choice);
  for (const std::string& wish : asked.wishes) {
    const std::vector<sw::fixed_strategies> demands = wished(model, wish);
    std::vector<std::uint32_t> placed;
    for (const sw::fixed_strategies& fixed : demands) placed.push_back(fixed.vertex);
    sw::constraint_set all = usual(placed);
    all.fixed.insert(all.fixed.end(), demands.begin(), demands.end());
    around.wishes.push_back(
        {wish, sw::cost_of_constraints(*plan.problem, plan.placement, std::move(all), solver, limit.rest()),
         std::nullopt, std::nullopt});
    told_wish& told = around.wishes.back();
    if (!told.met.answer.has_assignment()) continue;
    told.parameters = parameters_held(model, told.met.answer.choice);
    told.change = sw::diff(*plan.problem, choice, std::span<const sw::strategy>(told.met.answer.choice));
  }
}

/// What the explained operations cost the step. \param plan   as it is told, with tasks
/// \param found  the bound on all plans of its kind; null: none is known
inline void explain_steps(around_plan& around, const shardweave::training_plan& plan,
                          const shardweave::fastest_plan_result* found) {
  namespace sw = shardweave;
  std::optional<sw::priced_bound> known;
  if (found != nullptr && found->bounds.bound > 0) known = sw::priced_bound{found->work.get(), &found->bounds};
  const sw::priced_bound* const bound = known ? &*known : nullptr;
  for (explained_operation& told : around.explained) {
    const sw::task_plan& tasks = *plan.tasks;
    told.tasks = sw::explain_step(*plan.lowered, tasks.order, tasks.after, *plan.problem, told.others.vertex, bound);
    if (bound != nullptr) told.at_prices = sw::changes_at_prices(told.others, plan.placement.choice, *bound);
  }
}

namespace detail {

/// "12,345.678", or why there is no such figure.
inline std::string objective_text(const shardweave::solution<double>& s) {
  if (s.has_assignment()) return shardweave::fixed_text(s.objective, 3);
  return std::string(shardweave::name_of(s.status));
}

/// Where parameters of a plan lie otherwise than in the first one: "wq S(0)S(1), w2 S(1)S(0)".
template <class Model>
std::string moved_parameters(const Model& model, const shardweave::ranked_plan<double>& plan) {
  std::vector<std::string> known;
  std::string text;
  for (const std::uint32_t v : plan.changed) {
    const auto& operation = model.operations().operations[v];
    if (operation.kind != shardweave::role::parameter) continue;
    std::string now =
        operation.group + " " + model.strategies(v).strategies[plan.answer.choice[v]].outputs.front().to_string();
    bool fresh = true;
    for (const std::string& k : known) fresh = fresh && k != now;
    if (!fresh) continue;
    text += (text.empty() ? "" : ", ") + now;
    known.push_back(std::move(now));
  }
  return text;
}

}  // namespace detail

/// A table for each thing that was asked for; costs in microseconds. \param tasks  of the plan
template <class Model>
[[nodiscard]] std::string around_text(const Model& model, const shardweave::placement_description<double>& stated,
                                      const shardweave::task_graph& tasks, const around_plan& around) {
  namespace sw = shardweave;
  const sw::text_side right = sw::text_side::right;
  std::string text;
  for (const explained_operation& told : around.explained)
    text += "\n" + sw::to_text(told.paid, stated) + "\n" + sw::to_text(told.others, stated, 12, told.at_prices) + "\n" +
            sw::to_text(told.tasks, tasks);
  if (around.meshes) {
    sw::text_table table({{"mesh"}, {"objective, us", right}, {"lower bound", right}, {}});
    for (const sw::mesh_candidate& shape : around.meshes->shapes)
      table.row({shape.mesh.to_string(), detail::objective_text(shape.answer),
                 sw::fixed_text(shape.answer.lower_bound, 3),
                 shape.is_pruned ? "given up: no better than another" : std::string(sw::name_of(shape.answer.status))});
    text += "\nShapes of the mesh\n" + table.text(2);
  }
  if (around.plans) {
    sw::text_table table({{"plan", right}, {"objective, us", right}, {"above the best", right}, {"status"}, {"other"}});
    const auto& plans = around.plans->plans;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const double first = plans.front().answer.objective;
      table.row({std::to_string(i + 1), detail::objective_text(plans[i].answer),
                 sw::percent_text((plans[i].answer.objective - first) / first, 3),
                 std::string(sw::name_of(plans[i].answer.status)), detail::moved_parameters(model, plans[i])});
    }
    text += "\nBest plans that place parameters otherwise\n" + table.text(2);
  }
  if (!around.wishes.empty()) {
    sw::text_table table({{"what if"},
                          {"objective, us", right},
                          {"costs at least", right},
                          {"at most", right},
                          {"parameters of a device", right}});
    for (const told_wish& told : around.wishes)
      table.row({told.words, detail::objective_text(told.met.answer), sw::fixed_text(told.met.cost.least, 3),
                 sw::fixed_text(told.met.cost.most, 3), told.parameters ? sw::size_text(*told.parameters) : ""});
    text +=
        "\nWhat wishes cost (what they place does not count for the share of parameters that a device may hold; the "
        "plan holds " +
        sw::size_text(around.parameters) + ")\n" + table.text(2);
    for (const told_wish& told : around.wishes)
      if (told.change) text += "\nWhat changes with \"" + told.words + "\"\n" + sw::to_text(*told.change, stated, 8);
  }
  return text;
}

namespace detail {

/// An explained operation as an object: its strategy, every strategy with what it would cost and break, and its tasks.
inline void write_explained(shardweave::json_writer& out, const shardweave::placement_description<double>& stated,
                            const shardweave::task_graph* tasks, const explained_operation& explained) {
  namespace sw = shardweave;
  const sw::vertex_alternatives<double>& told = explained.others;
  const auto edges = [&](const char* name, const std::vector<sw::edge_parts<double>>& parts) {
    out.key(name).begin_list();
    for (const sw::edge_parts<double>& part : parts)
      out.begin_object().member("communication", part.communication).member("transition", part.transition).end_object();
    out.end_list();
  };
  out.begin_object().member("name", stated.vertices[told.vertex].name);
  out.member("chosen", stated.name_of_strategy(told.vertex, told.chosen)).member("tied", told.along.size());
  out.key("strategies").begin_list();
  for (sw::strategy s = 0; s < told.strategies.size(); ++s) {
    const sw::alternative<double>& other = told.strategies[s];
    out.begin_object().member("strategy", stated.name_of_strategy(told.vertex, s)).member("compute_us", other.compute);
    edges("arguments", other.inputs);
    edges("users", other.outputs);
    out.member("change_us", other.change);
    if (!explained.at_prices.empty()) out.member("change_at_prices_ns", explained.at_prices[s]);
    out.list("breaks", other.breaks).end_object();
  }
  out.end_list().key("tasks").begin_list();
  for (const sw::explained_task& task : explained.tasks) {
    out.begin_object().member("name", tasks->name_of(task.task)).member("time_ns", task.time.count());
    out.member("together", task.together).member("slack_ns", task.slack.count()).key("in_bound");
    task.in_bound ? out.value(*task.in_bound) : out.null();
    out.end_object();
  }
  out.end_list().end_object();
}

}  // namespace detail

/// Members `explained`, `meshes`, `plans` and `what_if` of an open object, those that were asked for.
/// \param tasks  of the plan, which there are where something is explained
template <class Model>
void write_around(shardweave::json_writer& out, const Model& model,
                  const shardweave::placement_description<double>& stated, const shardweave::task_graph* tasks,
                  const around_plan& around) {
  namespace sw = shardweave;
  const auto answer = [&](const sw::solution<double>& s) {
    out.member("objective_us", s.has_assignment() ? s.objective : std::numeric_limits<double>::infinity())
        .member("lower_bound_us", s.lower_bound)
        .member("status", sw::name_of(s.status));
  };
  if (!around.explained.empty()) {
    out.key("explained").begin_list();
    for (const explained_operation& told : around.explained) detail::write_explained(out, stated, tasks, told);
    out.end_list();
  }
  if (around.meshes) {
    out.key("meshes").begin_list();
    for (const sw::mesh_candidate& shape : around.meshes->shapes) {
      out.begin_object().member("mesh", shape.mesh.to_string());
      answer(shape.answer);
      out.member("pruned", shape.is_pruned).end_object();
    }
    out.end_list();
  }
  if (around.plans) {
    out.key("plans").begin_list();
    for (const auto& plan : around.plans->plans) {
      out.begin_object();
      answer(plan.answer);
      out.member("changed", plan.changed.size())
          .member("moved_parameters", detail::moved_parameters(model, plan))
          .end_object();
    }
    out.end_list();
  }
  if (!around.wishes.empty()) {
    out.key("what_if").begin_list();
    for (const told_wish& told : around.wishes) {
      out.begin_object().member("demand", told.words);
      answer(told.met.answer);
      out.member("costs_at_least_us", told.met.cost.least).member("costs_at_most_us", told.met.cost.most);
      if (told.parameters) out.member("parameter_bytes", told.parameters->count());
      if (told.change)
        out.member("changed", std::ranges::count_if(told.change->vertices,
                                                    [](const auto& vertex) { return vertex.is_changed(); }));
      out.end_object();
    }
    out.end_list();
  }
}

}  // namespace programs
