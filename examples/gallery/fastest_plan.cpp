// The plan of the shortest step: placements are judged by the step that their tasks take, not by the sum of their
// costs.
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <cstdio>

namespace sw = shardweave;

int main() {
  const sw::llama_config config{.name = "two layers",
                                .hidden_size = 2048,
                                .num_hidden_layers = 2,
                                .num_attention_heads = 16,
                                .num_key_value_heads = 8,
                                .intermediate_size = 8192,
                                .vocab_size = 32000};
  const auto device = sw::find_device("h100");
  const sw::device_mesh mesh({2, 8});
  const sw::spmd_cost_model model(sw::llama_training_graph(config, {.batch = 16, .sequence = 4096}), mesh,
                                  sw::roofline{device}, sw::node_table<>(device));
  const auto constraints = sw::training_constraints(
      model, {.inputs = sw::sharding::parse("S(0)S(0)"), .results = sw::sharding::parse("S(0)S(0)")});

  // [run]
  const sw::pipeline way(sw::auto_solver{}, sw::benefit<>{});
  const sw::fastest_plan_result found = sw::fastest_plan(way, model, constraints);
  const sw::nanoseconds step = found.plan.tasks.value().after.end_to_end;
  std::printf(
      "the step takes %s, %s with the placement of the least sum; at most %.2f %% above the best of all plans\n",
      sw::time_text(step).c_str(), sw::time_text(found.step_of_least_sum).c_str(), 100 * found.gap());
  // [run]
  return step <= found.step_of_least_sum && found.gap() >= 0 && found.gap() < 0.1 ? 0 : 1;
}
