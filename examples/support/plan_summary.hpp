#pragma once

#include <shardweave/cost/device.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A training plan on one page.

namespace programs {
namespace detail {

namespace sw = shardweave;

inline std::string placement_text(const sw::training_plan& plan) {
  const auto us = [](double cost) { return sw::time_text(sw::from_microseconds(cost)); };
  const auto& parts = plan.priced.parts;
  sw::text_table table({{""}, {"", sw::text_side::right}, {""}});
  table.row({"objective", us(plan.placement.objective), "modelled time of one step on one device, nothing hidden"});
  table.row({"  compute", us(parts.compute)});
  table.row({"  communication", us(parts.communication)});
  table.row({"  transition", us(parts.transition), "1 \xC2\xB5s for every change of placement"});
  table.row({"lower bound", us(plan.placement.lower_bound),
             plan.placement.status == sw::solve_status::optimal
                 ? "proven optimal by " + plan.placement.statistics.solver
                 : "gap " + sw::percent_text(plan.placement.gap(), 3)});
  return table.text(2);
}

/// One row per kind of parameter and placement.
template <class Model>
std::string parameter_text(const Model& model, const sw::training_plan& plan) {
  struct kind {
    std::size_t count = 0;
    sw::bytes whole, local;
  };
  std::map<std::pair<std::string, std::string>, kind> kinds;
  std::vector<std::pair<std::string, std::string>> order;
  sw::bytes all, held;
  const auto& operations = model.operations().operations;
  for (std::uint32_t v = 0; v < operations.size(); ++v) {
    if (operations[v].kind != sw::role::parameter) continue;
    const sw::strategy s = plan.placement.choice[v];
    const std::pair key(operations[v].group, model.strategies(v).strategies[s].outputs.front().to_string());
    if (!kinds.contains(key)) order.push_back(key);
    kind& k = kinds[key];
    ++k.count;
    k.whole += operations[v].outputs.front().size();
    k.local += model.result_size(v, s);
    all += operations[v].outputs.front().size();
    held += model.result_size(v, s);
  }
  sw::text_table table({{"parameter"},
                        {"tensors", sw::text_side::right},
                        {"placement"},
                        {"size", sw::text_side::right},
                        {"per device", sw::text_side::right}});
  for (const auto& key : order) {
    const kind& k = kinds[key];
    table.row({key.first, sw::count_text(k.count), key.second, sw::size_text(k.whole), sw::size_text(k.local)});
  }
  table.rule().row({"all", "", "", sw::size_text(all), sw::size_text(held)});
  return table.text(2);
}

/// Collectives by kind and process group, as lowered and after bucketing.
inline std::string collective_text(const sw::training_plan& plan) {
  const sw::task_graph& g = plan.lowered->tasks;
  struct count {
    std::size_t before = 0, merged = 0, buckets = 0;
    sw::nanoseconds time;
  };
  std::map<std::pair<std::uint32_t, std::string>, count> counts;
  const auto key_of = [&](sw::task_index t) {
    return std::pair(g.collective(t).group, std::string(g.collective(t).op));
  };
  for (sw::task_index t = 0; t < g.size(); ++t)
    if (g.is_collective(t)) {
      ++counts[key_of(t)].before;
      counts[key_of(t)].time += g.duration(t);
    }
  for (const sw::bucket& b : plan.tasks->order.buckets) {
    count& c = counts[key_of(b.members.front())];
    c.merged += b.members.size();
    ++c.buckets;
  }
  sw::text_table table({{"collective"},
                        {"group"},
                        {"as lowered", sw::text_side::right},
                        {"time", sw::text_side::right},
                        {"launched", sw::text_side::right}});
  for (const auto& [key, c] : counts)
    table.row({key.second, std::string(g.groups()[key.first].name), sw::count_text(c.before), sw::time_text(c.time),
               sw::count_text(c.before - c.merged + c.buckets)});
  return table.text(2);
}

inline std::string timeline_text(const sw::task_plan& tasks) {
  sw::text_table table({{""}, {"in order", sw::text_side::right}, {"scheduled", sw::text_side::right}, {""}});
  const auto row = [&](const char* name, std::string before, std::string after, std::string remark = "") {
    table.row({name, std::move(before), std::move(after), std::move(remark)});
  };
  const auto& [before, after] = std::pair<const sw::timeline&, const sw::timeline&>(tasks.before, tasks.after);
  row("collectives", sw::count_text(before.collectives), sw::count_text(after.collectives));
  row("communication", sw::time_text(before.communication), sw::time_text(after.communication));
  row("  exposed", sw::time_text(before.exposed), sw::time_text(after.exposed));
  row("computation", sw::time_text(before.compute), sw::time_text(after.compute));
  row("packing", sw::time_text(before.packing), sw::time_text(after.packing));
  row("end to end", sw::time_text(before.end_to_end), sw::time_text(after.end_to_end),
      "no order with these buckets ends before " + sw::time_text(tasks.makespan_bound));
  row("peak memory", sw::size_text(before.peak), sw::size_text(after.peak), "parameters, activations and buffers");
  return table.text(2);
}

inline std::string stage_text(const std::vector<sw::stage_time>& stages) {
  sw::text_table table({{""}, {"", sw::text_side::right}});
  double total = 0;
  for (const sw::stage_time& s : stages) {
    table.row({s.stage, sw::seconds_text(s.seconds)});
    total += s.seconds;
  }
  table.rule().row({"all", sw::seconds_text(total)});
  return table.text(2);
}

}  // namespace detail

template <class Model>
[[nodiscard]] std::string plan_summary(const shardweave::llama_config& config, const shardweave::training_shape& shape,
                                       const shardweave::device_mesh& mesh, const shardweave::device_profile& device,
                                       const Model& model, const shardweave::training_plan& plan,
                                       const std::string& folder) {
  namespace sw = shardweave;
  std::string extents;
  for (const std::int64_t extent : mesh.shape()) extents += (extents.empty() ? "" : "x") + std::to_string(extent);
  std::string text = config.name + ": " + sw::fixed_text(static_cast<double>(config.parameter_count()) / 1e9) +
                     " billion parameters, " + sw::count_text(plan.problem->vertices.size()) +
                     " operations forward and backward\n" + extents + " mesh of " + std::string(device.name) + ", " +
                     sw::count_text(shape.batch) + " sequences of " + sw::count_text(shape.sequence) +
                     " tokens per step\n";
  text += "\nPlacement\n" + detail::placement_text(plan);
  text += "\nParameters\n" + detail::parameter_text(model, plan);
  text += "\nCollectives\n" + detail::collective_text(plan);
  text += "\nTimeline of one device\n" + detail::timeline_text(*plan.tasks);
  text += "\nPlanned in\n" + detail::stage_text(plan.stages);
  if (!folder.empty())
    text += "\nWritten to " + folder +
            ": plan.json (placement), tasks.json (task graph), schedule.json (order and buckets),\n"
            "trace.json (timeline; open it in https://ui.perfetto.dev)\n";
  return text;
}

}  // namespace programs
