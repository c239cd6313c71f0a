// The whole way: a model's config, a mesh and a device; placement, tasks, buckets, order, timeline.
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/report/summary.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace sw = shardweave;

int main() {
  // [run]
  const sw::llama_config config{.name = "two layers",
                                .hidden_size = 2048,
                                .num_hidden_layers = 2,
                                .num_attention_heads = 16,
                                .num_key_value_heads = 8,
                                .intermediate_size = 8192,
                                .vocab_size = 32000};
  const auto device = sw::find_device("h100");
  const sw::device_mesh mesh({8});
  const sw::spmd_cost_model model(sw::llama_training_graph(config, {.batch = 8, .sequence = 4096}), mesh,
                                  sw::roofline{device}, sw::node_table<>(device));
  const auto constraints =
      sw::training_constraints(model, {.inputs = sw::sharding::parse("S(0)"), .results = sw::sharding::parse("S(0)")});

  const sw::pipeline way(sw::auto_solver{}, sw::greedy{.cap = sw::mebibytes(100)}, sw::prefetch{});
  const sw::training_plan plan = way.run(model, constraints, {.seconds = 30});
  // [run]

  // [read]
  const sw::task_plan& tasks = plan.tasks.value();
  std::printf("%zu operations cost %.0f us, at least %.0f: %s\n", plan.problem->vertices.size(),
              plan.placement.objective, plan.placement.lower_bound,
              std::string(sw::name_of(plan.placement.status)).c_str());
  const std::vector<sw::named_timeline> lines = {{"as lowered", &tasks.before}, {"planned", &tasks.after}};
  std::fputs(sw::timeline_summary(lines).c_str(), stdout);
  std::printf("no order with these buckets ends before %s\n", sw::time_text(tasks.makespan_bound).c_str());
  // [read]
  return plan.placement.status == sw::solve_status::optimal && tasks.after.end_to_end <= tasks.before.end_to_end &&
                 tasks.makespan_bound <= tasks.after.end_to_end
             ? 0
             : 1;
}
