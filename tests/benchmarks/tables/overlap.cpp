// Plans that count what hides while they place against plans that do not: what each form predicts, and what the
// simulator finds.
#include "benchmarks/tables/table.hpp"
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/hideable_edges.hpp>
#include <shardweave/spmd/training_constraints.hpp>

namespace sw = shardweave;

namespace {

std::string milliseconds(sw::nanoseconds time) { return tables::number(static_cast<double>(time.count()) / 1e6); }

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"model, mesh, form", "status", "communication ms", "predicted to hide ms", "hidden ms",
                            "of", "step ms", "kept ms", "in buckets ms", "kept ms"});
  const std::pair<const char*, std::string> meshes[] = {{"64", "S(0)"}, {"8x8", "S(0)R"}};
  const std::string results[] = {"S(0)", "S(0)S(2)"};
  // `inclusive-twice` plans LLaMA-3 1B as `inclusive` does
  const auto forms = {sw::savings_form::off, sw::savings_form::windows, sw::savings_form::strict,
                      sw::savings_form::inclusive};
  for (const char* name : {"llama3-1b", "llama3-8b"})
    for (std::size_t m = 0; m < 2; ++m)
      for (const sw::savings_form form : forms) {
        const std::string what = std::string(name) + " " + meshes[m].first + " " + std::string(sw::name_of(form));
        if (!asked.asks_for(what)) continue;
        out.row(what, [&] {
          const auto config = sw::read_llama_config(std::filesystem::path(SHARDWEAVE_SOURCE_DIR) / "examples/configs" /
                                                    (std::string(name) + ".json"));
          const auto mesh = sw::device_mesh::parse(meshes[m].first);
          const auto device = sw::find_device("h100");
          const sw::spmd_cost_model model(
              sw::llama_training_graph(config, {.batch = 2 * mesh.shape().front(), .sequence = 8192}), mesh,
              sw::roofline(device), sw::node_table<>(device));
          const auto constraints = sw::training_constraints(
              model, {.inputs = sw::sharding::parse(meshes[m].second), .results = sw::sharding::parse(results[m])});
          const sw::solve_control control{.seconds = asked.limit(60)};
          // as it is placed, and the faster one of that and of what is placed as if nothing hid
          const auto plan = [&](auto way, bool compare) {
            way.counted = form;
            way.compare = compare;
            return way.run(model, constraints, control);
          };
          const sw::pipeline plain(sw::auto_solver{}, sw::no_bucketing{});
          const auto own = plan(plain, false);
          if (!own.tasks) return std::vector<std::string>{std::string(sw::name_of(own.placement.status))};
          const auto& line = own.tasks->after;
          // of a plan that counts nothing: what the honest form says
          sw::placement_description<double> counting = *own.problem;
          if (form == sw::savings_form::off) {
            counting.counted = sw::savings_form::windows;
            counting.overlap = sw::hideable_edges(model);
          }
          const double predicted = sw::evaluate(counting, std::span<const sw::strategy>(own.placement.choice)).savings;
          const auto step = [&](const auto& way, bool compare) {
            return milliseconds(plan(way, compare).tasks->after.end_to_end);
          };
          const sw::pipeline merging(sw::auto_solver{});
          return std::vector<std::string>{std::string(sw::name_of(own.placement.status)),
                                          tables::number(own.priced.parts.communication / 1000),
                                          tables::number(predicted / 1000),
                                          milliseconds(line.hidden),
                                          milliseconds(line.communication),
                                          milliseconds(line.end_to_end),
                                          step(plain, true),
                                          step(merging, false),
                                          step(merging, true)};
        });
      }
}
