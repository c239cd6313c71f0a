// Around a plan: the next best ones, what room and wishes are worth, why it is not another one, which shape of the mesh
// is best, and what a few annotations decide beforehand.
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/placement/diff.hpp>
#include <shardweave/placement/explain.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/report/assignment_text.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/best_plans.hpp>
#include <shardweave/solve/sensitivity.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/solve/value_of_limit.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/mesh_search.hpp>
#include <shardweave/spmd/propagation.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace sw = shardweave;

/// y = (x w1) w2 with its gradients.
sw::computation two_layers() {
  using sw::dtype;
  sw::graph_builder b("two layers");
  const auto x = b.input("x", {{65536, 4096}, dtype::bf16});
  const auto w1 = b.parameter("w1", {{4096, 16384}, dtype::bf16});
  const auto w2 = b.parameter("w2", {{16384, 4096}, dtype::bf16});
  const auto u = b.einsum("tk,kn->tn", {x, w1});
  const auto y = b.einsum("tk,kn->tn", {u, w2});
  b.result(y);
  b.when(sw::phase::backward);
  const auto dy = b.tangent("dy", y);
  b.gradient(w2, b.einsum("tk,tn->kn", {u, dy}));
  b.gradient(w1, b.einsum("tk,tn->kn", {x, b.einsum("tn,kn->tk", {dy, w2})}));
  return sw::insert_aliases(b.finish());
}

int main() {
  const auto device = sw::find_device("h100");
  const sw::computation layers = two_layers();
  const auto model_on = [&](const sw::device_mesh& mesh) {
    return sw::spmd_cost_model(layers, mesh, sw::roofline{device}, sw::node_table<>(device));
  };

  // [mesh]
  sw::constraint_log log;
  log.add(sw::gradients_paired{});
  log.add(sw::parameters_limited{sw::mebibytes(64)});  // of 256 MiB, on every device
  const auto problem_on = [&](const sw::device_mesh& mesh, const sw::solve_control& control) {
    const auto model = model_on(mesh);
    return sw::compile(sw::describe(model.graph(), model, sw::constraints_of(model, log), control), control);
  };
  const auto shapes = sw::mesh_shapes(16, 2);
  const auto found = sw::search_meshes(shapes, problem_on, sw::auto_solver{});
  for (const auto& [mesh, answer, is_pruned] : found.shapes)
    std::printf("%-5s %10.3f us, at least %10.3f us%s\n", mesh.to_string().c_str(), answer.objective,
                answer.lower_bound, is_pruned ? ", given up" : "");
  // [mesh]
  if (found.status != sw::solve_status::optimal) return 1;

  // [best]
  const auto model = model_on(found.shapes[found.best].mesh);
  const auto problem = problem_on(model.mesh(), {});
  const auto plans = sw::best_plans(problem, sw::auto_solver{}, 3, {}, {.differ_in = {1, 2}});  // w1 and w2
  for (const auto& [answer, changed] : plans.plans)
    std::printf("%10.3f us, w1 %s, w2 %s\n", answer.objective, model.label(1, answer.choice[1]).c_str(),
                model.label(2, answer.choice[2]).c_str());
  // [best]
  if (plans.status != sw::solve_status::optimal || plans.plans.size() != 3) return 1;

  // [worth]
  const auto& best = plans.plans.front().answer;
  const auto budget = problem.description()->constraints.budgets.front();
  const std::array<double, 2> limits{budget.high, 2 * budget.high};
  const auto points = sw::value_of_limit(*problem.description(), budget.name, limits, sw::auto_solver{});
  const auto saved = sw::change_of_optimum(points[1].answer, points[0].answer);  // what 64 MiB more save
  sw::constraint_log wish;
  wish.add(sw::operations_placed_along{"w1", 1, sw::dim_placement::replicate()});
  const auto forced = sw::cost_of_forcing(problem, best, sw::constraints_of(model, wish).fixed, sw::auto_solver{});
  std::printf("64 MiB more save %.3f to %.3f us; w1 whole along the second dimension costs %.3f us\n", saved.least,
              saved.most, forced.cost.most);
  // [worth]
  if (saved.least < -1e-6 || !forced.cost.is_exact(best.objective)) return 1;

  // [why]
  const auto& stated = *problem.description();
  const auto others = sw::alternatives(stated, best.choice, 1);  // w1: what each other strategy would cost, and break
  const auto moved = sw::diff(stated, best.choice, forced.answer.choice);  // what else the wish changes
  std::printf("\n%s\n%s\n", to_text(others, stated, 4).c_str(), to_text(moved, stated, 4).c_str());
  // [why]
  if (others.strategies[best.choice[1]].change != 0 || moved.vertices.empty()) return 1;

  // [annotate]
  const auto rows = sw::dim_placement::shard(0);
  const auto told = sw::propagate(model, std::vector<sw::annotation>{{"x", 0, rows}, {"dy", 0, rows}});
  auto demands = sw::constraints_of(model, log);
  demands.fixed.insert(demands.fixed.end(), told.constraints.begin(), told.constraints.end());
  const auto annotated = sw::planner(model.graph(), model, demands).solve();
  std::printf("rows cut: %zu of %zu strategies left, %zu redistributions stay, %10.3f us\n", told.strategies_after,
              told.strategies_before, told.boundaries.size(), annotated.objective);
  // [annotate]
  return annotated.objective >= best.objective * (1 - 1e-9) && told.strategies_after < told.strategies_before ? 0 : 1;
}
