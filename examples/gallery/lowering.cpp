// From chosen strategies to tasks: what one device does, and what it communicates.
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace sw = shardweave;

int main() {
  sw::graph_builder b("linear");
  const auto x = b.input("x", {{16384, 4096}, sw::dtype::bf16});
  const auto w = b.parameter("w", {{4096, 4096}, sw::dtype::bf16});
  b.result(b.einsum("tk,kn->tn", {x, w}));
  const auto device = sw::find_device("h100");
  const sw::spmd_cost_model model(b.finish(), sw::device_mesh({8}), sw::roofline{device}, sw::node_table<>(device));

  // [lower]
  sw::constraint_set constraints;  // tokens are cut, and so is the weight: it must be gathered
  constraints.fixed.push_back(sw::result_placed(model, 0, sw::sharding::parse("S(0)"), "tokens are cut"));
  constraints.fixed.push_back(sw::result_placed(model, 1, sw::sharding::parse("S(0)"), "the weight is cut"));
  constraints.fixed.push_back(sw::result_placed(model, 2, sw::sharding::parse("S(0)"), "so is the result"));
  const auto problem = sw::compile(sw::describe(model.graph(), model, constraints));
  const auto placed = sw::exhaustive{}.solve(problem);
  const sw::lowered_graph lowered = sw::lower(model, placed.choice);
  // [lower]

  const sw::task_graph& g = lowered.tasks;
  std::size_t collectives = 0;
  for (sw::task_index t = 0; t < g.size(); ++t) {
    std::printf("%-28s %-11s %8.1f us\n", std::string(g.name_of(t)).c_str(), std::string(to_string(g.kind(t))).c_str(),
                sw::to_microseconds(g.duration(t)));
    collectives += g.is_collective(t);
  }
  // what was placed and what is launched have one price
  const auto parts = sw::evaluate(problem, placed.choice).parts;
  const double compute = sw::to_microseconds(lowered.compute_time());
  const double communication = sw::to_microseconds(lowered.communication_time());
  std::printf("placement: %.1f + %.1f us, tasks: %.1f + %.1f us\n", parts.compute, parts.communication, compute,
              communication);
  const bool same = std::abs(parts.compute - compute) < 0.01 && std::abs(parts.communication - communication) < 0.01;
  return same && collectives == 1 ? 0 : 1;
}
