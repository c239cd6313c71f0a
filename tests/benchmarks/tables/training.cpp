// The whole way for the LLaMA 3 family: the time of every stage, on three meshes of 64 devices.
#include "benchmarks/tables/table.hpp"
#include "examples/support/solvers.hpp"
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/training_constraints.hpp>

namespace sw = shardweave;

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  std::vector<std::string> columns = {"model and mesh", "vertices",      "tasks",         "status",  "objective ms",
                                      "gap %",          "end to end ms", "above bound %", "peak GiB"};
  const std::vector<std::string> stages = {"model", "build",  "compile",  "solve",
                                           "lower", "bucket", "schedule", "simulate"};
  for (const std::string& stage : stages) columns.push_back(stage + " s");
  columns.insert(columns.end(), {"all s", "peak MiB"});
  tables::table out(asked, columns);
  const std::pair<const char*, std::string> meshes[] = {{"64", "S(0)"}, {"8x8", "S(0)R"}, {"2x4x8", "S(0)RR"}};
  const std::string results[] = {"S(0)", "S(0)S(2)", "S(0)RS(2)"};
  for (const char* name : {"llama3-1b", "llama3-3b", "llama3-8b", "llama3-70b", "llama3-405b"})
    for (std::size_t m = 0; m < 3; ++m) {
      const std::string what = std::string(name) + " " + meshes[m].first;
      if (!asked.asks_for(what)) continue;
      out.row(what, [&] {
        const auto config = sw::read_llama_config(std::filesystem::path(SHARDWEAVE_SOURCE_DIR) / "examples/configs" /
                                                  (std::string(name) + ".json"));
        const auto mesh = sw::device_mesh::parse(meshes[m].first);
        const auto device = sw::find_device("h100");
        std::vector<std::vector<double>> times(stages.size() + 1);
        sw::training_plan plan;
        for (int run = 0; run < 3; ++run) {
          const double start = tables::wall_seconds();
          const sw::spmd_cost_model model(
              sw::llama_training_graph(config, {.batch = 2 * mesh.shape().front(), .sequence = 8192}), mesh,
              sw::roofline(device), sw::node_table<>(device));
          const auto constraints = sw::training_constraints(
              model, {.inputs = sw::sharding::parse(meshes[m].second), .results = sw::sharding::parse(results[m])});
          times[0].push_back(tables::wall_seconds() - start);
          plan = sw::pipeline(sw::auto_solver{}).run(model, constraints, {.seconds = asked.limit(60)});
          for (std::size_t i = 1; i < stages.size(); ++i) {
            double sum = 0;
            for (const auto& s : plan.stages)
              if (s.stage == stages[i]) sum += s.seconds;
            times[i].push_back(sum);
          }
          times.back().push_back(tables::wall_seconds() - start);
        }
        const auto median = [](std::vector<double> runs) {
          std::sort(runs.begin(), runs.end());
          return runs[runs.size() / 2];
        };
        std::vector<std::string> cells = {std::to_string(plan.problem->vertices.size())};
        if (!plan.tasks) {
          cells.insert(cells.end(), {"0", std::string(sw::name_of(plan.placement.status)), "none"});
          return cells;
        }
        const auto& line = plan.tasks->after;
        const auto end = static_cast<double>(line.end_to_end.count());
        cells.insert(cells.end(),
                     {std::to_string(plan.lowered->tasks.size()), std::string(sw::name_of(plan.placement.status)),
                      tables::number(plan.placement.objective / 1000), tables::number(100 * plan.placement.gap(), 4),
                      tables::number(end / 1e6),
                      tables::number(100 * (end / static_cast<double>(plan.tasks->makespan_bound.count()) - 1)),
                      tables::number(static_cast<double>(line.peak.count()) / (1 << 30))});
        for (const auto& runs : times) cells.push_back(tables::number(median(runs), 3));
        cells.push_back("peak");
        return cells;
      });
    }
}
