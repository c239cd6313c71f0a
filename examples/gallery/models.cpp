// Forward graphs, written operation by operation; their gradients; and where all that is placed on a mesh.
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/backward_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/joint_graph.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/conflicting_demands.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/repeated_layers.hpp>
#include <shardweave/spmd/rules/pointwise.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace sw = shardweave;

// [graph]
/// One linear layer with its gradients: y = x w.
sw::computation linear_layer() {
  using sw::dtype;
  sw::graph_builder b("linear layer");
  const auto x = b.input("x", {{8192, 4096}, dtype::bf16});  // tokens, features
  const auto w = b.parameter("w", {{4096, 16384}, dtype::bf16});
  b.result(b.einsum("tk,kn->tn", {x, w}));
  return sw::joint_graph(std::move(b), {.of_inputs = true});  // writes the backward half
}
// [graph]

// [layers]
/// Four gated layers, as a host writes them that does not say that they repeat.
sw::computation gated_layers() {
  using sw::dtype;
  sw::graph_builder b("gated layers");
  auto x = b.input("x", {{8192, 4096}, dtype::bf16});
  for (int layer = 0; layer < 4; ++layer) {
    const auto weight = [&](const char* name, std::int64_t from, std::int64_t to) {
      return b.parameter(name + std::to_string(layer), {{from, to}, dtype::bf16});
    };
    const auto up = b.einsum("tk,kn->tn", {x, weight("up", 4096, 16384)});
    const auto gate = b.exp(b.einsum("tk,kn->tn", {x, weight("gate", 4096, 16384)}));
    x = b.add(x, b.einsum("tn,nk->tk", {b.mul(up, gate), weight("down", 16384, 4096)}));
  }
  b.result(x);
  return sw::insert_aliases(b.finish());
}
// [layers]
// [model]
/// Two layers and a loss. The gate is an operator that the library does not know.
sw::computation small_model() {
  using sw::dtype;
  sw::graph_builder b("small model");
  const auto tokens = b.input("tokens", {{64, 2048}, dtype::i64});
  const auto expected = b.input("expected", {{64, 2048}, dtype::i64});
  const auto table = b.parameter("table", {{32768, 1024}, dtype::bf16});
  auto x = b.embedding(table, tokens);
  for (int l = 0; l < 2; ++l) {
    b.layer(l);
    const auto weight = [&](const std::string& name, std::int64_t in, std::int64_t out) {
      return b.parameter(name + std::to_string(l), {{in, out}, dtype::bf16});
    };
    const auto gate = b.einsum("bsd,df->bsf", {x, weight("gate", 1024, 4096)});
    const auto open = b.apply("softplus", {gate}, {b.of_value(gate)});
    const auto up = b.einsum("bsd,df->bsf", {x, weight("up", 1024, 4096)});
    const auto inner = b.mul(open, up);
    x = b.add(x, b.einsum("bsf,fd->bsd", {inner, weight("down", 4096, 1024)}));
  }
  b.layer(-1);
  const auto logits = b.einsum("bsd,vd->bsv", {x, table});  // the table once more
  b.result(b.mean(b.getitem(b.cross_entropy(logits, expected), 0), {0, 1}));

  sw::joint_options options;
  options.rules.add("softplus", [](sw::backward_pass& p) {  // y = log(1 + exp(x))
    p.give(p.input(0), p.builder().mul(p.gradient(), p.builder().sigmoid(p.input(0))));
  });
  return sw::joint_graph(std::move(b), options);
}
// [model]

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

  // [tie]
  const sw::spmd_cost_model stack(gated_layers(), sw::device_mesh({8}), sw::roofline{device}, sw::node_table<>(device));
  const auto tied = sw::planner(stack.graph(), stack, sw::training_constraints(stack)).solve();  // layers are found
  const auto each = sw::planner(stack.graph(), stack, sw::training_constraints(stack, {.tie_layers = false})).solve();
  std::printf("layers alike: %.3f us, each for itself: %.3f us\n", tied.objective, each.objective);
  // [tie]
  if (tied.objective < each.objective * (1 - 1e-9) || sw::repeated_layers(stack.operations()).empty()) return 1;
  // [trained]
  sw::rule_table rules = sw::standard_rules();
  rules.add("softplus", sw::pointwise_rule{});
  const sw::spmd_cost_model small(small_model(), sw::device_mesh({4, 2}), sw::roofline{device},
                                  sw::node_table<>(device), rules);
  const auto trained = sw::planner(small.graph(), small, sw::training_constraints(small)).solve();
  // [trained]
  for (const auto& [parameter, gradient] : small.operations().gradient_of)
    std::printf("%-8s %-10s its gradient %s\n", small.operations().operations[parameter].name.c_str(),
                small.label(parameter, trained.choice[parameter]).c_str(),
                small.label(gradient, trained.choice[gradient]).c_str());
  std::printf("%zu operations, %.0f us\n", small.operations().operations.size(), trained.objective);
  if (trained.status != sw::solve_status::optimal) return 1;
  return plan.status == sw::solve_status::optimal ? 0 : 1;
}
