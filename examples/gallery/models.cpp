// A small forward and backward graph, written operation by operation, placed on a mesh.
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/conflicting_demands.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <cstdio>

namespace sw = shardweave;

// [graph]
/// One linear layer with its gradients: y = x w.
sw::computation linear_layer() {
  using sw::dtype;
  sw::graph_builder b("linear layer");
  const auto x = b.input("x", {{8192, 4096}, dtype::bf16});  // tokens, features
  const auto w = b.parameter("w", {{4096, 16384}, dtype::bf16});
  const auto y = b.einsum("tk,kn->tn", {x, w});
  b.result(y);

  b.when(sw::phase::backward);
  const auto dy = b.tangent("dy", y);
  b.gradient(w, b.einsum("tk,tn->kn", {x, dy}));
  b.gradient(x, b.einsum("tn,kn->tk", {dy, w}));
  return sw::insert_aliases(b.finish());  // a value with several users may lie differently for each
}
// [graph]

int main() {
  // [place]
  const auto device = sw::find_device("h100");
  const sw::spmd_cost_model model(linear_layer(), sw::device_mesh({8}), sw::roofline{device}, sw::node_table<>(device));
  const auto constraints = sw::training_constraints(model, {.inputs = sw::sharding::parse("S(0)")});
  const auto plan = sw::planner(model.graph(), model, constraints).solve();
  // [place]

  for (std::uint32_t v = 0; v < model.operations().operations.size(); ++v) {
    const sw::operation& op = model.operations().operations[v];
    if (op.op == "einsum" || op.kind == sw::role::parameter)
      std::printf("%-18s %s\n", op.name.c_str(), model.label(v, plan.choice[v]).c_str());
  }
  std::printf("%.0f us, %s\n", plan.objective, plan.status == sw::solve_status::optimal ? "optimal" : "not proven");

  // [demands]
  sw::constraint_log log;
  log.add(sw::inputs_placed{sw::sharding::parse("S(0)")});
  log.add(sw::gradients_paired{});
  log.add(sw::operations_placed{"w", sw::sharding::parse("R")});
  const auto limit = log.add(sw::parameters_limited{sw::bytes(64'000'000)});
  for (const auto& record : sw::conflicting_demands(model, log, sw::auto_solver{}))  // w alone takes 134 MB
    std::printf("cannot hold together: %u %s\n", record.id, sw::to_string(record.what).c_str());
  log.remove(limit);
  const auto pinned = sw::planner(model.graph(), model, sw::constraints_of(model, log)).solve();
  // [demands]
  std::printf("w whole on every device: %.0f us\n", pinned.objective);
  if (pinned.objective < plan.objective) return 1;
  return plan.status == sw::solve_status::optimal ? 0 : 1;
}
